//! What two shares say: a drop that chance does not explain, one that it may explain, or something better.

use std::collections::HashMap;

use super::{Change, Finding, SIGNIFICANT, Share};
use crate::score::CellVerdict;
use crate::statistics::fisher::{chance_of_drop, is_below, least_chance};
use crate::statistics::holm::{Member, holm};
use crate::statistics::{MOST_REPLICAS, count, replicas_to_tell};

/// Something that was looked at on both sides.
#[derive(Debug)]
pub(super) struct Compared {
    spec: String,
    cell: Option<String>,
    invariant: Option<String>,
    before: Share,
    now: Share,
    bar: Bar,
    /// How the worlds of the two sides differ, when they differ so much that a drop need not be the agent's.
    pub(super) worlds: Option<String>,
}

/// What became of the bar that decides whether it passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bar {
    /// It is on the same side as before, or has none.
    Same,
    /// It reached its bar, and does not any more.
    Missed,
    /// It reached its bar, and could not be judged now.
    Unknown,
    /// It reaches its bar now.
    Reached,
}

impl Compared {
    pub(super) fn cell(
        spec: &str,
        cell: &str,
        shares: (Share, Share),
        verdicts: Option<(CellVerdict, CellVerdict)>,
    ) -> Self {
        let bar = match verdicts {
            Some((CellVerdict::Pass, CellVerdict::Fail)) => Bar::Missed,
            Some((CellVerdict::Pass, CellVerdict::Undecided | CellVerdict::Error | CellVerdict::Pending)) => Bar::Unknown,
            Some((CellVerdict::Fail, CellVerdict::Pass)) => Bar::Reached,
            _ => Bar::Same,
        };
        Self { cell: Some(cell.to_owned()), bar, ..Self::all_cells(spec, shares) }
    }

    pub(super) fn invariant(spec: &str, cell: &str, name: &str, shares: (Share, Share)) -> Self {
        Self { invariant: Some(name.to_owned()), ..Self::cell(spec, cell, shares, None) }
    }

    pub(super) fn all_cells(spec: &str, (before, now): (Share, Share)) -> Self {
        Self { spec: spec.to_owned(), cell: None, invariant: None, before, now, bar: Bar::Same, worlds: None }
    }

    fn member(&self) -> Option<Member> {
        let chance = chance_of_drop(self.before, self.now)?;
        Some(Member { chance, least_chance: least_chance(self.before, self.now)? })
    }

    /// Whether there is anything to find: neither all passed nor none did, on both sides together.
    fn varies(&self) -> bool {
        let all = self.before.and(self.now);
        self.before.judged > 0 && self.now.judged > 0 && !all.is_all() && !all.is_none()
    }

    /// Whether a smaller share passed than before.
    fn is_drop(&self) -> bool {
        self.before.judged > 0 && self.now.judged > 0 && self.now.is_below(self.before)
    }

    /// What is found, when there is something to say.
    fn finding(self, evidence: Evidence) -> Option<Finding> {
        let (change, why) = match (self.is_drop(), self.bar) {
            (true, _) if evidence.is_unlikely => match &self.worlds {
                None => (Change::Regressed, evidence.words()),
                Some(worlds) => {
                    let why = format!("{}, but the worlds differ: {worlds}", evidence.words());
                    (Change::DifferentWorld, why)
                }
            },
            (_, Bar::Unknown) => {
                (Change::InsufficientEvidence, "it reached its bar, and could not be judged now".to_owned())
            }
            (true, Bar::Missed) => (Change::InsufficientEvidence, format!("{MISSED}, but {}", self.doubt(evidence))),
            (true, _) => (Change::InsufficientEvidence, self.doubt(evidence)),
            (false, Bar::Missed) => {
                (Change::InsufficientEvidence, format!("{MISSED}, although its pass rate did not drop"))
            }
            (false, Bar::Reached) => (Change::Improved, "it reaches its bar now".to_owned()),
            (false, Bar::Same) if self.invariant.is_some() && self.before.is_none() && self.now.is_all() => {
                (Change::Improved, "no replica met it, and every one does now".to_owned())
            }
            (false, Bar::Same) => return None,
        };
        let Evidence { chance, replicas_to_tell, .. } = evidence;
        let Self { spec: spec_id, cell, invariant, before, now, .. } = self;
        Some(Finding { change, spec_id, cell, invariant, before, now, chance, replicas_to_tell, why })
    }

    /// Why a drop is no regression.
    fn doubt(&self, evidence: Evidence) -> String {
        let what = if self.cell.is_some() { "replicas" } else { "scenarios" };
        let needed = match evidence.replicas_to_tell {
            Some(needed) => format!("{needed} {what} on either side would tell such a drop in 80 of 100 comparisons"),
            None => format!("more than {MOST_REPLICAS} {what} on either side would be needed to tell such a drop"),
        };
        format!("{}; {needed}", evidence.words())
    }
}

const MISSED: &str = "it reached its bar, and does not any more, which fails the run";

/// What the test says of one comparison.
#[derive(Debug, Clone, Copy)]
struct Evidence {
    /// How likely chance alone explains it.
    chance: Option<f64>,
    /// Whether that is unlikely, among so many comparisons.
    is_unlikely: bool,
    /// How many comparisons could have found something.
    comparisons: usize,
    /// How many replicas on either side would be enough, where these are not.
    replicas_to_tell: Option<usize>,
}

impl Evidence {
    fn words(self) -> String {
        let chance = self.chance.unwrap_or(1.0);
        let times = if chance < 0.01 { "less than 1".to_owned() } else { format!("{:.0}", chance * 100.0) };
        // One alone would have been enough.
        let is_one_of_many = !self.is_unlikely && is_below(chance, SIGNIFICANT);
        let many = if is_one_of_many { format!(", and {} were made", self.comparisons) } else { String::new() };
        format!("chance alone would do this in {times} of 100 comparisons{many}")
    }
}

/// Makes findings of everything that was compared, with one test for all of it.
pub(super) fn decide(compared: Vec<Compared>) -> Vec<Finding> {
    let unlikely = unlikely(&compared);
    let comparisons = compared.iter().filter(|one| one.varies()).count();
    let mut needed = NeededReplicas { level: SIGNIFICANT / count(comparisons.max(1)), known: HashMap::new() };
    let mut findings = Vec::new();
    for (one, is_unlikely) in compared.into_iter().zip(unlikely) {
        let replicas_to_tell = (!is_unlikely && one.is_drop()).then(|| needed.of(one.before, one.now)).flatten();
        let chance = chance_of_drop(one.before, one.now);
        findings.extend(one.finding(Evidence { chance, is_unlikely, comparisons, replicas_to_tell }));
    }
    findings
}

/// Says of each comparison whether chance is an unlikely reason for what was found, among all of them.
pub(super) fn unlikely(compared: &[Compared]) -> Vec<bool> {
    let members: Vec<_> = compared.iter().map(Compared::member).collect();
    let mut unlikely = holm(&members.iter().copied().flatten().collect::<Vec<_>>(), SIGNIFICANT).into_iter();
    members.iter().map(|member| member.is_some() && unlikely.next().unwrap_or(false)).collect()
}

/// How many replicas are needed to tell drops: many cells have the same shares, and counting takes a while.
struct NeededReplicas {
    level: f64,
    known: HashMap<(Share, Share), Option<usize>>,
}

impl NeededReplicas {
    fn of(&mut self, before: Share, now: Share) -> Option<usize> {
        *self.known.entry((before, now)).or_insert_with(|| replicas_to_tell(before, now, self.level))
    }
}
