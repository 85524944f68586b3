//! Judges whose pass is not enough for their scenario.

use super::rules::Rules;
use crate::checks::Check;
use crate::spec::code::Code;
use crate::spec::sections::{GateRule, Invariant};

pub(super) fn check(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    if rules.holes.has_section("scoring") || rules.holes.has_broken_invariant() {
        return;
    }
    let enough = composite_of_bare_passes(spec.invariants.values());
    for (name, invariant) in spec.invariants.iter() {
        let Some(threshold) = bare_pass(invariant) else { continue };
        let is_gate = invariant.gate() && spec.scoring.gate == GateRule::Score;
        let is_counted = invariant.weight() > 0.0 && spec.scoring.pass_threshold.get() >= 1.0;
        let (asks, help) = if is_gate {
            ("as a gate it needs a score of 1".to_owned(), "write `scoring: { gate: verdict }`".to_owned())
        } else if is_counted {
            let help = format!(
                "write `scoring: {{ pass_threshold: {enough} }}`, which is what all of them come to when every judge barely passes"
            );
            ("the scenario needs a composite of 1".to_owned(), help)
        } else {
            continue;
        };
        let message = format!(
            "the judge of `{name}` passes from a score of {threshold}, and {asks}: it can pass and fail the scenario"
        );
        rules.at("invariants").at(name).at("check").report(Code::JudgeThreshold, message, Some(&help));
    }
}

/// The score below 1 from which a judge passes; `None` for everything else.
fn bare_pass(invariant: &Invariant) -> Option<f64> {
    match &invariant.check {
        Check::LlmAsJudge(judge) if !invariant.negate => Some(judge.pass_threshold.get()).filter(|score| *score < 1.0),
        _ => None,
    }
}

/// The composite of a scenario in which everything holds, and every judge gives just the score that is enough; rounded down.
fn composite_of_bare_passes<'a>(invariants: impl Iterator<Item = &'a Invariant> + Clone) -> f64 {
    let weights: f64 = invariants.clone().map(Invariant::weight).sum();
    let scores: f64 = invariants.map(|invariant| invariant.weight() * bare_pass(invariant).unwrap_or(1.0)).sum();
    if weights > 0.0 { (scores / weights * 100.0 + 1e-9).floor() / 100.0 } else { 0.0 }
}
