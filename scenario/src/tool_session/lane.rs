//! The lane of a session: what happened in it, in the order in which it happened.

use serde::{Deserialize, Serialize};

use super::finding::{LaneFinding, RuleSource, Violation};
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

/// A call of a tool, with its decision.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LaneCall {
    /// The time since the agent started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
    /// The step, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// The call's id, which findings name.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The phase before the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The decision.
    pub decision: CallDecision,
    /// The reasons of the decision; empty for a call that was allowed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sentence: String,
    /// The first rule that refused or held the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleSource>,
    /// The question to an approver, for a call that was held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    /// Set for a call that was allowed and not passed on, because its batch was refused.
    #[serde(skip_serializing_if = "crate::evidence::is_false")]
    pub withheld: bool,
    /// The outcome; `None` for a call that was not completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<CallOutcome>,
    /// Set when the outcome is known from the agent only.
    #[serde(skip_serializing_if = "crate::evidence::is_false")]
    pub self_reported: bool,
    /// Set for a call that broke a rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violation: Option<Violation>,
}

/// The decision on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallDecision {
    /// The call was written down only.
    #[default]
    NotDecided,
    /// It was allowed.
    Allowed,
    /// It was refused.
    Blocked,
    /// It waited for an approval.
    Held,
    /// It would have been refused.
    WouldHaveBeenBlocked,
    /// It would have waited for an approval.
    WouldHaveBeenHeld,
}

/// The question to an approver, and the answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Hold {
    /// The checkpoints that held the call.
    pub checkpoints: Vec<String>,
    /// The values that the approver saw.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<(String, String)>,
    /// The answer; `None` when there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
}

/// The answer of an approver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The decision.
    pub decision: ApprovalDecision,
    /// The approver.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// The approver's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// The decision of an approver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalDecision {
    /// The call may pass.
    Approved,
    /// The call is refused.
    Denied,
    /// Nobody answered in time.
    TimedOut,
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// It returned something.
    Ok,
    /// It returned nothing.
    OkEmpty,
    /// It returned an error.
    Error,
    /// Nobody knows whether it happened.
    Lost,
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
        let runs = self.rows.chunk_by(|one, next| one.phase() == next.phase());
        let mut bands: Vec<_> = runs.map(PhaseBand::of_rows).collect();
        let last = bands.last().map(|band| band.phase);
        let end = self.rows.iter().rev().find_map(LaneRow::at_ms);
        if self.final_phase.is_some() && last != Some(self.final_phase.as_deref()) {
            let phase = self.final_phase.as_deref();
            bands.push(PhaseBand { phase, from_ms: end, to_ms: end, rows: &[] });
        }
        for place in 1..bands.len() {
            bands[place - 1].to_ms = bands[place].from_ms.or(bands[place - 1].to_ms);
        }
        bands
    }
}

impl<'a> PhaseBand<'a> {
    fn of_rows(rows: &'a [LaneRow]) -> Self {
        let phase = rows.first().and_then(LaneRow::phase);
        let mut times = rows.iter().filter_map(LaneRow::at_ms);
        let from_ms = times.next();
        Self { phase, from_ms, to_ms: times.next_back().or(from_ms), rows }
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
