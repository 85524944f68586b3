//! The verdict on one invariant.

mod cause;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

pub use cause::ErrorCause;

/// The judgement on one invariant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Passed, failed, or could not be judged.
    pub outcome: Outcome,
    /// The score, from 0 to 1; 0 when it could not be judged.
    pub score: f64,
    /// The expected and the observed value, and the place; empty when there is nothing to report.
    pub message: String,
    /// The reason that a judge or script gave.
    pub reason: String,
    /// Details from a script or judge, and remarks such as "ran on a modified image".
    pub details: Json,
    /// True if a failure only means that nothing could be proven. It matters while judging, and is not stored.
    #[serde(skip)]
    pub is_unproven: bool,
}

/// The outcome of judging an invariant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was met.
    Passed,
    /// It was not.
    Failed,
    /// It could not be judged.
    Errored(ErrorKind),
}

/// The party at fault when something could not be judged. None of them is the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Ours: the sandbox, a service or the network. The attempt is tried again.
    Infrastructure,
    /// The provider's of the agent's model: it was unreachable, overloaded or broken. The attempt is tried again.
    Provider,
    /// The operator's: the provider of the agent's model refuses the key, the address or the account. Another attempt would
    /// end the same.
    ProviderConfig,
    /// The spec's: what it says about its world cannot be done, such as a statement that the database refuses. Another attempt
    /// would end the same.
    Spec,
    /// The check's: its script exited with an error or did not answer as it should.
    Check,
    /// The model judge's: it did not answer, or not as it should.
    Judge,
    /// The test's: faults were required and none fired, so that a pass says nothing. Another attempt would end the same.
    Inconclusive,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Infrastructure => "infrastructure",
            Self::Provider => "provider",
            Self::ProviderConfig => "provider_config",
            Self::Spec => "spec",
            Self::Check => "check",
            Self::Judge => "judge",
            Self::Inconclusive => "inconclusive",
        })
    }
}

impl Verdict {
    /// Creates the verdict of an invariant that was met.
    #[must_use]
    pub fn passed() -> Self {
        Self {
            outcome: Outcome::Passed,
            score: 1.0,
            message: String::new(),
            reason: String::new(),
            details: Json::Null,
            is_unproven: false,
        }
    }

    /// Creates the verdict of an invariant that was not met, with the reason.
    #[must_use]
    pub fn failed(message: impl Into<String>) -> Self {
        Self { outcome: Outcome::Failed, score: 0.0, message: message.into(), ..Self::passed() }
    }

    /// Creates the verdict of an invariant that could not be judged, with the reason.
    #[must_use]
    pub fn errored(cause: ErrorCause, message: impl Into<String>) -> Self {
        Self { outcome: Outcome::Errored(cause.kind()), ..Self::failed(message) }
    }

    /// Creates the verdict of an invariant that counts as not met because nothing could be proven. Its negation is
    /// unproven too.
    #[must_use]
    pub fn unproven(message: impl Into<String>) -> Self {
        Self { is_unproven: true, ..Self::failed(message) }
    }

    /// The verdict on the opposite of a check of this kind. What could not be judged or told stays as it is.
    #[must_use]
    pub fn negated(self, check: &str) -> Self {
        match self.outcome {
            Outcome::Errored(_) => self,
            Outcome::Failed if self.is_unproven => self,
            Outcome::Failed => Self { reason: self.message, details: self.details, ..Self::passed() },
            Outcome::Passed => {
                let message = format!("expected `{check}` not to hold (`negate`), and it does");
                Self { reason: self.reason, details: self.details, ..Self::failed(message) }
            }
        }
    }

    /// Returns true if the invariant was met.
    #[must_use]
    pub fn is_passed(&self) -> bool {
        self.outcome == Outcome::Passed
    }

    /// Adds a remark under `key` of the details.
    #[must_use]
    pub fn with_detail(mut self, key: &str, value: impl Into<Json>) -> Self {
        if !self.details.is_object() {
            let given = std::mem::take(&mut self.details);
            self.details = Json::Object(serde_json::Map::new());
            if !given.is_null() {
                self.details["given"] = given;
            }
        }
        self.details[key] = value.into();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{ErrorCause, Verdict};

    #[test]
    fn the_opposite_of_a_verdict_is_no_guess() {
        let failed = Verdict::passed().negated("regex");
        assert_eq!((failed.is_passed(), failed.score), (false, 0.0));
        assert_eq!(failed.message, "expected `regex` not to hold (`negate`), and it does");
        let passed = Verdict::failed("expected a, found b").negated("regex");
        assert_eq!((passed.is_passed(), passed.score, passed.reason.as_str()), (true, 1.0, "expected a, found b"));
        for unsure in [Verdict::unproven("a part only"), Verdict::errored(ErrorCause::JudgeUnavailable, "no reply")] {
            assert_eq!(unsure.clone().negated("regex"), unsure);
        }
    }
}
