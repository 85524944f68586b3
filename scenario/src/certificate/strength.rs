//! Strength: how many of the ways to break a right answer the invariants notice.

use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;
use crate::plan::Breakage;
use crate::result::{RowStatus, ScenarioResult};
use crate::verdict::Outcome;

/// How many of the ways to break a right answer the invariants notice.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Strength {
    /// How many were tried and judged.
    pub tried: usize,
    /// How many of these were noticed.
    pub noticed: usize,
    /// Those that nothing noticed.
    pub unnoticed: Vec<UnnoticedChange>,
    /// How many were left out because there were too many.
    pub left_out: usize,
    /// Those that could not be carried out or judged, each with the reason.
    pub unjudged: Vec<String>,
}

/// A way to break a right answer that no invariant notices.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct UnnoticedChange {
    /// What was changed, as a clause: "report.md is deleted".
    pub change: String,
    /// An invariant that would notice, as YAML.
    pub suggestion: String,
}

/// A breakage that was tried, and the result of the run with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// The breakage.
    pub breakage: Breakage,
    /// The result; `None` when there is none.
    pub result: Option<ScenarioResult>,
}

impl Strength {
    /// The strength of a spec: `whole` and `evidence` are those of a run in which nothing was broken.
    #[must_use]
    pub fn of(whole: &ScenarioResult, evidence: &Evidence, tried: &[Tried], left_out: usize) -> Self {
        let mut strength = Self { left_out, ..Self::default() };
        for Tried { breakage, result } in tried {
            match result {
                None => strength.unjudged.push(format!("{breakage}: it did not end")),
                Some(result) if has_noticed(whole, result) => {
                    strength.tried += 1;
                    strength.noticed += 1;
                }
                Some(result) if result.status == RowStatus::Error => {
                    let why = result.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
                    strength.unjudged.push(format!("{breakage}: {why}"));
                }
                Some(_) => {
                    strength.tried += 1;
                    let (change, suggestion) = (breakage.to_string(), breakage.suggestion(evidence));
                    strength.unnoticed.push(UnnoticedChange { change, suggestion });
                }
            }
        }
        strength
    }

    /// The share that was noticed; `None` when nothing could be broken.
    #[must_use]
    pub fn score(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a few hundred at most")]
        let share = || self.noticed as f64 / self.tried as f64;
        (self.tried > 0).then(share)
    }
}

/// Tells if an invariant that was met is not met any more. Rules about what the agent does are no invariants: it was not the agent
/// who broke something.
fn has_noticed(whole: &ScenarioResult, broken: &ScenarioResult) -> bool {
    let was_met =
        |name: &str| whole.invariants.iter().any(|one| one.name == name && one.verdict.outcome == Outcome::Passed);
    broken.invariants.iter().any(|one| one.verdict.outcome == Outcome::Failed && was_met(&one.name))
}
