//! The cells of replayed sessions to the share of sessions that passed.

use serde::{Deserialize, Serialize};

use super::cells::{Cell, CellVerdict};
use crate::count_noun;
use crate::evidence::Played;
use crate::plan::{CellId, ScenarioId};
use crate::result::{RowStatus, ScenarioResult};
use crate::statistics::count;

/// The most calls of one kind that are named.
const MOST_CALLS: usize = 20;

/// The score of an experiment's replays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplayScore {
    /// The share of sessions that passed among those that were judged, from 0 to 1; `None` when none was.
    pub score: Option<f64>,
    /// The sessions, in the order of the spec.
    pub sessions: Vec<ReplayedSession>,
}

/// A session that was replayed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplayedSession {
    /// Its name.
    pub id: String,
    /// Its verdict: the worst of its cells.
    pub verdict: CellVerdict,
    /// Its cells.
    pub cells: Vec<CellId>,
    /// The number of its runs that passed.
    #[serde(default)]
    pub held: usize,
    /// The number of its runs that failed.
    #[serde(default)]
    pub failed: usize,
    /// The number of calls that got a recorded answer, in all of its runs.
    #[serde(default)]
    pub answered: u64,
    /// Calls that the session has no answer for, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unexpected: Vec<String>,
    /// Calls of the session that did not come, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unconsumed: Vec<String>,
    /// Calls with another query or body than the recorded ones, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differing: Vec<String>,
    /// The run that shows its verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_by: Option<ScenarioId>,
    /// The first reason why that run failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl ReplayScore {
    /// The number of sessions that passed and of those that were judged, such as `1 of 2 sessions passed`.
    #[must_use]
    pub fn words(&self) -> String {
        let of = |verdict| self.sessions.iter().filter(|session| session.verdict == verdict).count();
        let (passed, failed) = (of(CellVerdict::Pass), of(CellVerdict::Fail));
        let unjudged = self.sessions.len() - passed - failed;
        let more = if unjudged > 0 { format!(", {unjudged} not judged") } else { String::new() };
        format!("{passed} of {} passed{more}", count_noun(passed + failed, "session"))
    }

    /// The worst verdict of the sessions.
    #[must_use]
    pub fn verdict(&self) -> CellVerdict {
        self.sessions.iter().map(|session| session.verdict).fold(CellVerdict::Pass, worse)
    }
}

/// Scores the replays of an experiment; `None` when it has none.
pub(super) fn score(cells: &[Cell], results: &[&ScenarioResult]) -> Option<ReplayScore> {
    let mut sessions: Vec<ReplayedSession> = Vec::new();
    for (replay, cell) in cells.iter().filter_map(|cell| Some((cell.key.purpose.replay()?, cell))) {
        match sessions.iter_mut().find(|session| session.id == replay.id) {
            Some(session) => session.add(cell),
            None => sessions.push(ReplayedSession::new(&replay.id, cell)),
        }
    }
    sessions.iter_mut().for_each(|session| session.observe(results));
    let of = |verdict| sessions.iter().filter(|session| session.verdict == verdict).count();
    let (passed, failed) = (of(CellVerdict::Pass), of(CellVerdict::Fail));
    let score = (passed + failed > 0).then(|| count(passed) / count(passed + failed));
    (!sessions.is_empty()).then_some(ReplayScore { score, sessions })
}

impl ReplayedSession {
    fn new(id: &str, cell: &Cell) -> Self {
        Self {
            id: id.to_owned(),
            verdict: cell.verdict,
            cells: vec![cell.id.clone()],
            held: 0,
            failed: 0,
            answered: 0,
            unexpected: Vec::new(),
            unconsumed: Vec::new(),
            differing: Vec::new(),
            shown_by: None,
            reason: String::new(),
        }
    }

    fn add(&mut self, cell: &Cell) {
        self.verdict = worse(self.verdict, cell.verdict);
        self.cells.push(cell.id.clone());
    }

    /// The calls that differ from the recorded ones, by the word for it.
    #[must_use]
    pub fn calls(&self) -> [(&'static str, &[String]); 3] {
        [("unexpected", &self.unexpected), ("unconsumed", &self.unconsumed), ("differing", &self.differing)]
    }

    /// Adds what is known from its runs.
    fn observe(&mut self, results: &[&ScenarioResult]) {
        let runs: Vec<_> = results.iter().filter(|result| self.cells.contains(&result.scenario.cell)).collect();
        let of = |status| runs.iter().filter(|result| result.status == status).count();
        (self.held, self.failed) = (of(RowStatus::Pass), of(RowStatus::Fail));
        let failed = runs.iter().find(|result| result.status == RowStatus::Fail);
        let reason = failed.and_then(|result| result.reasons().into_iter().next());
        self.reason = reason.map(|(what, found)| format!("{what}: {found}")).unwrap_or_default();
        self.shown_by = failed.or_else(|| runs.first()).map(|result| result.scenario.id.clone());
        for played in runs.iter().filter_map(|result| result.replay.as_ref()) {
            self.add_calls(played);
        }
    }

    fn add_calls(&mut self, played: &Played) {
        self.answered += played.answered;
        add_new(&mut self.unexpected, &played.unexpected);
        add_new(&mut self.unconsumed, &played.unconsumed);
        add_new(&mut self.differing, &played.differing);
    }
}

/// Adds calls that are not named yet.
fn add_new(named: &mut Vec<String>, calls: &[String]) {
    for call in calls {
        if named.len() < MOST_CALLS && !named.contains(call) {
            named.push(call.clone());
        }
    }
}

/// The worse of two verdicts: a failure stays one, whatever else is not known yet.
fn worse(one: CellVerdict, other: CellVerdict) -> CellVerdict {
    const ORDER: [CellVerdict; 5] =
        [CellVerdict::Fail, CellVerdict::Pending, CellVerdict::Error, CellVerdict::Undecided, CellVerdict::Pass];
    ORDER.into_iter().find(|verdict| [one, other].contains(verdict)).unwrap_or(one)
}
