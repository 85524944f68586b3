//! The lane of a session: what happened in it, in the order in which it happened.

use serde::Serialize;

use super::call::LaneCall;
use super::finding::LaneFinding;
use crate::evidence::ContractMode;

/// One session under tool contracts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionLane {
    /// The way in which its decisions came about.
    pub origin: LaneOrigin,
    /// Its id; empty for a session that was judged afterwards.
    pub session: String,
    /// Its role in the workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The session that handed work to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its last status; empty for a session that was judged afterwards.
    pub status: String,
    /// Its last phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_phase: Option<String>,
    /// Calls and notes, in their order.
    pub rows: Vec<LaneRow>,
    /// Rules that were broken, and other findings.
    pub findings: Vec<LaneFinding>,
    /// The number of violations, with those that `findings` leaves out.
    pub violations: u64,
    /// The number of violations that were refused, so that they had no effect.
    pub attempts: u64,
    /// The number of calls that are left out; of records for a live session.
    pub left_out: u64,
}

/// The way in which the decisions of a session came about.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneOrigin {
    /// While the agent acted.
    Live(ContractMode),
    /// Afterwards, by the check of this invariant.
    Judged(String),
}

/// One row of a lane.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneRow {
    /// A call.
    Call(LaneCall),
    /// Another event.
    Note(LaneNote),
}

/// Another event of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LaneNote {
    /// The time since the agent started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
    /// The phase in which it happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The event in words.
    pub words: String,
}

/// The rows of a lane between two changes of the phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhaseBand<'a> {
    /// The phase; `None` for a session without phases.
    pub phase: Option<&'a str>,
    /// The time of the first row; the end of the band before it when it has none.
    pub from_ms: Option<u64>,
    /// The time at which the next band begins; of the last row in the last band.
    pub to_ms: Option<u64>,
    /// The place of the first row in the lane.
    pub first: usize,
    /// The rows; the last phase of a session may have none.
    pub rows: &'a [LaneRow],
}

impl SessionLane {
    /// The calls, in their order.
    pub fn calls(&self) -> impl Iterator<Item = &LaneCall> {
        self.rows.iter().filter_map(LaneRow::call)
    }

    /// Puts rows from before the phase was known into the first known phase.
    pub(super) fn begin_with_first_phase(&mut self) {
        let Some(place) = self.rows.iter().position(|row| row.phase().is_some()) else { return };
        let phase = self.rows[place].phase().map(ToOwned::to_owned);
        for row in &mut self.rows[..place] {
            match row {
                LaneRow::Call(call) => call.phase.clone_from(&phase),
                LaneRow::Note(note) => note.phase.clone_from(&phase),
            }
        }
    }

    /// The bands: a new one begins with each change of the phase.
    #[must_use]
    pub fn bands(&self) -> Vec<PhaseBand<'_>> {
        let mut bands = Vec::new();
        let mut first = 0;
        for rows in self.rows.chunk_by(|one, next| one.phase() == next.phase()) {
            bands.push(PhaseBand::of_rows(first, rows));
            first += rows.len();
        }
        let last = bands.last().map(|band: &PhaseBand<'_>| band.phase);
        let end = self.rows.iter().rev().find_map(LaneRow::at_ms);
        if self.final_phase.is_some() && last != Some(self.final_phase.as_deref()) {
            let phase = self.final_phase.as_deref();
            bands.push(PhaseBand { phase, from_ms: end, to_ms: end, first, rows: &[] });
        }
        for place in 1..bands.len() {
            bands[place - 1].to_ms = bands[place].from_ms.or(bands[place - 1].to_ms);
        }
        bands
    }

    /// Returns the bands of the first rows only, at most `most`.
    #[must_use]
    pub fn bands_of_first(&self, most: usize) -> Vec<PhaseBand<'_>> {
        let mut bands = self.bands();
        bands.retain(|band| band.rows.is_empty() || band.first < most);
        for band in &mut bands {
            band.rows = &band.rows[..band.rows.len().min(most.saturating_sub(band.first))];
        }
        bands
    }
}

impl<'a> PhaseBand<'a> {
    fn of_rows(first: usize, rows: &'a [LaneRow]) -> Self {
        let phase = rows.first().and_then(LaneRow::phase);
        let mut times = rows.iter().filter_map(LaneRow::at_ms);
        let from_ms = times.next();
        Self { phase, from_ms, to_ms: times.next_back().or(from_ms), first, rows }
    }
}

impl LaneRow {
    /// The call; `None` for a note.
    #[must_use]
    pub fn call(&self) -> Option<&LaneCall> {
        match self {
            Self::Call(call) => Some(call),
            Self::Note(_) => None,
        }
    }

    fn phase(&self) -> Option<&str> {
        match self {
            Self::Call(call) => call.phase.as_deref(),
            Self::Note(note) => note.phase.as_deref(),
        }
    }

    fn at_ms(&self) -> Option<u64> {
        match self {
            Self::Call(call) => call.at_ms,
            Self::Note(note) => note.at_ms,
        }
    }
}
