//! Replayed sessions: a table, the calls that differ, and the share that passed.

use std::fmt::Write as _;

use super::super::Report;
use super::mutations::verdict_word;
use super::table;
use crate::score::{CellVerdict, ReplayScore, ReplayedSession};
use crate::untrusted;

/// The length at which calls and reasons are cut.
const MOST_TEXT: usize = 300;
/// The number of calls of one kind that are named.
const MOST_CALLS: usize = 5;

/// The replays of a report; nothing when it has none.
pub(super) fn text(report: &Report, width: u16) -> String {
    let Some(replays) = &report.score.replays else { return String::new() };
    let lines: String = replays.sessions.iter().map(session_lines).collect();
    let word = verdict_word(replays.verdict());
    format!("{}{lines}replays {word}: {}\n", sessions(replays, width), replays.words())
}

fn sessions(replays: &ReplayScore, width: u16) -> String {
    let mut table = table(width, &["session", "verdict", "held", "failed", "answered", "unexpected", "unconsumed"]);
    for session in &replays.sessions {
        let numbers = [session.held, session.failed].map(|number| number.to_string());
        let calls = [session.unexpected.len(), session.unconsumed.len()].map(|number| number.to_string());
        let head = [untrusted::line(&session.id, MOST_TEXT), session.verdict.word().to_owned()];
        let answered = [session.answered.to_string()];
        table.add_row(head.into_iter().chain(numbers).chain(answered).chain(calls).collect::<Vec<_>>());
    }
    format!("{table}\n")
}

/// The reason of a failed session, and its calls that differ from the recorded ones.
fn session_lines(session: &ReplayedSession) -> String {
    let mut text = String::new();
    let id = untrusted::line(&session.id, MOST_TEXT);
    if session.verdict == CellVerdict::Fail {
        let _ = writeln!(text, "  {:<12} {id}: {}", "FAIL", untrusted::line(&session.reason, MOST_TEXT));
    }
    for (what, calls) in session.calls() {
        for call in calls.iter().take(MOST_CALLS) {
            let _ = writeln!(text, "  {what:<12} {id}: {}", untrusted::line(call, MOST_TEXT));
        }
        if calls.len() > MOST_CALLS {
            let more = crate::count_noun(calls.len() - MOST_CALLS, "more call");
            let _ = writeln!(text, "  {what:<12} {id}: and {more}");
        }
    }
    text
}
