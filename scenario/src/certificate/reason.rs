//! Why a spec is not certified.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::agent_runs::{JudgedCell, JudgedReplica};
use crate::score::ExperimentVerdict;

/// Why a spec is not certified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// What is wrong.
    pub kind: ReasonKind,
    /// The word of the agent that shows it.
    pub agent: String,
    /// The cell; empty when there is only one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cell: String,
    /// How many runs of the cell came to this.
    pub runs: usize,
    /// How many there were.
    pub of: usize,
    /// The invariants by which it is seen: those that were met, or those that were not, each with what was said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invariants: Vec<String>,
    /// What else is to be told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// Doing nothing, or a cheat, passed: the invariants prove nothing.
    Passed,
    /// The solution failed: the invariants cannot be met.
    Failed,
    /// The same agent passed once and failed once: the world is flaky.
    Flips,
    /// A run could not be judged.
    NotJudged,
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, agent, cell, runs, of, .. } = self;
        let what = match kind {
            ReasonKind::Passed => "passes",
            ReasonKind::Failed => "fails",
            ReasonKind::Flips => "passes and fails: the world is flaky",
            ReasonKind::NotJudged => "could not be judged",
        };
        write!(formatter, "{agent} {what}")?;
        match kind {
            ReasonKind::Flips => write!(formatter, " ({runs} of {of} passed)")?,
            _ if of > &1 => write!(formatter, " ({runs} of {of} runs)")?,
            _ => {}
        }
        if cell.is_empty() { Ok(()) } else { write!(formatter, " in the cell {cell}") }
    }
}

/// What an agent must come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// It must pass.
    Pass,
    /// It must fail.
    Fail,
}

impl Reason {
    /// What is wrong with a cell, if anything is.
    pub(super) fn of(agent: &str, cell: &JudgedCell, expected: Expected) -> Option<Self> {
        let is = |verdict| move |replica: &&JudgedReplica| replica.verdict == verdict;
        let count = |verdict| cell.replicas.iter().filter(is(verdict)).count();
        let (passed, failed) = (count(ExperimentVerdict::Pass), count(ExperimentVerdict::Fail));
        let of = cell.replicas.len();
        let (kind, runs) = match expected {
            _ if passed > 0 && failed > 0 => (ReasonKind::Flips, passed),
            Expected::Fail if passed > 0 => (ReasonKind::Passed, passed),
            Expected::Pass if failed > 0 => (ReasonKind::Failed, failed),
            _ if passed + failed < of => (ReasonKind::NotJudged, of - passed - failed),
            _ => return None,
        };
        let shown = |replica: &&JudgedReplica| match kind {
            ReasonKind::Passed => replica.verdict == ExperimentVerdict::Pass,
            ReasonKind::Failed | ReasonKind::Flips => replica.verdict == ExperimentVerdict::Fail,
            ReasonKind::NotJudged => !matches!(replica.verdict, ExperimentVerdict::Pass | ExperimentVerdict::Fail),
        };
        let shown = cell.replicas.iter().find(shown)?;
        let told = shown.invariants.iter().filter(|(_, is_met, _)| *is_met == (kind == ReasonKind::Passed));
        let told = told.map(|(name, is_met, message)| match *is_met || message.is_empty() {
            true => name.clone(),
            false => format!("{name}: {message}"),
        });
        let (invariants, remarks) = (told.collect(), shown.remarks.clone());
        Some(Self { kind, agent: agent.to_owned(), cell: cell.name.clone(), runs, of, invariants, remarks })
    }
}
