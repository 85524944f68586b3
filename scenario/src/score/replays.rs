//! The cells of replayed sessions to the share of sessions that passed.

use serde::{Deserialize, Serialize};

use super::cells::{Cell, CellVerdict};
use super::statistics::count;
use crate::plan::CellId;

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
}

/// Scores the replays of an experiment; `None` when it has none.
pub(super) fn score(cells: &[Cell]) -> Option<ReplayScore> {
    let mut sessions: Vec<ReplayedSession> = Vec::new();
    for (replay, cell) in cells.iter().filter_map(|cell| Some((cell.key.purpose.replay()?, cell))) {
        match sessions.iter_mut().find(|session| session.id == replay.id) {
            Some(session) => {
                session.verdict = worse(session.verdict, cell.verdict);
                session.cells.push(cell.id.clone());
            }
            None => sessions.push(ReplayedSession {
                id: replay.id.clone(),
                verdict: cell.verdict,
                cells: vec![cell.id.clone()],
            }),
        }
    }
    let of = |verdict| sessions.iter().filter(|session| session.verdict == verdict).count();
    let (passed, failed) = (of(CellVerdict::Pass), of(CellVerdict::Fail));
    let score = (passed + failed > 0).then(|| count(passed) / count(passed + failed));
    (!sessions.is_empty()).then_some(ReplayScore { score, sessions })
}

/// The worse of two verdicts: a failure stays one, whatever else is not known yet.
fn worse(one: CellVerdict, other: CellVerdict) -> CellVerdict {
    const ORDER: [CellVerdict; 4] = [CellVerdict::Fail, CellVerdict::Pending, CellVerdict::Error, CellVerdict::Pass];
    ORDER.into_iter().find(|verdict| [one, other].contains(verdict)).unwrap_or(one)
}
