//! A scenario's trace: what its agent asked the model and which tools the answers called, as lines of JSON.
//!
//! The outer object is the trace event of Keystone's SDKs; `metadata` has the attribute names of OpenTelemetry's conventions
//! for generative AI. The same evidence gives the same lines, ids of spans included.

mod audit;
mod lookup;
mod metrics;
mod span;
mod timeline;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value as Json, json};

use crate::evidence::{Body, Dialect, Evidence, MergedCall, ModelCall};
pub use audit::audit_lines;
pub use lookup::lookup;
pub use metrics::metrics;
use span::Spans;
pub use timeline::{Kind, Moment, Source, TimedEvent, TimelineLine, agent_started, timeline, timeline_lines};

/// The trace of what was observed.
///
/// It has one event for each call of the model, each followed by one for each tool that its answer called, then one for each
/// call of a tool that the agent made by itself, and then what the agent said about itself, marked with
/// `"self_reported": true`.
#[must_use]
pub fn lines(evidence: &Evidence) -> Vec<Json> {
    let started = evidence.agent.started_at.unwrap_or_default();
    let spans = Spans::new(&evidence.world.sandbox, started);
    let mut lines = Vec::new();
    let mut tools: BTreeMap<Option<usize>, Vec<_>> = BTreeMap::new();
    for (number, call) in evidence.call_trace.sightings().into_iter().enumerate() {
        let answer = call.proposal.and_then(|proposal| proposal.model_call);
        tools.entry(answer).or_default().push((number, call));
    }
    for (index, call) in evidence.model.iter().flat_map(|record| record.calls.iter().enumerate()) {
        lines.push(call_line(&spans, started, index, call));
        let tools = tools.remove(&Some(index)).unwrap_or_default().into_iter();
        lines.extend(tools.map(|(number, tool)| tool_line(&spans, started, number, tool)));
    }
    let own = tools.remove(&None).unwrap_or_default().into_iter();
    lines.extend(own.map(|(number, tool)| tool_line(&spans, started, number, tool)));
    lines.extend(evidence.self_reported.iter().map(self_reported));
    lines
}

fn call_line(spans: &Spans, started: Timestamp, index: usize, call: &ModelCall) -> Json {
    let failed = call.problem.is_some() || !(200..400).contains(&call.status);
    json!({
        "ts": moment(started, call.at_ms),
        "event_type": "llm_call",
        "tool": format!("{}.create", provider(call.dialect)),
        "phase": "complete",
        "duration_ms": call.duration_ms,
        "status": if failed { "error" } else { "ok" },
        "error_type": error_type(call, failed),
        "span_id": spans.call(index),
        "parent_span_id": spans.root(),
        "root_span_id": spans.root(),
        "input": text(&call.request),
        "output": text(&call.response),
        "input_bytes": size(&call.request),
        "output_bytes": size(&call.response),
        "metadata": call_metadata(call),
        "cost": {
            "input_tokens": call.tokens.input,
            "output_tokens": call.tokens.output,
            "cache_read_tokens": call.tokens.cache_read,
            "model": call.response_model.as_deref().unwrap_or(&call.request_model),
            "estimated_usd": call.cost_usd,
        },
    })
}

fn error_type(call: &ModelCall, failed: bool) -> String {
    match call.status {
        _ if !failed => String::new(),
        200..400 => "broken_answer".to_owned(),
        status => format!("http_{status}"),
    }
}

/// Returns the metadata of a call under OpenTelemetry's names; ours begin with `touchstone`.
fn call_metadata(call: &ModelCall) -> Json {
    let mut metadata = Map::new();
    let mut add = |name: &str, value: Json| {
        if !value.is_null() {
            metadata.insert(name.to_owned(), value);
        }
    };
    let operation = match call.dialect {
        Dialect::Chat | Dialect::Responses | Dialect::Messages => json!("chat"),
        Dialect::Embeddings => json!("embeddings"),
        Dialect::Models | Dialect::Other => Json::Null,
    };
    add("gen_ai.operation.name", operation);
    add("gen_ai.provider.name", provider(call.dialect).into());
    add("gen_ai.request.model", Some(call.request_model.as_str()).filter(|model| !model.is_empty()).into());
    add("gen_ai.response.model", call.response_model.clone().into());
    add("gen_ai.response.id", call.response_id.clone().into());
    if !call.finish_reasons.is_empty() {
        add("gen_ai.response.finish_reasons", call.finish_reasons.clone().into());
    }
    add("gen_ai.usage.input_tokens", call.tokens.input.into());
    add("gen_ai.usage.output_tokens", call.tokens.output.into());
    add("gen_ai.usage.cache_read.input_tokens", call.tokens.cache_read.into());
    add("http.response.status_code", call.status.into());
    add("touchstone.cost_usd", call.cost_usd.into());
    add("touchstone.tokens_estimated", call.tokens.estimated.into());
    add("touchstone.stream", call.stream.into());
    add("touchstone.turn", call.turn.into());
    add("touchstone.problem", call.problem.clone().into());
    metadata.into()
}

/// A tool stands below the call of the model that proposed it; one that the agent called by itself, below the agent.
fn tool_line(spans: &Spans, started: Timestamp, number: usize, call: MergedCall<'_>) -> Json {
    let (failed, result) = (call.is_error(), call.result());
    let arguments = call.seen.arguments_text();
    let parent = call
        .proposal
        .and_then(|proposal| proposal.model_call)
        .map_or_else(|| spans.root().to_owned(), |model| spans.call(model));
    json!({
        "ts": moment(started, call.at_ms()),
        "event_type": "tool_use",
        "tool": call.seen.tool,
        "phase": "invoked",
        "duration_ms": call.took_ms(),
        "status": if failed { "error" } else { "ok" },
        "error_type": if failed { "tool_error" } else { "" },
        "span_id": spans.tool(number),
        "parent_span_id": parent,
        "root_span_id": spans.root(),
        "input": arguments,
        "output": result.unwrap_or_default(),
        "input_bytes": arguments.len(),
        "output_bytes": result.map_or(0, str::len),
        "metadata": tool_metadata(call),
    })
}

fn tool_metadata(call: MergedCall<'_>) -> Json {
    let mut metadata = json!({
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.seen.tool,
        "gen_ai.tool.call.id": call.id().unwrap_or_default(),
        "gen_ai.tool.call.arguments": call.seen.arguments_text(),
    });
    if let Some(result) = call.result() {
        metadata["gen_ai.tool.call.result"] = result.into();
    }
    if let Some(known) = call.at_gateway() {
        metadata["touchstone.executed"] = true.into();
        if let Some(refused) = known.refused {
            metadata["touchstone.refused"] = json!(refused);
        }
        if let Some(fault) = &known.fault {
            metadata["touchstone.fault"] = json!(fault);
        }
    }
    metadata
}

fn self_reported(event: &Json) -> Json {
    let mut event = match event {
        Json::Object(event) => event.clone(),
        other => Map::from_iter([("event".to_owned(), other.clone())]),
    };
    event.insert("self_reported".to_owned(), true.into());
    event.into()
}

/// Returns the provider whose API the call follows.
fn provider(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Messages => "anthropic",
        Dialect::Chat | Dialect::Responses | Dialect::Embeddings | Dialect::Models | Dialect::Other => "openai",
    }
}

fn moment(started: Timestamp, at_ms: u64) -> String {
    let since = SignedDuration::from_millis(i64::try_from(at_ms).unwrap_or(i64::MAX));
    started.checked_add(since).unwrap_or(started).to_string()
}

/// Maximum size of a request or an answer in a line.
const MOST_TEXT: usize = 64 * 1024;

fn text(body: &Body) -> String {
    match body {
        Body::Kept(blob) | Body::Cut { kept: blob, .. } => {
            let mut text = blob.text();
            text.truncate(text.floor_char_boundary(MOST_TEXT));
            text
        }
        Body::Dropped { .. } => String::new(),
    }
}

fn size(body: &Body) -> u64 {
    match body {
        Body::Kept(blob) => blob.0.len() as u64,
        Body::Cut { size, .. } | Body::Dropped { size } => *size,
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::lines;
    use crate::evidence::{
        AgentRecord, Body, CallTraceRecorder, Dialect, Evidence, ModelCall, ModelRecord, TokenCount, ToolProposal,
        ToolReport,
    };

    fn call(at_ms: u64, request: &str) -> ModelCall {
        ModelCall {
            at_ms,
            duration_ms: 20,
            dialect: Dialect::Chat,
            request_model: "m".to_owned(),
            response_model: Some("m-1".to_owned()),
            status: 200,
            request: Body::Kept(request.into()),
            response: Body::Kept("{}".into()),
            tokens: TokenCount { input: 5, output: 2, cache_read: 1, estimated: false },
            cost_usd: Some(0.5),
            finish_reasons: vec!["tool_calls".to_owned()],
            response_id: Some("r".to_owned()),
            turn: Some(0),
            ..ModelCall::default()
        }
    }

    fn evidence() -> Evidence {
        let mut recorder = CallTraceRecorder::default();
        let arguments = recorder.read_arguments("{}");
        let (id, tool) = ("call_0_0".to_owned(), "read".to_owned());
        let proposal = recorder.add_proposal(ToolProposal { at_ms: 120, model_call: 0, id, tool, arguments });
        recorder
            .add_report(proposal, ToolReport { at_ms: 200, model_call: 1, result: "ok".to_owned(), is_error: true });
        let refused = ModelCall { status: 401, problem: Some("no key".to_owned()), ..ModelCall::default() };
        let calls = vec![call(100, "{\"a\":1}"), call(200, "{}"), refused];
        let model = ModelRecord { calls, ..ModelRecord::default() };
        let call_trace = recorder.finish();
        let self_reported = vec![json!({"event_type": "tool_call"}), json!("odd")];
        let started = "2026-01-02T03:04:05Z".parse::<Timestamp>().expect("a time");
        let agent = AgentRecord { started_at: Some(started), ..AgentRecord::default() };
        Evidence { agent, model: Some(model), call_trace, self_reported, ..Evidence::default() }
    }

    fn traced() -> Vec<serde_json::Value> {
        lines(&evidence())
    }

    #[test]
    fn a_trace_has_calls_their_tools_and_what_the_agent_said() {
        insta::assert_json_snapshot!(traced());
    }

    #[test]
    fn spans_are_linked_and_the_same_each_time() {
        let lines = traced();
        assert_eq!(lines, traced());
        assert_eq!(lines[1]["parent_span_id"], lines[0]["span_id"]);
        assert_eq!(lines[0]["parent_span_id"], lines[0]["root_span_id"]);
        assert_ne!(lines[0]["span_id"], lines[2]["span_id"]);
        assert_eq!(lines[1]["duration_ms"], 80, "from the answer to the request with the result");
    }

    #[test]
    fn evidence_without_a_model_has_no_lines_of_it() {
        assert_eq!(lines(&Evidence::default()), [json!(null); 0]);
    }
}
