//! Turns the trace of an agent into rows of the store.

use jiff::Timestamp;
use scenario::evidence::Evidence;
use scenario::trace;
use serde_json::Value as Json;
use store::NewTrace;

/// Returns the trace of an agent: its acts and its reports about itself, in its order. The store adds the scenario and
/// the run.
pub(crate) fn traces(evidence: &Evidence) -> Vec<NewTrace> {
    let agent = evidence.world.snapshot.as_ref().map(|snapshot| snapshot.name.clone()).unwrap_or_default();
    let started = evidence.agent.started_at.unwrap_or_default();
    trace::lines(evidence).into_iter().map(|line| one(line, &evidence.world.sandbox, &agent, started)).collect()
}

fn one(line: Json, sandbox: &str, agent: &str, started: Timestamp) -> NewTrace {
    let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
    NewTrace {
        owner: String::new(),
        run: None,
        scenario: None,
        sandbox: Some(sandbox.to_owned()).filter(|sandbox| !sandbox.is_empty()),
        agent: agent.to_owned(),
        self_reported: line["self_reported"] == true,
        // What an agent says about the time can be anything.
        at: line["ts"].as_str().and_then(|ts| ts.parse().ok()).unwrap_or(started),
        event_type: text("event_type"),
        tool: text("tool"),
        phase: text("phase"),
        status: text("status"),
        span_id: text("span_id"),
        parent_span_id: text("parent_span_id"),
        root_span_id: text("root_span_id"),
        duration_ms: line["duration_ms"].as_u64(),
        body: line,
    }
}

#[cfg(test)]
mod tests {
    use scenario::evidence::{Evidence, ModelCall, ModelRecord, SnapshotRecord, World};
    use serde_json::json;

    use super::traces;

    #[test]
    fn what_was_seen_and_what_was_said_become_rows() {
        let snapshot = SnapshotRecord { name: "greeter".to_owned(), ..SnapshotRecord::default() };
        let call = ModelCall { at_ms: 20, duration_ms: 5, status: 200, ..ModelCall::default() };
        let evidence = Evidence {
            world: World { sandbox: "ts-1".to_owned(), snapshot: Some(snapshot), ..World::default() },
            model: Some(ModelRecord { calls: vec![call], ..ModelRecord::default() }),
            self_reported: vec![json!({ "tool": "read", "event_type": "tool_call", "phase": "end", "ts": "nonsense" })],
            ..Evidence::default()
        };
        let rows = traces(&evidence);
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (row.event_type.as_str(), row.tool.as_str(), row.phase.as_str(), row.self_reported))
            .collect();
        assert_eq!(shown, [("llm_call", "openai.create", "complete", false), ("tool_call", "read", "end", true)]);
        assert!(rows.iter().all(|row| row.agent == "greeter" && row.sandbox.as_deref() == Some("ts-1")));
        assert_eq!((rows[0].duration_ms, rows[0].at.as_millisecond()), (Some(5), 20));
    }
}
