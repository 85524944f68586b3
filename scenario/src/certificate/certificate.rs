//! The certificate of a spec: what was tried, what came of it, and the verdict.

use std::fmt;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::agent_runs::AgentRuns;
use super::cheats::PlannedCheat;
use super::reason::{Expected, Reason, ReasonKind};
use super::strength::Strength;
use crate::count_noun;
use crate::plan::AgentOverride;
use crate::result::RanIn;
use crate::score::ExperimentVerdict;
use crate::spec::Spec;

/// What was tried with a spec, and whether its invariants tell a right answer from others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// The spec's id.
    pub spec_id: String,
    /// The digest of the spec's text and of the files beside it.
    pub spec_digest: String,
    /// The version of Touchstone that judged it.
    pub touchstone: String,
    /// When it was made.
    pub made_at: Timestamp,
    /// The verdict.
    pub verdict: CertificateVerdict,
    /// How often each cell was run by `noop` and by `oracle`.
    pub replicas: usize,
    /// The runs in which nothing was done, and how many of them failed, as they must.
    pub noop: RunCount,
    /// The runs of the solution, and how many of them passed, as they must.
    pub oracle: RunCount,
    /// The cheats.
    pub cheats: Vec<CheatCount>,
    /// How many ways to break the right answer are noticed; `None` when that was not tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strength: Option<Strength>,
    /// Why it is not certified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
    /// What made the sandboxes, and from which images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran_in: Option<RanIn>,
}

/// Whether the invariants of a spec tell a right answer from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CertificateVerdict {
    /// They do.
    Certified,
    /// They do not.
    NotCertified,
    /// The same agent came to different results: that is the world, and no agent is to blame.
    FlakyWorld,
    /// Some run could not be judged.
    NotJudged,
}

/// How many runs came to what was expected of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunCount {
    /// How many came to it.
    pub as_expected: usize,
    /// How many there were.
    pub runs: usize,
}

/// What came of a cheat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheatCount {
    /// Its name.
    pub name: String,
    /// Its runs, and how many of them failed, as they must.
    #[serde(flatten)]
    pub count: RunCount,
    /// Why it was not run; `None` when it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_applicable: Option<String>,
}

/// What a certificate is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateHeader {
    /// The digest of the spec's text and of the files beside it.
    pub spec_digest: String,
    /// The version of Touchstone.
    pub touchstone: String,
    /// The time.
    pub made_at: Timestamp,
    /// How often each cell was run.
    pub replicas: usize,
}

impl CertificateVerdict {
    /// The words for it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Certified => "certified",
            Self::NotCertified => "not certified",
            Self::FlakyWorld => "flaky world",
            Self::NotJudged => "not judged",
        }
    }

    /// The word for it in the database.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Certified => "certified",
            Self::NotCertified => "not_certified",
            Self::FlakyWorld => "flaky_world",
            Self::NotJudged => "not_judged",
        }
    }

    /// The exit code of a command that made it.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Certified => 0,
            Self::NotCertified => 1,
            Self::FlakyWorld | Self::NotJudged => 4,
        }
    }
}

impl Certificate {
    /// The certificate of a spec, from the runs of its agents.
    #[must_use]
    pub fn of(spec: &Spec, header: CertificateHeader, planned: &[PlannedCheat], runs: &[AgentRuns]) -> Self {
        let mut reasons = Vec::new();
        let mut count = |agent: &AgentOverride| {
            let runs = runs.iter().find(|runs| runs.agent == *agent);
            runs.map(|runs| judge(spec, runs, &mut reasons)).unwrap_or_default()
        };
        let (noop, oracle) = (count(&AgentOverride::Noop), count(&AgentOverride::Oracle));
        let cheats = planned.iter().map(|cheat| CheatCount {
            name: cheat.name.to_string(),
            count: count(&AgentOverride::Cheat(cheat.name.clone())),
            not_applicable: cheat.not_applicable.map(ToOwned::to_owned),
        });
        let cheats: Vec<_> = cheats.collect();
        let all_cheats = cheats.iter().all(|cheat| cheat.not_applicable.is_some() || cheat.count.runs > 0);
        let is_whole = noop.runs > 0 && oracle.runs > 0 && all_cheats;
        Self {
            spec_id: spec.id.to_string(),
            spec_digest: header.spec_digest,
            touchstone: header.touchstone,
            made_at: header.made_at,
            verdict: verdict(&reasons, is_whole),
            replicas: header.replicas,
            noop,
            oracle,
            cheats,
            strength: None,
            reasons,
            ran_in: runs.iter().find_map(AgentRuns::ran_in).cloned(),
        }
    }

    /// True when it was made for exactly this spec, and says that it is certified.
    #[must_use]
    pub fn certifies(&self, spec_id: &str, spec_digest: &str) -> bool {
        self.verdict == CertificateVerdict::Certified && self.is_for(spec_id, spec_digest)
    }

    /// True when it was made for exactly this spec.
    #[must_use]
    pub fn is_for(&self, spec_id: &str, spec_digest: &str) -> bool {
        self.spec_id == spec_id && self.spec_digest == spec_digest
    }

    /// Its cheats that were run.
    pub fn run_cheats(&self) -> impl Iterator<Item = &CheatCount> {
        self.cheats.iter().filter(|cheat| cheat.not_applicable.is_none())
    }
}

/// A line about a certificate, as badges have it.
impl fmt::Display for Certificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let day = self.made_at.to_zoned(TimeZone::UTC).date();
        write!(formatter, "{} {day}, {} oracle, {} noop", self.verdict.words(), self.oracle, self.noop)?;
        let cheats = self.run_cheats().count();
        let failed = self.run_cheats().filter(|cheat| cheat.count.is_whole()).count();
        match failed == cheats {
            true => write!(formatter, ", {}", count_noun(cheats, "cheat"))?,
            false => write!(formatter, ", {failed} of {} failed", count_noun(cheats, "cheat"))?,
        }
        match self.strength.as_ref().and_then(Strength::score) {
            Some(score) => write!(formatter, ", strength {score:.2}"),
            None => Ok(()),
        }
    }
}

impl RunCount {
    /// True when all came to what was expected.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        self.as_expected == self.runs
    }
}

impl fmt::Display for RunCount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.as_expected, self.runs)
    }
}

/// Counts the runs of an agent, and adds what is wrong with them.
fn judge(spec: &Spec, runs: &AgentRuns, reasons: &mut Vec<Reason>) -> RunCount {
    let (expected, wanted) = match runs.agent {
        AgentOverride::Oracle => (Expected::Pass, ExperimentVerdict::Pass),
        // A command that acts in place of the agent is tried like a cheat: it has to fail.
        AgentOverride::Noop | AgentOverride::Cheat(_) | AgentOverride::Command(_) => {
            (Expected::Fail, ExperimentVerdict::Fail)
        }
    };
    let cells = runs.cells(spec);
    reasons.extend(cells.iter().filter_map(|cell| Reason::of(&runs.agent.to_string(), cell, expected)));
    let replicas = cells.iter().flat_map(|cell| &cell.replicas);
    let as_expected = replicas.clone().filter(|replica| replica.verdict == wanted).count();
    RunCount { as_expected, runs: replicas.count() }
}

/// The verdict. A flaky world goes first: what else it came to may have been chance.
fn verdict(reasons: &[Reason], is_whole: bool) -> CertificateVerdict {
    let any = |kinds: &[ReasonKind]| reasons.iter().any(|reason| kinds.contains(&reason.kind));
    match () {
        () if any(&[ReasonKind::Flips]) => CertificateVerdict::FlakyWorld,
        () if any(&[ReasonKind::Passed, ReasonKind::Failed]) => CertificateVerdict::NotCertified,
        () if any(&[ReasonKind::NotJudged]) || !is_whole => CertificateVerdict::NotJudged,
        () => CertificateVerdict::Certified,
    }
}
