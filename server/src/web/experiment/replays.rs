//! The sessions that a run replayed: their verdicts, and the calls that differ from the recorded ones.

use maud::{Markup, html};
use scenario::score::{CellVerdict, ReplayScore, ReplayedSession};

use super::Shown;
use super::mutations::word;
use crate::web::untrusted_html;

/// The length at which names are cut.
const NAME: usize = 80;
/// The length at which reasons and calls are cut.
const TEXT: usize = 300;

/// The replays of a run; nothing when it has none.
pub(super) fn section(shown: &Shown) -> Markup {
    let Some(replays) = &shown.score().replays else { return html! {} };
    html! {
        section aria-labelledby="replays" {
            h2 #replays { "Replays" }
            p { strong { (word(replays.verdict())) } ": " (replays.words()) "." }
            (sessions(shown, replays))
            (calls(replays))
        }
    }
}

fn sessions(shown: &Shown, replays: &ReplayScore) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Replayed sessions" {
            table {
                thead { tr {
                    th scope="col" { "Session" }
                    th scope="col" { "Verdict" }
                    @for head in ["Held", "Failed", "Answered", "Unexpected", "Unconsumed"] { th.number scope="col" { (head) } }
                    th scope="col" { "Why" }
                } }
                tbody { @for session in &replays.sessions { (row(shown, session)) } }
            }
        }
    }
}

/// A session, with a link to the run that shows its verdict.
fn row(shown: &Shown, session: &ReplayedSession) -> Markup {
    let name = untrusted_html::line(&session.id, NAME);
    html! {
        tr {
            th scope="row" {
                @match &session.shown_by {
                    Some(scenario) => { a href=(shown.link(scenario.as_str())) { (name) } },
                    None => { (name) },
                }
            }
            td class=(class(session.verdict)) { (session.verdict.word()) }
            td.number { (session.held) }
            td.number { (session.failed) }
            td.number { (session.answered) }
            td.number { (session.unexpected.len()) }
            td.number { (session.unconsumed.len()) }
            td { (untrusted_html::line(&session.reason, TEXT)) }
        }
    }
}

const fn class(verdict: CellVerdict) -> &'static str {
    match verdict {
        CellVerdict::Pass => "pass",
        CellVerdict::Fail => "fail",
        CellVerdict::Undecided | CellVerdict::Error => "error",
        CellVerdict::Pending => "waiting",
    }
}

/// The calls of each session that differ from the recorded ones.
fn calls(replays: &ReplayScore) -> Markup {
    let differ = |session: &&ReplayedSession| session.calls().iter().any(|(_, calls)| !calls.is_empty());
    let differing: Vec<_> = replays.sessions.iter().filter(differ).collect();
    html! {
        @if !differing.is_empty() { ul { @for session in differing { @for (what, calls) in session.calls() { @for call in calls { li {
            strong { (what) } " in " (untrusted_html::line(&session.id, NAME)) ": " (untrusted_html::line(call, TEXT))
        } } } } } }
    }
}
