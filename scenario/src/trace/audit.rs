//! The audit as lines of JSON, for scripts: `{"ts", "sandbox_id", "type", "details"}`.

use serde_json::{Value as Json, json};

use super::moment;
use crate::evidence::{AuditEvent, Audited, Evidence, MergedCall, ModelCall};

/// One line for each doing of the agent.
///
/// That is what is in the audit, and the calls of its model with the tools that they called. `ts` is missing where only the
/// outcome was seen. Lines with a time stand in its order, the others follow.
#[must_use]
pub fn audit_lines(evidence: &Evidence) -> Vec<Json> {
    let calls = evidence.model.iter().flat_map(|model| &model.calls).map(of_call);
    let tools = evidence.call_trace.sightings().into_iter().map(of_tool);
    let mut events: Vec<_> = evidence.audit.iter().flatten().cloned().chain(calls).chain(tools).collect();
    events.sort_by_key(|audited| audited.at_ms.unwrap_or(u64::MAX));
    events.iter().map(|audited| line(evidence, audited)).collect()
}

fn line(evidence: &Evidence, audited: &Audited) -> Json {
    let mut line = json!({ "sandbox_id": evidence.world.sandbox });
    if let (Some(started), Some(at_ms)) = (evidence.agent.started_at, audited.at_ms) {
        line = json!({ "ts": moment(started, at_ms), "sandbox_id": evidence.world.sandbox });
    }
    if let (Json::Object(line), Ok(Json::Object(event))) = (&mut line, serde_json::to_value(&audited.event)) {
        line.extend(event);
    }
    line
}

fn of_call(call: &ModelCall) -> Audited {
    let dialect = serde_json::to_value(call.dialect).ok();
    let event = AuditEvent::ModelCall {
        model: call.request_model.clone(),
        dialect: dialect.as_ref().and_then(Json::as_str).unwrap_or_default().to_owned(),
        status: call.status,
        input_tokens: call.tokens.input,
        output_tokens: call.tokens.output,
    };
    Audited { at_ms: Some(call.at_ms), event }
}

fn of_tool(call: MergedCall<'_>) -> Audited {
    let event = AuditEvent::ToolCall {
        id: call.id().unwrap_or_default().to_owned(),
        name: call.seen.tool.clone(),
        arguments: call.seen.arguments_text().into_owned(),
        result: call.result().map(ToOwned::to_owned),
    };
    Audited { at_ms: Some(call.at_ms()), event }
}

#[cfg(test)]
mod tests {
    use super::audit_lines;
    use crate::evidence::{
        AgentRecord, AuditEvent, Audited, CallTraceRecorder, Evidence, ModelCall, ModelRecord, ToolProposal,
        ToolReport, World,
    };

    #[test]
    fn lines_stand_in_the_order_of_their_times_and_what_has_none_follows() {
        let written = AuditEvent::FileWrite { path: "a.txt".to_owned(), op: "added".to_owned() };
        let asked = AuditEvent::Dns { name: "mail".to_owned(), kind: "A".to_owned(), answer: None };
        let mut recorder = CallTraceRecorder::default();
        let arguments = recorder.read_arguments("{}");
        let (id, tool) = ("call_1".to_owned(), "read".to_owned());
        let proposal = recorder.add_proposal(ToolProposal { at_ms: 25, model_call: 0, id, tool, arguments });
        recorder
            .add_report(proposal, ToolReport { at_ms: 30, model_call: 1, result: "ok".to_owned(), is_error: false });
        let call =
            ModelCall { at_ms: 20, duration_ms: 5, request_model: "m".to_owned(), status: 200, ..ModelCall::default() };
        let evidence = Evidence {
            world: World { sandbox: "ts-1".to_owned(), ..World::default() },
            agent: AgentRecord { started_at: Some(jiff::Timestamp::UNIX_EPOCH), ..AgentRecord::default() },
            audit: Some(vec![written.into(), Audited { at_ms: Some(40), event: asked }]),
            model: Some(ModelRecord { calls: vec![call], ..ModelRecord::default() }),
            call_trace: recorder.finish(),
            ..Evidence::default()
        };
        let lines: Vec<_> = audit_lines(&evidence).iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        {"ts":"1970-01-01T00:00:00.02Z","sandbox_id":"ts-1","type":"model_call","details":{"model":"m","dialect":"chat","status":200,"input_tokens":0,"output_tokens":0}}
        {"ts":"1970-01-01T00:00:00.025Z","sandbox_id":"ts-1","type":"tool_call","details":{"id":"call_1","name":"read","arguments":"{}","result":"ok"}}
        {"ts":"1970-01-01T00:00:00.04Z","sandbox_id":"ts-1","type":"dns","details":{"name":"mail","kind":"A","leads_to":null}}
        {"sandbox_id":"ts-1","type":"file_write","details":{"path":"a.txt","op":"added"}}
        "#);
    }
}
