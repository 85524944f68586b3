//! A call of a lane: its decision as a sign and words, the reason, and what came of it.

use maud::{Markup, html};
use scenario::tool_session::{CallDecision, Hold, LaneCall, RuleSource, Violation};
use scenario::untrusted;

use super::super::Shown;
use crate::web::error_page::escaped;
use crate::web::numbers::duration;
use crate::web::untrusted_html;

/// The length at which a reason is cut.
const MOST_SENTENCE: usize = 1000;
/// The length at which a value of a checkpoint is cut.
const MOST_VALUE: usize = 300;
/// The most values of a checkpoint that a page shows.
const MOST_VALUES: usize = 20;

/// The place of a row on the page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// The session, from 0.
    pub(super) session: usize,
    /// The row of its lane, from 0.
    pub(super) row: usize,
}

impl Place {
    /// The id to which findings lead.
    pub(super) fn anchor(self) -> String {
        format!("call-{}-{}", self.session, self.row)
    }
}

/// The call as an item of its band.
pub(super) fn item(shown: &Shown, place: Place, call: &LaneCall) -> Markup {
    let marks = shown.marks();
    html! {
        li.call id=(place.anchor()) {
            p.decided {
                @if let Some(at) = call.at_ms { span.when { (duration(at)) } " " }
                (tool(shown, &call.tool)) " " (decision(call.decision))
                @if let Some(violation) = call.violation { " " (mark(violation)) }
            }
            @if !call.sentence.is_empty() {
                p.message { (marks.prose(&untrusted::line(call.reason(), MOST_SENTENCE))) }
            }
            @if let Some(rule) = &call.rule { (rule_place(rule)) }
            @if let Some(hold) = call.hold.as_ref().filter(|hold| !hold.context.is_empty()) { (context(hold)) }
            @let afterwards = call.afterwards();
            @if !afterwards.is_empty() { p.quiet { (marks.text(&afterwards)) } }
        }
    }
}

/// The tool, with the way to its moments in the story.
fn tool(shown: &Shown, name: &str) -> Markup {
    let place = format!("{}&kind=tool&text={}#story", shown.place(), escaped(name));
    html! { a href=(place) { code { (untrusted_html::line(name, 100)) } } }
}

/// A decision as a sign and words. What was not applied has a dashed edge, too.
fn decision(decision: CallDecision) -> Markup {
    let (class, sign) = match decision {
        CallDecision::Allowed => ("pass", "✓"),
        CallDecision::Blocked => ("fail", "✗"),
        CallDecision::Held => ("flaky", "="),
        CallDecision::WouldHaveBeenBlocked => ("fail unapplied", "✗"),
        CallDecision::WouldHaveBeenHeld => ("flaky unapplied", "="),
        CallDecision::NotDecided => ("not-run", "–"),
    };
    html! { span class={ "badge " (class) } { span.sign aria-hidden="true" { (sign) } (decision.words()) } }
}

/// A rule, and the line of the contract where it is written.
pub(super) fn rule_place(rule: &RuleSource) -> Markup {
    html! { @if !rule.rule.is_empty() {
        p.quiet {
            "Rule " code { (untrusted_html::line(&rule.rule, 100)) }
            @if let Some(place) = rule.place() { " in " code { (untrusted_html::line(&place, 200)) } }
        }
    } }
}

/// The mark of a violation.
pub(super) fn mark(violation: Violation) -> Markup {
    match violation {
        Violation::First => html! { strong.bad { (violation.words()) } },
        Violation::PossibleConsequence => html! { span.quiet { (violation.words()) } },
    }
}

/// The values that an approver saw.
fn context(hold: &Hold) -> Markup {
    html! {
        dl.pairs { @for (label, value) in hold.context.iter().take(MOST_VALUES) {
            dt { (untrusted_html::line(label, 60)) }
            dd { (untrusted_html::line(value, MOST_VALUE)) }
        } }
    }
}
