//! Calls of a workflow that are decided on and have not gone out: in flight, and owning nothing.

use serde_json::json;
use tool_contracts::{
    Code, CompileOptions, CompiledWorkflow, RawFile, RawSet, WorkflowCall, WorkflowDecision, WorkflowEvent,
    WorkflowState, compile_workflow, wf_apply, wf_budgets, wf_decide, wf_precheck,
};

fn workflow(more: &str) -> (CompiledWorkflow, WorkflowState) {
    let file = |name: &str, text: String| RawFile { name: name.to_owned(), text };
    let roles = "schema_version: \"1.0\"\nworkflow: w\nroles: [{name: a, session_contract: a/session.yaml}, \
        {name: b, session_contract: b/session.yaml}]\nhandoffs: [{from: a, to: b}]\n";
    let session = "schema_version: \"1.0\"\nagent: x\nresources: {order: {extract_from: {path: $.order}}}\n";
    let files = vec![
        file("workflow.yaml", format!("{roles}{more}")),
        file("a/session.yaml", session.to_owned()),
        file("b/session.yaml", session.to_owned()),
        file("b/look.yaml", "tool: look\nside_effect: read\ntimeouts: {total_ms: 500}\n".to_owned()),
    ];
    let (workflow, _) = compile_workflow(&RawSet { files }, &CompileOptions::default()).expect("a workflow");
    let mut state = WorkflowState::default();
    for event in [
        WorkflowEvent::RootOpened { session: "one".to_owned(), role: "a".to_owned() },
        WorkflowEvent::HandoffOffered {
            handoff: "h".to_owned(),
            session: "one".to_owned(),
            to: "b".to_owned(),
            artifacts: Vec::new(),
        },
        WorkflowEvent::HandoffClaimed { handoff: "h".to_owned(), session: "two".to_owned(), role: "b".to_owned() },
    ] {
        assert_eq!(wf_apply(&workflow, &mut state, &event), []);
    }
    (workflow, state)
}

fn call(session: &str) -> WorkflowCall {
    WorkflowCall { session: session.to_owned(), arguments: json!({"order": 7}), is_mutating: true }
}

#[test]
fn a_held_call_is_in_flight_and_owns_nothing() {
    let (workflow, mut state) = workflow("shared_resources: [{alias: order, mode: single_writer}]\n");
    wf_apply(&workflow, &mut state, &WorkflowEvent::CallHeld(call("one")));
    assert_eq!(wf_decide(&workflow, &state, &call("two")), WorkflowDecision::Allow);
    wf_apply(&workflow, &mut state, &WorkflowEvent::CallDispatched(call("two")));
    assert_eq!(wf_decide(&workflow, &state, &call("one")), WorkflowDecision::Block(Code::ResourceOwned));
}

#[test]
fn a_held_call_keeps_an_exclusive_resource_until_it_is_over() {
    let (workflow, mut state) = workflow("shared_resources: [{alias: order, mode: exclusive_pending}]\n");
    wf_apply(&workflow, &mut state, &WorkflowEvent::CallHeld(call("one")));
    assert_eq!(wf_decide(&workflow, &state, &call("two")), WorkflowDecision::Block(Code::ResourcePending));
    wf_apply(&workflow, &mut state, &WorkflowEvent::CallCompleted(call("one")));
    assert_eq!(wf_decide(&workflow, &state, &call("two")), WorkflowDecision::Allow);
}

#[test]
fn only_serial_resources_are_waited_for() {
    let arguments = json!({"order": 7});
    let (serial, _) = workflow("shared_resources: [{alias: order, mode: serial_only}]\n");
    assert_eq!(serial.serial_instances(&arguments), ["order=7"]);
    assert_eq!(serial.serial_instances(&json!({})), Vec::<String>::new());
    let (exclusive, _) = workflow("shared_resources: [{alias: order, mode: exclusive_pending}]\n");
    assert_eq!(exclusive.serial_instances(&arguments), Vec::<String>::new());
}

#[test]
fn budgets_hold_for_a_session_that_was_asked_to_end() {
    let (workflow, mut state) = workflow("workflow_limits: {max_total_cost: 1.0}\n");
    wf_apply(&workflow, &mut state, &WorkflowEvent::SessionClosed { session: "one".to_owned() });
    assert_eq!(wf_precheck(&workflow, &state, "two"), Err(Code::SessionCancelRequested));
    assert_eq!(wf_budgets(&workflow, &state), Ok(()));
    wf_apply(&workflow, &mut state, &WorkflowEvent::CostAdded(1_000_000));
    assert_eq!(wf_budgets(&workflow, &state), Err(Code::WorkflowLimitExceeded));
}

#[test]
fn descendants_are_within_their_ancestors() {
    let (workflow, state) = workflow("");
    assert!(state.is_within("two", "one") && state.is_within("one", "one"));
    assert!(!state.is_within("one", "two") && !state.is_within("nobody", "one"));
    assert_eq!((state.offered_by("h"), state.is_open("h"), state.offered_by("x")), (Some("one"), false, None));
    let set = &workflow.roles["b"];
    assert_eq!((set.is_mutating("look"), set.is_mutating("other")), (false, true));
    assert_eq!((set.total_timeout("look").as_millis(), set.total_timeout("other").as_millis()), (500, 30_000));
}
