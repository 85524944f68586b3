//! What an agent did, in the order of time, as far as it was recorded.

use serde::Serialize;

use super::lookup;
use crate::counted;
use crate::evidence::{AuditEvent, Evidence, ModelCall, ModelRecord, ToolUse};
use crate::untrusted;

/// How long a text of somebody else may be.
const MOST: usize = 200;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moment {
    /// When, since the beginning of the timeline.
    pub at_ms: u64,
    /// How long it took; 0 when nobody measured it.
    pub duration_ms: u64,
    /// What it was.
    pub kind: Kind,
    /// All about it, on one line.
    pub what: String,
    /// Whether it went wrong.
    pub failed: bool,
}

/// What happens in a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A phase of its life.
    Phase,
    /// A service became ready.
    Service,
    /// The model was called.
    Model,
    /// A tool was used.
    Tool,
    /// A request to a mock.
    Http,
    /// Something was written to a database.
    Sql,
    /// A command was run.
    Command,
    /// A name was looked up, or a connection to the outside was made or refused.
    Network,
    /// A file was written.
    File,
    /// An invariant was looked at.
    Probe,
    /// Anything else.
    Note,
}

impl Kind {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Phase => "phase",
            Self::Service => "service",
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Http => "http",
            Self::Sql => "sql",
            Self::Command => "command",
            Self::Network => "network",
            Self::File => "file",
            Self::Probe => "probe",
            Self::Note => "note",
        }
    }
}

/// What the agent did since it started, in the order of time.
#[must_use]
pub fn timeline(evidence: &Evidence) -> Vec<Moment> {
    let mut moments = Vec::new();
    if let Some(record) = &evidence.model {
        moments.extend(record.calls.iter().map(call));
        moments.extend(record.tools.iter().map(|used| tool(record, used)));
    }
    for (service, journal) in &evidence.journals {
        moments.extend(journal.exchanges.iter().map(|exchange| {
            let what = format!("{} {service}{} {}", exchange.method, exchange.path, exchange.status);
            moment(exchange.at_ms, 0, Kind::Http, &what, exchange.status >= 400)
        }));
    }
    let audited = evidence.audit.iter().flatten();
    moments.extend(audited.filter_map(|audited| written_down(audited.at_ms?, &audited.event)));
    moments.sort_by_key(|moment| moment.at_ms);
    moments
}

fn call(call: &ModelCall) -> Moment {
    let model = call.response_model.as_deref().unwrap_or(&call.request_model);
    let what = format!("{model} {}, {} + {} tokens", call.status, call.tokens.input, call.tokens.output);
    let failed = call.problem.is_some() || !(200..400).contains(&call.status);
    moment(call.at_ms, call.duration_ms, Kind::Model, &what, failed)
}

/// A tool stands between the end of the call that proposed it and the call that brought its result.
fn tool(record: &ModelRecord, used: &ToolUse) -> Moment {
    let proposed = record.calls.get(used.call).map_or(0, |call| call.at_ms.saturating_add(call.duration_ms));
    let returned = used.result.as_ref().and_then(|result| record.calls.get(result.call)).map(|call| call.at_ms);
    let failed = used.result.as_ref().is_some_and(|result| result.is_error);
    let took = returned.map_or(0, |returned| returned.saturating_sub(proposed));
    moment(proposed, took, Kind::Tool, &format!("{} {}", used.name, used.arguments), failed)
}

/// What only the audit has: calls of mocks and models are told already.
fn written_down(at_ms: u64, event: &AuditEvent) -> Option<Moment> {
    let (kind, what, failed) = match event {
        AuditEvent::DbWrite { service, table, op, rows } => {
            (Kind::Sql, format!("{op} {service}.{table}, {}", counted(*rows, "row")), false)
        }
        AuditEvent::FileWrite { path, op } => (Kind::File, format!("{op} {path}"), false),
        AuditEvent::Dns { name, kind, answer } => (Kind::Network, lookup(name, kind, answer.as_deref()), false),
        AuditEvent::Egress { host, port, bytes_out, bytes_in, .. } => {
            (Kind::Network, format!("{host}:{port}, {} out, {bytes_in} in", counted(*bytes_out, "byte")), false)
        }
        AuditEvent::EgressDenied { host, port, reason } => {
            (Kind::Network, format!("{host}:{port} refused: {reason}"), true)
        }
        AuditEvent::Command { command, exit_code } => {
            let exit = exit_code.map_or_else(|| "not ended".to_owned(), |code| format!("exit {code}"));
            (Kind::Command, format!("{command} ({exit})"), exit_code.is_some_and(|code| code != 0))
        }
        AuditEvent::HttpCall { service: None, host, method, path, status, .. } => {
            let status = status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
            (Kind::Http, format!("{method} {host}{path} {status}"), false)
        }
        AuditEvent::HttpCall { .. } | AuditEvent::ModelCall { .. } | AuditEvent::ToolCall { .. } => return None,
    };
    Some(moment(at_ms, 0, kind, &what, failed))
}

fn moment(at_ms: u64, duration_ms: u64, kind: Kind, what: &str, failed: bool) -> Moment {
    Moment { at_ms, duration_ms, kind, what: untrusted::line(what, MOST), failed }
}

#[cfg(test)]
mod tests {
    use super::{Kind, timeline};
    use crate::evidence::{
        AuditEvent, Audited, Evidence, Exchange, Journal, ModelCall, ModelRecord, ToolResult, ToolUse,
    };

    #[test]
    fn everything_that_has_a_time_stands_in_its_order() {
        let call = |at_ms, status| ModelCall { at_ms, duration_ms: 100, status, ..ModelCall::default() };
        let result = Some(ToolResult { call: 1, is_error: true, ..ToolResult::default() });
        let tool =
            ToolUse { name: "refund".to_owned(), arguments: "\u{1b}[2J".to_owned(), result, ..ToolUse::default() };
        let model =
            ModelRecord { calls: vec![call(10, 200), call(400, 500)], tools: vec![tool], ..ModelRecord::default() };
        let exchange = Exchange {
            method: "POST".to_owned(),
            path: "/refunds".to_owned(),
            query: Vec::new(),
            headers: Vec::new(),
            body: crate::evidence::Body::default(),
            status: 404,
            at_ms: 250,
        };
        let journals = [("api".to_owned(), Journal { exchanges: vec![exchange], overflow: None })].into();
        let write = AuditEvent::DbWrite { service: "db".into(), table: "t".into(), op: "INSERT".into(), rows: 2 };
        let asked = AuditEvent::Dns { name: "db".into(), kind: "AAAA".into(), answer: Some("127.10.0.1".into()) };
        let audit = [(Some(300), write.clone()), (None, write), (Some(290), asked)];
        let audit = Some(audit.map(|(at_ms, event)| Audited { at_ms, event }).into());
        let told = timeline(&Evidence { model: Some(model), journals, audit, ..Evidence::default() });
        let kinds: Vec<_> =
            told.iter().map(|moment| (moment.at_ms, moment.duration_ms, moment.kind, moment.failed)).collect();
        let expected = [
            (10, 100, Kind::Model, false),
            (110, 290, Kind::Tool, true),
            (250, 0, Kind::Http, true),
            (290, 0, Kind::Network, false),
            (300, 0, Kind::Sql, false),
            (400, 100, Kind::Model, true),
        ];
        assert_eq!(kinds, expected);
        assert_eq!((told[1].what.as_str(), told[2].what.as_str()), ("refund ␛[2J", "POST api/refunds 404"));
        assert_eq!(told[3].what, "asked for AAAA of db: it has none");
    }
}
