//! Explains a scenario that failed although each of its invariants was met.

use super::{InvariantResult, RowStatus, ScenarioResult};
use crate::untrusted;

/// Maximum length of a name or a reason.
const MOST: usize = 200;
/// Maximum number of invariants that are named.
const MOST_NAMED: usize = 5;

impl ScenarioResult {
    /// Describes why a scenario did not pass although every invariant was met and no rule was broken: a script or a
    /// judge gave less than a full score. `None` when another part of the result gives the reason, or none is needed.
    #[must_use]
    pub fn shortfall(&self) -> Option<String> {
        let otherwise = self.error.is_some()
            || !self.limits.is_empty()
            || !self.offences.is_empty()
            || self.forbidden.iter().any(|rule| rule.violated)
            || self.invariants.iter().any(|invariant| !invariant.verdict.is_passed());
        if self.status != RowStatus::Fail || otherwise {
            return None;
        }
        let partial: Vec<_> = self.invariants.iter().filter(|invariant| invariant.verdict.score < 1.0).collect();
        if let Some(gate) = partial.iter().find(|invariant| invariant.gate) {
            return Some(format!("a gate needs a full score: {}", met(gate)));
        }
        let named: Vec<_> = partial.iter().take(MOST_NAMED).map(|invariant| met(invariant)).collect();
        let more = if partial.len() > named.len() { ", …" } else { "" };
        let score = self.composite;
        Some(format!("{score:.3} is below what `scoring.pass_threshold` asks for: {}{more}", named.join(", ")))
    }
}

/// Describes the score of an invariant, with the reason.
fn met(invariant: &InvariantResult) -> String {
    let verdict = &invariant.verdict;
    let reason = if verdict.reason.is_empty() { &verdict.message } else { &verdict.reason };
    let reason = if reason.is_empty() { String::new() } else { format!(" ({})", untrusted::line(reason, MOST)) };
    format!("`{}` has {:.2}{reason}", untrusted::line(&invariant.name, MOST), verdict.score)
}

#[cfg(test)]
mod tests {
    use crate::report::tests::report;
    use crate::result::{RowStatus, ScenarioResult};
    use crate::verdict::Verdict;

    /// A scenario whose invariants were met with these scores.
    fn met(scores: &[f64], gate: bool) -> ScenarioResult {
        let mut result = report().rows[0].result.clone();
        let first = result.invariants[0].clone();
        let invariant = |(index, score): (usize, &f64)| {
            let verdict = Verdict { score: *score, reason: "half".to_owned(), ..Verdict::passed() };
            super::InvariantResult { name: format!("i{index}"), gate, verdict, ..first.clone() }
        };
        result.invariants = scores.iter().enumerate().map(invariant).collect();
        (result.status, result.composite, result.error) = (RowStatus::Fail, 0.75, None);
        (result.limits, result.offences, result.forbidden) = (Vec::new(), Vec::new(), Vec::new());
        result
    }

    #[test]
    fn what_was_met_in_part_is_named_when_nothing_else_failed() {
        let said = "0.750 is below what `scoring.pass_threshold` asks for: `i1` has 0.50 (half)";
        assert_eq!(met(&[1.0, 0.5], false).shortfall().as_deref(), Some(said));
        let said = "a gate needs a full score: `i0` has 0.50 (half)";
        assert_eq!(met(&[0.5, 1.0], true).shortfall().as_deref(), Some(said));
    }

    #[test]
    fn it_says_nothing_when_something_else_does() {
        let mut failed = met(&[1.0, 0.5], false);
        failed.invariants[0].verdict = Verdict::failed("expected a, found b");
        assert_eq!(failed.shortfall(), None);
        assert_eq!(ScenarioResult { status: RowStatus::Pass, ..met(&[1.0], false) }.shortfall(), None);
        let offence = vec!["left a process".to_owned()];
        assert_eq!(ScenarioResult { offences: offence, ..met(&[0.5], false) }.shortfall(), None);
    }
}
