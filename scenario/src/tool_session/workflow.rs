//! Events between the sessions of a workflow: handoffs, and the end of several sessions at once.

use super::lane::LaneNote;
use super::record::Record;
use crate::evidence::ContractRecord;
use crate::untrusted;

/// The length of a name in a sentence.
const MOST_NAME: usize = 60;
/// The length of a cause in a sentence.
const MOST_CAUSE: usize = 300;

/// The events between sessions, in their order. Handoffs are in the records of the workflow, or else in those of the
/// sessions.
pub(super) fn between(record: &ContractRecord) -> Vec<LaneNote> {
    let of_workflow: Vec<_> = record.workflow.iter().filter_map(|record| event(Record(record))).collect();
    if !of_workflow.is_empty() {
        return of_workflow;
    }
    let records = record.sessions.iter().flat_map(|session| &session.records).map(Record);
    let mut handoffs: Vec<_> = records.filter(|record| record.kind() == "handoff").filter_map(event).collect();
    handoffs.sort_by_key(|handoff| handoff.at_ms);
    // Both sessions may have written the handoff down.
    handoffs.dedup();
    handoffs
}

fn event(record: Record<'_>) -> Option<LaneNote> {
    let words = match record.kind() {
        "handoff" => handoff(record),
        "killed" => format!("killed{}", details(record)),
        "cancel_requested" => format!("asked to end{}", details(record)),
        _ => return None,
    };
    Some(LaneNote { at_ms: record.number("at_ms"), phase: None, words })
}

/// A handoff in words: its name, the two sides, and its status where one is recorded.
pub(super) fn handoff(record: Record<'_>) -> String {
    let name = |key: &str| untrusted::line(record.text(key).unwrap_or("?"), MOST_NAME);
    let status = ["status", "state", "verdict"].iter().find_map(|key| record.text(key));
    let status = status.map(|status| format!(", {}", untrusted::line(status, MOST_NAME))).unwrap_or_default();
    format!("handoff {} from {} to {}{status}", name("handoff"), name("from"), name("to"))
}

/// The scope and the cause of an end, as far as they are recorded.
fn details(record: Record<'_>) -> String {
    let scope = record.text("scope").or_else(|| record.text("session"));
    let scope = scope.map(|scope| format!(" ({})", untrusted::line(scope, MOST_NAME)));
    let cause = record.text("cause").map(|cause| format!(": {}", untrusted::line(cause, MOST_CAUSE)));
    format!("{}{}", scope.unwrap_or_default(), cause.unwrap_or_default())
}
