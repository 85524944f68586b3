//! The findings of a session: the rules that were broken, each with its line in the contracts.

use maud::{Markup, html};
use scenario::tool_session::{FindingWeight, LaneCall, LaneFinding, SessionLane};
use scenario::untrusted;

use super::super::Shown;
use super::call::{self, Place};
use super::lane::MOST_ROWS;
use crate::web::numbers::count_noun;
use crate::web::untrusted_html;

/// The most findings that a page shows.
const MOST: usize = 100;
/// The length at which a sentence is cut.
const MOST_SENTENCE: usize = 1000;

/// The findings of a lane; nothing when it has none.
pub(super) fn list(shown: &Shown, session: usize, lane: &SessionLane) -> Markup {
    let hidden = lane.findings.len().saturating_sub(MOST);
    html! { @if !lane.findings.is_empty() {
        h4 { "Findings " span.quiet { (lane.findings.len()) } }
        ul.rules-broken { @for finding in lane.findings.iter().take(MOST) { (item(shown, session, lane, finding)) } }
        @if hidden > 0 { p.quiet { (count_noun(hidden as u64, "more finding")) " in the evidence." } }
    } }
}

fn item(shown: &Shown, session: usize, lane: &SessionLane, finding: &LaneFinding) -> Markup {
    let row = shown_row(lane, finding);
    html! {
        li {
            p.decided {
                (weight(finding.severity)) " " code { (untrusted_html::line(&finding.code, 60)) }
                @if let Some(violation) = finding.violation { " " (call::mark(violation)) }
                @if !finding.tool.is_empty() {
                    " "
                    @match row {
                        Some(row) => a href={ "#" (Place { session, row }.anchor()) } { (untrusted_html::line(&finding.tool, 100)) },
                        None => (untrusted_html::line(&finding.tool, 100)),
                    }
                }
            }
            p.message { (shown.marks().prose(&untrusted::line(finding.sentence(), MOST_SENTENCE))) }
            (call::rule_place(&finding.rule))
        }
    }
}

/// The row of the call that a violation is about, where the page shows it.
fn shown_row(lane: &SessionLane, finding: &LaneFinding) -> Option<usize> {
    let is_marked = |call: &LaneCall| call.call == finding.call && call.violation.is_some();
    let row = lane.rows.iter().position(|row| row.call().is_some_and(is_marked))?;
    (finding.violation.is_some() && row < MOST_ROWS).then_some(row)
}

fn weight(weight: FindingWeight) -> Markup {
    let (class, sign) = match weight {
        FindingWeight::Fail => ("fail", "✗"),
        FindingWeight::Attempt => ("not-run", "⊘"),
        FindingWeight::Warn => ("flaky", "!"),
        FindingWeight::Info => ("not-run", "·"),
    };
    html! { span class={ "badge " (class) } { span.sign aria-hidden="true" { (sign) } (weight.word()) } }
}
