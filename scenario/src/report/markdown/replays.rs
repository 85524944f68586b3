//! Replayed sessions in Markdown: a table, and the calls that differ from the recorded ones.

use std::fmt::Write as _;

use super::{MOST_CELLS, MOST_FOUND, MOST_NAME, code};
use crate::score::{ReplayScore, ReplayedSession};

/// The sessions of a report.
pub(super) fn text(replays: &ReplayScore) -> String {
    let head =
        "| session | verdict | held | failed | answered | unexpected | unconsumed |\n|---|---|---|---|---|---|---|";
    let mut text = format!("\n#### Replays: {}, {}\n\n{head}\n", replays.verdict().word(), replays.words());
    let sessions = || replays.sessions.iter().take(MOST_CELLS);
    sessions().for_each(|session| text.push_str(&row(session)));
    for (session, (what, calls)) in sessions().flat_map(|session| session.calls().map(|calls| (session, calls))) {
        if !calls.is_empty() {
            let (id, calls) = (code(&session.id, MOST_NAME), code(&calls.join(", "), MOST_FOUND));
            let _ = writeln!(text, "\n- {id} {what}: {calls}");
        }
    }
    text
}

fn row(session: &ReplayedSession) -> String {
    let ReplayedSession { id, held, failed, answered, .. } = session;
    let (unexpected, unconsumed) = (session.unexpected.len(), session.unconsumed.len());
    let verdict = session.verdict.word();
    format!("| {} | {verdict} | {held} | {failed} | {answered} | {unexpected} | {unconsumed} |\n", code(id, MOST_NAME))
}
