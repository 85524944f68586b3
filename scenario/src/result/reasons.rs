//! The reasons why a scenario did not pass.

use super::ScenarioResult;
use crate::verdict::{ErrorKind, Outcome};

impl ScenarioResult {
    /// Lists all reasons why the scenario did not pass, worst first: a title of one line, and the observation.
    #[must_use]
    pub fn reasons(&self) -> Vec<(String, String)> {
        let error = self.error.iter().map(|error| match error.kind {
            ErrorKind::Inconclusive => (error.kind.to_string(), error.message.clone()),
            kind => (format!("error ({kind})"), error.message.clone()),
        });
        let limits = self.limits.iter().map(|fired| (format!("limit `{}`", fired.limit), fired.detail.clone()));
        let offences = self.offences.iter().map(|offence| ("offence".to_owned(), offence.clone()));
        let rules = self
            .forbidden
            .iter()
            .filter(|rule| rule.violated)
            .map(|rule| (format!("forbidden `{}`", rule.rule), rule.details.clone()));
        let invariants =
            self.invariants.iter().filter(|invariant| invariant.verdict.outcome != Outcome::Passed).map(|invariant| {
                let gate = if invariant.gate { ", gate" } else { "" };
                (format!("`{}` (weight {}{gate})", invariant.name, invariant.weight), invariant.verdict.message.clone())
            });
        let known = error.chain(limits).chain(offences).chain(rules).chain(invariants);
        let score = self.shortfall().map(|why| ("score".to_owned(), why));
        known.chain(score).collect()
    }
}
