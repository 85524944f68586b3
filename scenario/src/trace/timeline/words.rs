//! Each moment of a timeline on one line, safe to show on a terminal.

use std::time::Duration;

use serde::Serialize;

use super::{Kind, Moment, Source, TimedEvent, timeline};
use crate::event::Event;
use crate::evidence::{AuditEvent, Evidence, Exchange, FaultMark, Firing, MergedCall, ModelCall};
use crate::result::RowStatus;
use crate::trace::lookup;
use crate::{count_noun, format_duration, untrusted};

/// Maximum length of the words of a line.
const MOST: usize = 200;

/// A moment of a timeline on one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimelineLine {
    /// Its time, since the beginning of the timeline.
    pub at_ms: u64,
    /// Its duration in milliseconds; 0 when it was not measured.
    pub duration_ms: u64,
    /// The kind.
    pub kind: Kind,
    /// All about it.
    pub what: String,
    /// True if it failed.
    pub failed: bool,
}

/// The timeline of a scenario, line by line.
#[must_use]
pub fn timeline_lines(evidence: Option<&Evidence>, events: &[TimedEvent<'_>]) -> Vec<TimelineLine> {
    let moments = timeline(evidence, events);
    // It begins with the first event, and with the agent where nobody told of anything before.
    let first = moments.first().map_or(0, |moment| moment.at_ms.min(0));
    moments.iter().map(|moment| line(moment, first, evidence, events)).collect()
}

fn line(moment: &Moment<'_>, first: i64, evidence: Option<&Evidence>, events: &[TimedEvent<'_>]) -> TimelineLine {
    let said = match moment.source {
        Source::Event(index) => events.get(index).map(|timed| event(moment, timed.event)),
        source => evidence.and_then(|evidence| of_evidence(evidence, source)),
    };
    let (what, failed) = said.unwrap_or_default();
    TimelineLine {
        at_ms: moment.at_ms.abs_diff(first),
        duration_ms: moment.duration_ms,
        kind: moment.kind,
        what: untrusted::line(&what, MOST),
        failed: failed || moment.broken_off,
    }
}

fn of_evidence(evidence: &Evidence, source: Source<'_>) -> Option<(String, bool)> {
    let model = evidence.model.as_ref();
    Some(match source {
        Source::Event(_) => return None,
        Source::Model(index) => call(model?.calls.get(index)?),
        Source::Tool(call) => tool(call),
        Source::Exchange(service, index) => exchange(service, evidence.journals.get(service)?.exchanges.get(index)?),
        Source::Audit(index) => written_down(&evidence.audit.as_ref()?.get(index)?.event),
        Source::Probe(name) => (name.to_owned(), false),
        Source::Fault(index) => firing(evidence.faults.as_ref()?.firings.get(index)?),
    })
}

fn event(moment: &Moment<'_>, event: &Event) -> (String, bool) {
    let after = |after: &Duration| format_duration(u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
    let what = match event {
        Event::PhaseStarted(phase) if moment.broken_off => format!("{phase} was broken off"),
        Event::PhaseStarted(phase) => format!("{phase} has begun"),
        Event::PhaseEnded(phase, _) => phase.to_string(),
        Event::Claimed { worker } => format!("taken by worker {worker}"),
        Event::Pulling { image, status } => format!("pulling {image}: {status}"),
        Event::Baking { packages } => format!("installing {}", packages.join(" ")),
        Event::SandboxCreated { name } => format!("the sandbox {name} was made"),
        Event::ServiceReady { service, after: took } => format!("{service} is ready after {}", after(took)),
        Event::FixtureApplied { index } => format!("fixture {} is in place", index.saturating_add(1)),
        Event::AgentStarted => "the agent started".to_owned(),
        Event::AgentEnded { exit: Some(exit), .. } => format!("the agent ended: {exit}"),
        Event::AgentEnded { exit: None, .. } => "the agent was stopped".to_owned(),
        Event::LimitFired(fired) => format!("limit {}: {}", fired.limit, fired.detail),
        Event::Probed { invariant } => format!("looked at {invariant}"),
        Event::CallHeld { approval, tool, .. } => format!("{tool} waits for a person ({approval})"),
        Event::CallDecided { tool, answer, by, .. } if by.is_empty() => format!("{tool} {answer}"),
        Event::CallDecided { tool, answer, by, .. } => format!("{tool} {answer} by {by}"),
        Event::Note(text) => text.clone(),
        Event::SandboxKept { name } => format!("the sandbox {name} was kept"),
        Event::SandboxDestroyed { name } => format!("the sandbox {name} is gone"),
        Event::Judged { status, error, .. } => format!("judged: {}", status.word_for_people(*error)),
        Event::Retrying { why, after: pause } => format!("tried again after {}: {why}", after(pause)),
        Event::Released { why } => format!("given back: {why}"),
        Event::GivenUp { why } => format!("given up: {why}"),
        Event::Lost { worker } => format!("worker {worker} was not heard of any more"),
        Event::Unknown { kind, body } => format!("{} {body}", kind.replace('_', " ")),
    };
    (what, is_bad(event))
}

fn is_bad(event: &Event) -> bool {
    let judged = matches!(event, Event::Judged { status, .. } if *status != RowStatus::Pass);
    judged || matches!(event, Event::LimitFired(_) | Event::Retrying { .. } | Event::Lost { .. })
}

fn call(call: &ModelCall) -> (String, bool) {
    let model = call.response_model.as_deref().unwrap_or(&call.request_model);
    let answer = answered(call.status);
    let fault = faulted(call.fault.as_ref());
    let what = format!("{model} {answer}, {} + {} tokens{fault}", call.tokens.input, call.tokens.output);
    (what, call.problem.is_some() || !(200..400).contains(&call.status))
}

fn tool(call: MergedCall<'_>) -> (String, bool) {
    let known = call.at_gateway();
    let fault = faulted(known.and_then(|known| known.fault.as_ref()));
    let refused = known.and_then(|known| known.refused).map_or_else(String::new, |why| format!(" [refused: {why}]"));
    (format!("{} {}{refused}{fault}", call.seen.tool, call.seen.arguments_text()), call.is_error())
}

fn exchange(service: &str, exchange: &Exchange) -> (String, bool) {
    let fault = faulted(exchange.fault.as_ref());
    let what = format!("{} {service}{} {}{fault}", exchange.method, exchange.path, answered(exchange.status));
    (what, exchange.status >= 400 || exchange.status == 0)
}

/// A fault of a call that is not told otherwise. That it happened is no failure of the agent.
fn firing(firing: &Firing) -> (String, bool) {
    let Firing { target, mode, rule, call, .. } = firing;
    (format!("{target} [fault: {mode} by {rule}, call {call}]"), false)
}

/// The status of an answer, if there was one.
fn answered(status: u16) -> String {
    if status == 0 { "no answer".to_owned() } else { status.to_string() }
}

/// The fault that hit a call, if one did.
fn faulted(fault: Option<&FaultMark>) -> String {
    fault.map_or_else(String::new, |fault| format!(" [fault: {} by {}, call {}]", fault.mode, fault.rule, fault.call))
}

fn written_down(event: &AuditEvent) -> (String, bool) {
    match event {
        AuditEvent::DbWrite { service, table, op, rows } => {
            (format!("{op} {service}.{table}, {}", count_noun(*rows, "row")), false)
        }
        AuditEvent::FileWrite { path, op } => (format!("{op} {path}"), false),
        AuditEvent::Dns { name, kind, answer } => (lookup(name, kind, answer.as_deref()), false),
        AuditEvent::Egress { host, port, bytes_out, bytes_in, .. } => {
            (format!("{host}:{port}, {} out, {bytes_in} in", count_noun(*bytes_out, "byte")), false)
        }
        AuditEvent::EgressDenied { host, port, reason } => (format!("{host}:{port} refused: {reason}"), true),
        AuditEvent::Command { command, exit_code } => {
            let exit = exit_code.map_or_else(|| "not ended".to_owned(), |code| format!("exit {code}"));
            (format!("{command} ({exit})"), exit_code.is_some_and(|code| code != 0))
        }
        AuditEvent::HttpCall { service, host, method, path, status, .. } => {
            let place = service.as_ref().unwrap_or(host);
            let answer = status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
            let failed = service.is_some() && status.is_some_and(|status| status >= 400);
            (format!("{method} {place}{path} {answer}"), failed)
        }
        AuditEvent::ModelCall { model, status, .. } => (format!("{model} {status}"), !(200..400).contains(status)),
        AuditEvent::ToolCall { name, arguments, .. } => (format!("{name} {arguments}"), false),
    }
}
