//! The calls of an agent beside those of a recorded session.

use serde::{Deserialize, Serialize};

/// The calls of an agent beside those of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Played {
    /// The name of the session.
    pub session: String,
    /// True if calls that differ fail the scenario.
    pub is_strict: bool,
    /// The number of calls that got a recorded answer.
    pub answered: u64,
    /// Calls that got the answer to a call with another query or body.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differing: Vec<String>,
    /// Calls that the session has no answer for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unexpected: Vec<String>,
    /// Calls of the session that the agent did not make.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unconsumed: Vec<String>,
}

impl Played {
    /// The differences, one sentence each.
    #[must_use]
    pub fn differences(&self) -> Vec<String> {
        let session = &self.session;
        let told = |calls: &[String], what: &str| {
            let calls: Vec<_> = calls.iter().map(|call| format!("{what}: {call}")).collect();
            calls
        };
        let unexpected = told(&self.unexpected, &format!("a call that the session `{session}` does not have"));
        let unconsumed = told(&self.unconsumed, &format!("a call of the session `{session}` that did not come"));
        let differing = told(&self.differing, &format!("a call with other arguments than in the session `{session}`"));
        unexpected.into_iter().chain(unconsumed).chain(differing).collect()
    }
}
