//! Each moment in words: in one line, and all that is known of it.

use maud::{Markup, html};
use scenario::evidence::{AuditEvent, Evidence, Exchange, ToolUse};
use scenario::trace::lookup;
use scenario::untrusted;

use super::Shown;
use super::answers::answers;
use super::event::event;
use super::moment::{Moment, Source};
use super::talk::Talks;
use crate::web::foreign::{self, Marks};
use crate::web::json;
use crate::web::numbers::{bytes, counted};

/// How many headers or parameters of a request stand in a page.
const PAIRS: usize = 100;
/// How many bytes of each do.
const MOST_VALUE: usize = 2000;

/// A moment in one line, and all that is known of it.
pub(super) fn told(shown: &Shown, talks: &Talks, moment: &Moment<'_>) -> (Markup, Markup) {
    let told = match moment.source {
        Source::Event(index) => Some(event(shown, index, moment)),
        Source::Model(index) => talks.told(shown, index),
        source => shown.evidence.as_deref().and_then(|evidence| of_evidence(evidence, source, shown.marks())),
    };
    told.unwrap_or_else(|| (html! {}, html! {}))
}

fn of_evidence(evidence: &Evidence, source: Source<'_>, marks: Marks<'_>) -> Option<(Markup, Markup)> {
    match source {
        Source::Event(_) | Source::Model(_) => None,
        Source::Tool(index) => Some(tool(evidence.model.as_ref()?.tools.get(index)?, marks)),
        Source::Exchange(service, index) => {
            Some(exchange(service, evidence.journals.get(service)?.exchanges.get(index)?, marks))
        }
        Source::Audit(index) => Some(audit(&evidence.audit.as_ref()?.get(index)?.event, marks)),
        Source::Probe(name) => Some(probe(name, evidence, marks)),
    }
}

fn tool(tool: &ToolUse, marks: Marks<'_>) -> (Markup, Markup) {
    let failed = tool.result.as_ref().is_some_and(|result| result.is_error);
    let label = html! {
        strong { (untrusted::line(&tool.name, 60)) } " " span.quiet { (untrusted::line(&tool.arguments, 100)) }
        @if failed { " " span.bad { "error" } }
    };
    let details = html! {
        p.part { "Arguments" } (json::document(&tool.arguments, marks))
        p.part { "Result" }
        @match &tool.result {
            Some(result) => (json::document(&result.content, marks)),
            None => p.quiet { "The agent sent nothing back." },
        }
    };
    (label, details)
}

fn exchange(service: &str, exchange: &Exchange, marks: Marks<'_>) -> (Markup, Markup) {
    let label = html! {
        strong { (untrusted::line(&exchange.method, 12)) } " "
        (untrusted::line(service, 40)) (marks.text(&untrusted::line(&exchange.path, 140))) " " (answered(exchange.status))
    };
    let details = html! {
        @if !exchange.query.is_empty() { p.part { "Query" } (pairs(&exchange.query, marks)) }
        p.part { "Headers" } (pairs(&exchange.headers, marks))
        p.part { "Body" } (json::body(&exchange.body, marks))
    };
    (label, details)
}

fn pairs(pairs: &[(String, String)], marks: Marks<'_>) -> Markup {
    html! {
        dl.pairs { @for (name, value) in pairs.iter().take(PAIRS) {
            dt { (marks.text(name)) }
            dd { (marks.text(foreign::beginning(value, MOST_VALUE).0)) }
        } }
    }
}

/// The status of an answer.
pub(super) fn answered(status: u16) -> Markup {
    let class = if status >= 400 { "bad" } else { "quiet" };
    html! { span class=(class) { "answered " (status) } }
}

fn audit(event: &AuditEvent, marks: Marks<'_>) -> (Markup, Markup) {
    let details = json::value(&serde_json::to_value(event).unwrap_or_default(), marks);
    (html! { (marks.text(&untrusted::line(&written_down(event), 160))) }, details)
}

/// What was written down, on one line.
pub(super) fn written_down(event: &AuditEvent) -> String {
    match event {
        AuditEvent::DbWrite { service, table, op, rows } => {
            format!("{service}: {op} {table}, {}", counted(*rows, "row"))
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
