//! Each moment in words: in one line, and all that is known of it.

use maud::{Markup, html};
use scenario::evidence::{AuditEvent, Evidence, FaultMark, Firing, MergedCall};
use scenario::trace::{Moment, Source, lookup};
use scenario::untrusted;

use super::Shown;
use super::answers::answers;
use super::conversation::Talks;
use super::event::event;
use super::exchange::{Answers, call, exchange};
use crate::web::json;
use crate::web::numbers::{bytes, count_noun};
use crate::web::untrusted_html::Marks;

/// Data that is read once for all moments of a page.
pub(super) struct Beside<'a> {
    talks: Talks,
    answers: Answers<'a>,
}

impl<'a> Beside<'a> {
    /// Reads the data that these moments need.
    pub(super) fn of(evidence: Option<&'a Evidence>, moments: &[&Moment<'_>]) -> Self {
        Self { talks: Talks::of(evidence, moments), answers: Answers::of(evidence, moments) }
    }
}

/// A moment in one line, and all that is known of it.
pub(super) fn told(shown: &Shown, beside: &Beside<'_>, moment: &Moment<'_>) -> (Markup, Markup) {
    let of_evidence = || of_evidence(shown.evidence.as_deref()?, beside, moment.source, shown.marks());
    let told = match moment.source {
        Source::Event(index) => Some(event(shown, index, moment)),
        Source::Model(index) => beside.talks.told(shown, index),
        _ => of_evidence(),
    };
    told.unwrap_or_else(|| (html! {}, html! {}))
}

fn of_evidence(
    evidence: &Evidence,
    beside: &Beside<'_>,
    source: Source<'_>,
    marks: Marks<'_>,
) -> Option<(Markup, Markup)> {
    match source {
        Source::Event(_) | Source::Model(_) => None,
        Source::Tool(call) => Some(tool(call, marks)),
        Source::Exchange(service, index) => exchange(evidence, service, index, &beside.answers, marks),
        Source::Audit(index) => Some(audit(&evidence.audit.as_ref()?.get(index)?.event, marks)),
        Source::Probe(name) => Some(probe(name, evidence, marks)),
        Source::Fault(index) => Some(firing(evidence.faults.as_ref()?.firings.get(index)?, marks)),
    }
}

fn tool(call: MergedCall<'_>, marks: Marks<'_>) -> (Markup, Markup) {
    let arguments = call.seen.arguments_text();
    let known = call.at_gateway();
    let label = html! {
        strong { (untrusted::line(&call.seen.tool, 60)) } " " span.quiet { (untrusted::line(&arguments, 100)) }
        @if call.is_error() { " " span.bad { "error" } }
        @if let Some(why) = known.and_then(|known| known.refused) { " " span.bad { "refused: " (why) } }
        (fault(known.and_then(|known| known.fault.as_ref())))
    };
    let details = html! {
        p.part { "Arguments" } (json::document(&arguments, marks))
        p.part { "Result" }
        @match call.result() {
            Some(result) => (json::document(result, marks)),
            None if call.execution.is_some() => p.quiet { "The agent got no result." },
            None => p.quiet { "The agent sent nothing back." },
        }
        @if let Some(reported) = told_differently(call) {
            p.part { "What the agent told the model" } (json::document(reported, marks))
        }
        p.quiet { (carried_out(call)) }
    };
    (label, details)
}

/// Returns what the agent told the model, where it differs from the result.
fn told_differently<'a>(call: MergedCall<'a>) -> Option<&'a str> {
    let (sent, reported) = (call.execution?.result.as_deref(), call.report?.result.as_deref()?);
    (sent != Some(reported)).then_some(reported)
}

/// Says in a sentence who executed a call.
fn carried_out(call: MergedCall<'_>) -> String {
    let Some(known) = call.at_gateway() else { return "The agent carried it out by itself.".to_owned() };
    let by = known
        .server
        .as_ref()
        .map_or_else(|| "the tool gateway".to_owned(), |server| format!("the MCP server {server}"));
    let whose = if call.proposal.is_some() { "The model proposed it" } else { "The agent called it by itself" };
    match known.refused {
        Some(_) => format!("{whose}; the tool gateway refused it."),
        None => format!("{whose}; {by} carried it out in {} ms.", known.duration_ms),
    }
}

/// The status of an answer.
pub(super) fn answered(status: u16) -> Markup {
    let class = if status >= 400 || status == 0 { "bad" } else { "quiet" };
    html! { span class=(class) { @if status == 0 { "not answered" } @else { "answered " (status) } } }
}

/// The fault that hit a call, if one did.
pub(super) fn fault(mark: Option<&FaultMark>) -> Markup {
    html! {
        @if let Some(mark) = mark {
            " " span.fault title=(format!("{}, call {}", mark.rule, mark.call)) { "fault: " (mark.mode) }
        }
    }
}

/// A fault of a call that has no moment of its own.
fn firing(firing: &Firing, marks: Marks<'_>) -> (Markup, Markup) {
    let Firing { rule, mode, call, .. } = firing;
    let label = html! {
        (untrusted::line(&firing.target, 140)) " "
        span.fault title=(format!("{rule}, call {call}")) { "fault: " (mode) }
    };
    (label, json::value(&serde_json::to_value(firing).unwrap_or_default(), marks))
}

fn audit(event: &AuditEvent, marks: Marks<'_>) -> (Markup, Markup) {
    let as_json = || json::value(&serde_json::to_value(event).unwrap_or_default(), marks);
    let details = call(event, marks).unwrap_or_else(as_json);
    (html! { (marks.text(&untrusted::line(&written_down(event), 160))) }, details)
}

/// Renders an audit event on one line.
pub(super) fn written_down(event: &AuditEvent) -> String {
    match event {
        AuditEvent::DbWrite { service, table, op, rows } => {
            format!("{service}: {op} {table}, {}", count_noun(*rows, "row"))
        }
        AuditEvent::HttpCall { host, method, path, status, .. } => {
            let answer = status.map_or_else(|| "refused".to_owned(), |status| format!("answered {status}"));
            format!("{method} {host}{path} {answer}")
        }
        AuditEvent::FileWrite { path, op } => format!("{op} {path}"),
        AuditEvent::Dns { name, kind, answer } => lookup(name, kind, answer.as_deref()),
        AuditEvent::Egress { host, port, bytes_out, bytes_in, .. } => {
            format!("to {host}:{port}, {} out, {} in", bytes(*bytes_out), bytes(*bytes_in))
        }
        AuditEvent::EgressDenied { host, port, reason } => format!("refused {host}:{port}: {reason}"),
        AuditEvent::ModelCall { model, status, .. } => format!("{model} answered {status}"),
        AuditEvent::ToolCall { name, arguments, .. } => format!("{name} {arguments}"),
        AuditEvent::Command { command, exit_code } => match exit_code {
            Some(code) => format!("{command}, exit code {code}"),
            None => command.clone(),
        },
    }
}

fn probe(name: &str, evidence: &Evidence, marks: Marks<'_>) -> (Markup, Markup) {
    let found = evidence.answers.get(name).map_or(&[][..], Vec::as_slice);
    (html! { "for " strong { (untrusted::line(name, 80)) } }, answers(found, marks))
}
