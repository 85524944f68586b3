//! Combines several ratings of the same text.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::reply::Rating;
use crate::evidence::{JudgeAnswer, Usage};
use crate::verdict::{Outcome, Verdict};

/// A rating, and the model that gave it.
#[derive(Debug, Clone)]
pub(super) struct Rated {
    pub(super) rating: Rating,
    /// The model, as the spec names it; empty in evidence of before.
    pub(super) model: String,
    /// Its family.
    pub(super) family: String,
}

/// The verdict of all samples: the mean over the families of models decides, and the details show how far they agree.
pub(super) fn verdict(rated: &[Rated], threshold: f64) -> Verdict {
    let families = families(rated);
    let means: Vec<f64> = families.values().map(|scores| mean(scores)).collect();
    let score = mean(&means);
    let passed = score >= threshold;
    // The reason of a sample that agrees with the verdict.
    let agrees = |one: &&Rated| (one.rating.score >= threshold) == passed;
    let reason = rated.iter().find(agrees).or(rated.first()).map_or_else(String::new, |one| one.rating.reason.clone());
    let message = if passed {
        String::new()
    } else {
        format!("expected a score of at least {threshold}, found {score}: {reason}")
    };
    let outcome = if passed { Outcome::Passed } else { Outcome::Failed };
    let mut verdict = Verdict { outcome, score, message, reason, ..Verdict::passed() };
    let adjusted: Vec<_> = rated.iter().filter_map(|one| note(&one.rating)).collect();
    if !adjusted.is_empty() {
        verdict = verdict.with_detail("note", adjusted.join("; "));
    }
    if rated.len() > 1 { with_families(with_spread(verdict, rated, threshold), rated) } else { verdict }
}

/// Adds the calls of models, their tokens and their cost; nothing where none was counted.
pub(super) fn with_cost<'a>(verdict: Verdict, answers: impl Iterator<Item = &'a JudgeAnswer>) -> Verdict {
    let (mut used, mut cached) = (Usage::default(), 0_u64);
    for answer in answers {
        used.add(&answer.usage);
        cached += u64::from(answer.cached);
    }
    if used.calls == 0 && cached == 0 {
        return verdict;
    }
    let Usage { calls, input_tokens, output_tokens, .. } = used;
    let judging = json!({
        "calls": calls, "cached": cached, "input_tokens": input_tokens, "output_tokens": output_tokens,
        "cost_usd": used.cost(),
    });
    verdict.with_detail("judging", judging)
}

/// The scores of each family.
fn families(rated: &[Rated]) -> BTreeMap<&str, Vec<f64>> {
    let mut families: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for one in rated {
        families.entry(&one.family).or_default().push(one.rating.score);
    }
    families
}

/// Describes the correction of a score that was not from 0 to 1.
fn note(rating: &Rating) -> Option<String> {
    rating.adjusted.map(|given| format!("the model's score {given} was read as {}", rating.score))
}

fn with_spread(verdict: Verdict, rated: &[Rated], threshold: f64) -> Verdict {
    let scores: Vec<f64> = rated.iter().map(|one| one.rating.score).collect();
    let number = scores.len() as f64;
    let above = scores.iter().filter(|score| **score >= threshold).count();
    let majority = above.max(scores.len() - above) as f64;
    let centre = mean(&scores);
    let variance = scores.iter().map(|score| (score - centre).powi(2)).sum::<f64>() / number;
    let spread = json!({
        "min": scores.iter().copied().fold(f64::INFINITY, f64::min),
        "max": scores.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        "standard_deviation": rounded(variance.sqrt()),
    });
    verdict
        .with_detail("scores", scores)
        .with_detail("spread", spread)
        .with_detail("agreement", rounded(majority / number))
}

/// Adds the mean of each family and of each of its models, where several models were asked.
fn with_families(verdict: Verdict, rated: &[Rated]) -> Verdict {
    let mut models: BTreeMap<&str, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    for one in rated {
        models.entry(&one.family).or_default().entry(&one.model).or_default().push(one.rating.score);
    }
    if models.values().map(BTreeMap::len).sum::<usize>() < 2 {
        return verdict;
    }
    let of_family = |(family, models): (&&str, &BTreeMap<&str, Vec<f64>>)| {
        let scores: Vec<f64> = models.values().flatten().copied().collect();
        let models: Vec<Json> =
            models.iter().map(|(model, scores)| json!({ "model": model, "mean": mean(scores) })).collect();
        json!({ "family": family, "mean": mean(&scores), "models": models })
    };
    let families: Vec<Json> = models.iter().map(of_family).collect();
    verdict.with_detail("families", families)
}

/// The mean of all scores. That of equal scores is that score, and not what is left of it after adding and dividing.
fn mean(scores: &[f64]) -> f64 {
    match scores {
        [only] => *only,
        many => rounded(many.iter().sum::<f64>() / many.len().max(1) as f64),
    }
}

fn rounded(number: f64) -> f64 {
    (number * 1e9).round() / 1e9
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::reply::Rating;
    use super::{Rated, verdict};
    use crate::verdict::{Outcome, Verdict};

    fn rated(scores: &[f64], threshold: f64) -> Verdict {
        let rated = |score: &f64| {
            let rating = Rating { score: *score, reason: format!("it is {score}"), adjusted: None };
            Rated { rating, model: String::new(), family: String::new() }
        };
        verdict(&scores.iter().map(rated).collect::<Vec<_>>(), threshold)
    }

    #[test]
    fn the_mean_decides_and_the_spread_is_shown() {
        let verdict = rated(&[0.9, 0.4, 0.8], 0.7);
        assert_eq!((verdict.outcome, verdict.score, verdict.reason.as_str()), (Outcome::Passed, 0.7, "it is 0.9"));
        insta::assert_snapshot!(verdict.details, @r#"{"scores":[0.9,0.4,0.8],"spread":{"min":0.4,"max":0.9,"standard_deviation":0.21602469},"agreement":0.666666667}"#);
        let verdict = rated(&[0.9, 0.4, 0.4], 0.7);
        assert_eq!((verdict.outcome, verdict.reason.as_str()), (Outcome::Failed, "it is 0.4"));
    }

    #[test]
    fn equal_scores_reach_the_same_threshold() {
        for score in [0.1, 0.3, 0.6, 0.7, 0.9] {
            let verdict = rated(&[score; 3], score);
            assert_eq!((verdict.outcome, verdict.score), (Outcome::Passed, score));
        }
    }

    proptest! {
        #[test]
        fn the_mean_lies_between_the_samples(scores in prop::collection::vec(0.0f64..=1.0, 2..25), threshold in 0.0f64..=1.0) {
            let verdict = rated(&scores, threshold);
            let (least, most) = scores.iter().fold((1.0f64, 0.0f64), |(least, most), score| (least.min(*score), most.max(*score)));
            prop_assert!(verdict.score >= least - 1e-9 && verdict.score <= most + 1e-9 && (0.0..=1.0).contains(&verdict.score));
            let agreement = verdict.details["agreement"].as_f64().expect("a number");
            prop_assert!((0.5 - 1e-9..=1.0).contains(&agreement));
        }
    }
}
