//! Records that become notes of a lane: tools that were hidden, requests that were refused, labels, the end.

use super::Fold;
use crate::evidence::ContractMode;
use crate::tool_session::lane::{LaneNote, LaneOrigin, LaneRow};
use crate::tool_session::record::Record;
use crate::tool_session::workflow;
use crate::untrusted;

/// The number of tools that a note names.
const MOST_TOOLS: usize = 8;
/// The length of a name in a note.
const MOST_NAME: usize = 60;
/// The length of reasons in a note.
const MOST_REASON: usize = 300;

impl Fold {
    /// Other records that become notes.
    pub(super) fn told(&mut self, kind: &str, record: Record<'_>) {
        let cause = record.text("cause").map(|cause| format!(": {}", untrusted::line(cause, MOST_REASON)));
        let words = match kind {
            "label" => record.text("label").map(|label| format!("got the label {}", untrusted::line(label, MOST_NAME))),
            "killed" => Some(format!("the session was killed{}", cause.unwrap_or_default())),
            "cancel_requested" => Some(format!("the session was asked to end{}", cause.unwrap_or_default())),
            "handoff" => Some(workflow::handoff(record)),
            _ => None,
        };
        self.lane.rows.extend(words.map(|words| self.note(record, words)));
    }

    fn note(&self, record: Record<'_>, words: String) -> LaneRow {
        LaneRow::Note(LaneNote { at_ms: record.number("at_ms"), phase: self.phase.clone(), words })
    }

    /// Notes hidden tools. A model is asked repeatedly, so the same tools are noted once.
    pub(super) fn narrowed(&mut self, record: Record<'_>, what: &str) {
        let tools: Vec<_> = record.records("removed").map(|removed| removed.owned("tool")).collect();
        if tools == self.hidden {
            return;
        }
        self.hidden.clone_from(&tools);
        let named: Vec<_> = tools.iter().take(MOST_TOOLS).map(|tool| untrusted::line(tool, MOST_NAME)).collect();
        let more = match tools.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let words = match tools.len() {
            0 => format!("no tool {what} any more"),
            _ => format!("{what}: {}{more}", named.join(", ")),
        };
        self.lane.rows.push(self.note(record, words));
    }

    pub(super) fn prechecked(&mut self, record: Record<'_>) {
        if record.text("verdict") != Some("block") {
            return;
        }
        let reasons: Vec<_> = record.records("reasons").filter_map(|reason| reason.text("message")).collect();
        let what = match self.lane.origin {
            LaneOrigin::Live(ContractMode::Govern) => "a request to the model was refused",
            _ => "a request to the model would have been refused",
        };
        let words = format!("{what}: {}", untrusted::line(&reasons.join("; "), MOST_REASON));
        self.found.add_refusal(record);
        self.lane.rows.push(self.note(record, words));
    }
}
