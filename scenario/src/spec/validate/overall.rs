//! `scoring`: the weights of the overall score stand in one place, and add up to 1.

use super::rules::Rules;
use crate::spec::code::Code;

/// The largest distance of the sum from 1.
const TOLERANCE: f64 = 0.001;

pub(super) fn check(rules: &mut Rules<'_>) {
    let scoring = &rules.spec.scoring;
    let mut rules = rules.at("scoring");
    let direct = [scoring.mutation, scoring.chaos, scoring.contract, scoring.replay];
    if scoring.weights.is_some() && direct.iter().any(Option::is_some) {
        let message = "the weights stand below `weights` and directly under `scoring`";
        rules.at("weights").report_key(Code::ConflictingKeys, message, Some("keep one of them"));
        return;
    }
    let Some(weights) = scoring.given_weights() else { return };
    let sum: f64 = weights.values().iter().sum();
    if (sum - 1.0).abs() > TOLERANCE {
        let message = format!("the weights of the overall score add up to {}, and not to 1", rounded(sum));
        let help = "a part that is left out counts 0; the others must add up to 1";
        match scoring.weights {
            Some(_) => rules.at("weights").report_key(Code::WeightSum, message, Some(help)),
            None => rules.report_key(Code::WeightSum, message, Some(help)),
        }
    }
}

fn rounded(sum: f64) -> f64 {
    (sum * 1000.0).round() / 1000.0
}
