//! Evidence that was written before there was a call trace, with tools in the record of the model, reads, judges and renders
//! as it did.

use scenario::evidence::{Evidence, ToolCallSource};
use scenario::plan::{PlanOptions, expand};
use scenario::result::{RowStatus, ScenarioResult};
use scenario::trace::{audit_lines, lines, timeline_lines};
use serde_json::{Value as Json, json};

use crate::corpus::examples;

/// A run of the example `support-agent-scripted-model`, without the bodies of its model calls and with two more tools.
const STORED: &str = include_str!("data/evidence-without-call-trace.json");

fn stored() -> (Evidence, Json) {
    (serde_json::from_str(STORED).expect("evidence"), serde_json::from_str(STORED).expect("JSON"))
}

/// The tools as they stood in the evidence, with the times that were computed from the model calls.
fn tools(stored: &Json) -> Vec<(&Json, u64, u64)> {
    let call =
        |index: &Json| &stored["model"]["calls"][usize::try_from(index.as_u64().expect("an index")).expect("small")];
    let at = |call: &Json| call["at_ms"].as_u64().expect("a time");
    let tools = stored["model"]["tools"].as_array().expect("tools").iter();
    tools
        .map(|tool| {
            let proposed = at(call(&tool["call"])) + call(&tool["call"])["duration_ms"].as_u64().expect("a time");
            let took = tool["result"].get("call").map_or(0, |index| at(call(index)) - proposed);
            (tool, proposed, took)
        })
        .collect()
}

#[test]
fn tools_of_the_model_become_the_call_trace() {
    let (evidence, stored) = stored();
    assert_eq!(json!(evidence.tool_counts()), json!([stored["tool_calls"], stored["tool_errors"]]));
    let trace = &evidence.call_trace.0;
    let order: Vec<_> = trace.iter().map(|call| (call.source, call.model_call.expect("a model call"))).collect();
    let (proposed, reported) = (ToolCallSource::Proposed, ToolCallSource::Reported);
    let expected = [
        (proposed, 0),
        (proposed, 1),
        (reported, 2),
        (proposed, 2),
        (proposed, 3),
        (reported, 4),
        (proposed, 4),
        (proposed, 5),
        (reported, 6),
        (proposed, 6),
        (reported, 7),
        (proposed, 7),
    ];
    assert_eq!(order, expected);
    assert!(trace.iter().enumerate().all(|(place, call)| call.seq == place as u64));
    assert_eq!(trace[2].proposal, Some(1));
    assert_eq!(trace[6].arguments, json!({"order_id": "1001", "amount": 25}));
    assert_eq!((&trace[11].arguments, &trace[11].id), (&json!("{\"cut"), &None));
}

#[test]
fn they_render_as_before() {
    let (evidence, stored) = stored();
    let told: Vec<_> = lines(&evidence).into_iter().filter(|line| line["event_type"] == "tool_use").collect();
    let audited: Vec<_> = audit_lines(&evidence).into_iter().filter(|line| line["type"] == "tool_call").collect();
    let moments: Vec<_> =
        timeline_lines(Some(&evidence), &[]).into_iter().filter(|moment| moment.kind.word() == "tool").collect();
    let tools = tools(&stored);
    assert_eq!((told.len(), moments.len(), audited.len()), (tools.len(), tools.len(), tools.len() + 1));
    for (place, (tool, proposed, took)) in tools.into_iter().enumerate() {
        let line = &told[place];
        let metadata = &line["metadata"];
        assert_eq!((&line["tool"], &line["input"]), (&tool["name"], &tool["arguments"]));
        assert_eq!(metadata["gen_ai.tool.call.id"], tool["id"]);
        assert_eq!(metadata.get("gen_ai.tool.call.result"), tool["result"].get("content"));
        assert_eq!(
            (&line["status"] == "error", line["duration_ms"].as_u64()),
            (tool["result"]["is_error"] == true, Some(took))
        );
        let moment = &moments[place];
        let text = format!("{} {}", tool["name"].as_str().expect("a name"), tool["arguments"].as_str().expect("text"));
        assert_eq!((moment.at_ms, moment.duration_ms, &moment.what), (proposed, took, &text));
        let details = json!({"id": tool["id"], "name": tool["name"], "arguments": tool["arguments"], "result": tool["result"]["content"]});
        assert!(audited.iter().any(|line| line["details"] == details), "{details}");
    }
}

#[test]
fn they_are_judged_as_before_and_kept_as_a_trace() {
    let (evidence, _) = stored();
    let case = examples().into_iter().find(|case| case.name == "support-agent-scripted-model").expect("the example");
    let spec = case.load().spec.expect("a spec");
    let scenario = expand(&spec, PlanOptions::default()).expect("a plan").scenarios.remove(0);
    let result = ScenarioResult::judge(&spec, &scenario, &evidence);
    assert_eq!((result.status, result.tool_calls, result.tool_errors), (RowStatus::Pass, 10, 1));
    let kept = serde_json::to_value(&evidence).expect("JSON");
    assert_eq!((kept["model"].get("tools"), kept.get("tool_calls")), (None, None));
    assert_eq!(serde_json::from_value::<Evidence>(kept).expect("evidence"), evidence);
}
