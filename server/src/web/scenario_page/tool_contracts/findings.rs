//! The findings of a session: the rules that were broken, each with its line in the contracts.

use maud::{Markup, html};
use scenario::tool_session::{FindingWeight, LaneFinding, SessionLane};
use scenario::untrusted;

use super::super::Shown;
use super::call;
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
    let of_finding = lane.calls().find(|call| call.call == finding.call && call.violation.is_some());
    let place = of_finding.and_then(|call| call::anchor(session, call)).filter(|_| finding.violation.is_some());
    html! {
        li {
            p.decided {
                (weight(finding.severity)) " " code { (untrusted_html::line(&finding.code, 60)) }
                @if let Some(violation) = finding.violation { " " (call::mark(violation)) }
                @if !finding.tool.is_empty() {
                    " "
                    @match place {
                        Some(place) => a href={ "#" (place) } { (untrusted_html::line(&finding.tool, 100)) },
                        None => (untrusted_html::line(&finding.tool, 100)),
                    }
                }
            }
            p.message { (shown.marks().prose(&untrusted::line(&finding.message, MOST_SENTENCE))) }
            @if !finding.rule.rule.is_empty() { (rule(finding)) }
        }
    }
}

fn rule(finding: &LaneFinding) -> Markup {
    html! {
        p.quiet {
            "Rule " code { (untrusted_html::line(&finding.rule.rule, 100)) }
            @if let Some(place) = finding.rule.place() { " in " code { (untrusted_html::line(&place, 200)) } }
            @if !finding.path.is_empty() { ", which reads " code { (untrusted_html::line(&finding.path, 100)) } }
        }
    }
}

fn weight(weight: FindingWeight) -> Markup {
    let (class, sign) = match weight {
        FindingWeight::Fail => ("fail", "✗"),
        FindingWeight::Warn => ("flaky", "!"),
        FindingWeight::Info => ("not-run", "·"),
    };
    html! { span class={ "badge " (class) } { span.sign aria-hidden="true" { (sign) } (weight.word()) } }
}
