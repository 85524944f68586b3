//! Cells and invariants that flip although nothing was changed, over the last runs of a spec.
//!
//! A run is compared with the one before it only when both are of the same text of the spec and of the same seed: otherwise a
//! change may be the spec's. Replicas of one run are compared with each other. What flips is flaky; whether the agent or its
//! world is the reason, a certificate of the spec says, in which no agent acts.

mod line;
mod streak;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::count_noun;
use crate::plan::Seed;
use crate::report::Report;

pub use line::{FlakyLine, Square, SquareOutcome};
pub use streak::{CLEAN_RUNS, EntryStreak, clean_runs, streaks};

/// The number of letters of a digest that are shown.
const SHOWN_DIGEST: usize = 12;

/// A run that is looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct PastRun {
    /// Its report.
    pub report: Report,
    /// The digest of the spec by which it was judged.
    pub digest: String,
    /// The version of the spec.
    pub version: u32,
    /// The time at which its last scenario ended.
    pub ended_at: Timestamp,
}

/// The cells and invariants of a spec over its last runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlakyTable {
    /// The spec.
    pub spec_id: String,
    /// The runs, the oldest first.
    pub runs: Vec<RunHead>,
    /// The cells, each followed by its invariants.
    pub lines: Vec<FlakyLine>,
}

/// A run, as the head of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunHead {
    /// The experiment.
    pub experiment_id: String,
    /// The number of the run.
    pub run: u32,
    /// The digest of the spec.
    pub digest: String,
    /// The version of the spec.
    pub version: u32,
    /// The seed.
    pub seed: Seed,
    /// The time at which it ended.
    pub ended_at: Timestamp,
}

/// The reason why something is flaky.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The agent: its world was certified to be stable.
    Agent,
    /// Its world: it differs without any agent.
    World,
    /// Nobody knows: the spec has no certificate.
    Unknown,
}

/// The world of a spec, as its certificate describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertifiedWorld {
    /// Without an agent, nothing flipped.
    Stable,
    /// Something flipped.
    Flaky,
}

/// Lays the runs of a spec side by side. `worlds` says of digests of the spec how stable their world is.
#[must_use]
pub fn table(spec_id: &str, mut runs: Vec<PastRun>, worlds: &BTreeMap<String, CertifiedWorld>) -> FlakyTable {
    runs.sort_by(|one, other| {
        let place = |run: &PastRun| (run.ended_at, run.report.header.experiment_id.clone(), run.report.header.run);
        place(one).cmp(&place(other))
    });
    let heads: Vec<_> = runs.iter().map(head).collect();
    let cause = match heads.last().and_then(|head| worlds.get(&head.digest)) {
        Some(CertifiedWorld::Stable) => Cause::Agent,
        Some(CertifiedWorld::Flaky) => Cause::World,
        None => Cause::Unknown,
    };
    FlakyTable { spec_id: spec_id.to_owned(), lines: line::lines(&runs, &heads, cause), runs: heads }
}

fn head(run: &PastRun) -> RunHead {
    let PastRun { report, digest, version, ended_at } = run;
    RunHead {
        experiment_id: report.header.experiment_id.clone(),
        run: report.header.run,
        digest: digest.clone(),
        version: *version,
        seed: report.seed,
        ended_at: *ended_at,
    }
}

impl FlakyTable {
    /// The lines that are flaky.
    pub fn flaky(&self) -> impl Iterator<Item = &FlakyLine> {
        self.lines.iter().filter(|line| line.is_flaky())
    }

    /// All of it in one line.
    #[must_use]
    pub fn summary(&self) -> String {
        let (cells, invariants): (Vec<_>, Vec<_>) = self.flaky().partition(|line| line.invariant.is_none());
        let all = self.lines.iter().filter(|line| line.invariant.is_none()).count();
        format!(
            "{} of {} flaky over the last {}, and {} of theirs",
            cells.len(),
            count_noun(all, "cell"),
            count_noun(self.runs.len(), "run"),
            count_noun(invariants.len(), "invariant")
        )
    }

    /// Explains a line: the number of flips, the version since which it flips, and the cause.
    #[must_use]
    pub fn explained(&self, line: &FlakyLine) -> String {
        let pairs = count_noun(line.pairs, "pair");
        let since = line.since.and_then(|index| self.runs.get(index)).map(|head| {
            let day = head.ended_at.to_string();
            format!("; since {} of {}", head.shown_version(), day.get(..10).unwrap_or(&day))
        });
        format!(
            "flipped in {} of {pairs} of runs, replicas differed in {} of {}{}; {}",
            line.flips,
            line.mixed,
            count_noun(line.judged_runs(), "run"),
            since.unwrap_or_default(),
            line.cause.words()
        )
    }
}

impl RunHead {
    /// The version of the spec with its digest.
    #[must_use]
    pub fn shown_version(&self) -> String {
        let digest = self.digest.get(..SHOWN_DIGEST).unwrap_or(&self.digest);
        format!("v{} ({digest})", self.version)
    }

    /// True when a difference to this run cannot be the spec's.
    fn is_like(&self, other: &Self) -> bool {
        self.digest == other.digest && self.seed == other.seed
    }
}

impl Cause {
    /// The words for it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Agent => "the agent, because the world is certified to be stable",
            Self::World => "the world, which is flaky without any agent",
            Self::Unknown => "the agent or its world: `touchstone certify` tells which",
        }
    }
}
