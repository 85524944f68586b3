//! Vectors about workflows.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};
use yaml_tree::Node;

use super::Checked;
use super::compiling::check_diagnostics;
use super::expectation::{codes, same_codes, same_text};
use crate::compile::Source;
use crate::compile::workflow::{CompiledWorkflow, compile_alone};
use crate::json_path::JsonPath;
use crate::read::limits::micros;
use crate::workflow::{
    Interval, KillActor, KillScope, WorkflowCall, WorkflowDecision, WorkflowEvent, WorkflowState, overlaps, wf_apply,
    wf_decide, wf_precheck,
};

/// Compiles a vector's workflow, and runs its operations.
pub(super) fn check(vector: &Node, json: &Json) -> Checked {
    let Some(root) = vector.get("workflow").cloned() else { return Ok(()) };
    let source = Source { stem: "workflow".to_owned(), file: "workflow.yaml".to_owned(), root };
    let result = compile_alone(&source, resources(json));
    check_diagnostics(&result, json.get("wf_compile").unwrap_or(&Json::Null))?;
    let Some(ops) = json.get("wf_ops").and_then(Json::as_array) else { return Ok(()) };
    let (workflow, _) = result.map_err(|error| error.to_string())?;
    let mut run = Run { workflow, state: WorkflowState::default() };
    for (place, op) in ops.iter().enumerate() {
        run.operate(op).map_err(|failure| format!("op {} {op}: {failure}", place + 1))?;
    }
    Ok(())
}

/// The resources of the vector, and of its roles' sessions.
fn resources(json: &Json) -> BTreeMap<String, JsonPath> {
    let of_roles = json.get("role_sessions").and_then(Json::as_object).into_iter().flatten();
    let of_roles = of_roles.filter_map(|(_, session)| session.get("resources"));
    let maps = json.get("resources").into_iter().chain(of_roles).filter_map(Json::as_object);
    maps.flatten().filter_map(|(alias, resource)| Some((alias.clone(), path_of(resource)?))).collect()
}

fn path_of(resource: &Json) -> Option<JsonPath> {
    let written = resource.pointer("/extract_from/path").and_then(Json::as_str);
    JsonPath::parse(written.unwrap_or("$['']")).ok()
}

struct Run {
    workflow: CompiledWorkflow,
    state: WorkflowState,
}

impl Run {
    fn operate(&mut self, op: &Json) -> Checked {
        let name = op.get(0).and_then(Json::as_str).unwrap_or_default();
        let arguments = op.get(1).cloned().unwrap_or_else(|| json!([]));
        let wanted = op.get(2).unwrap_or(&Json::Null);
        let got = match name {
            "status" if wanted.is_string() => {
                let status = self.state.status(&text(&arguments, 0));
                status.map_or_else(|| "none".to_owned(), |status| status.name().to_owned())
            }
            "status" => return self.check_status(wanted),
            "dispatch" => self.dispatch(&call_of(&arguments)),
            "precheck" => match wf_precheck(&self.workflow, &self.state, &text(&arguments, 0)) {
                Ok(()) => "allow".to_owned(),
                Err(code) => code.to_string(),
            },
            other => self.apply(&event_of(other, &arguments, &self.state)?),
        };
        wanted.as_str().map_or(Ok(()), |wanted| same_text(name, &got, wanted))
    }

    fn apply(&mut self, event: &WorkflowEvent) -> String {
        let findings = wf_apply(&self.workflow, &mut self.state, event);
        findings.first().map_or_else(|| "allow".to_owned(), |finding| finding.code.to_string())
    }

    fn dispatch(&mut self, call: &WorkflowCall) -> String {
        match wf_decide(&self.workflow, &self.state, call) {
            WorkflowDecision::Allow => self.apply(&WorkflowEvent::CallDispatched(call.clone())),
            WorkflowDecision::Block(code) => code.to_string(),
            WorkflowDecision::Wait => "wait".to_owned(),
        }
    }

    fn check_status(&self, wanted: &Json) -> Checked {
        let got: Map<String, Json> =
            self.state.sessions().map(|(session, status)| (session.to_owned(), status.name().into())).collect();
        for (session, status) in wanted.as_object().into_iter().flatten() {
            if got.get(session) != Some(status) {
                return Err(format!("got {}, wanted {wanted}", Json::Object(got)));
            }
        }
        Ok(())
    }
}

fn call_of(arguments: &Json) -> WorkflowCall {
    WorkflowCall {
        session: text(arguments, 0),
        arguments: arguments.get(1).cloned().unwrap_or_else(|| json!({})),
        is_mutating: arguments.get(2).and_then(Json::as_bool).unwrap_or(true),
    }
}

fn text(arguments: &Json, place: usize) -> String {
    arguments.get(place).and_then(Json::as_str).unwrap_or_default().to_owned()
}

fn event_of(name: &str, arguments: &Json, state: &WorkflowState) -> Checked<WorkflowEvent> {
    let text = |place| text(arguments, place);
    Ok(match name {
        "root" => WorkflowEvent::RootOpened { session: text(0), role: text(1) },
        "offer" => WorkflowEvent::HandoffOffered {
            handoff: text(0),
            session: text(1),
            to: text(2),
            artifacts: codes(arguments.get(3).unwrap_or(&Json::Null)),
        },
        "claim" => WorkflowEvent::HandoffClaimed { handoff: text(0), session: text(1), role: text(2) },
        "close" => WorkflowEvent::SessionClosed { session: text(0) },
        "complete" => WorkflowEvent::CallCompleted(call_of(arguments)),
        "cancel" | "cancel_handoff" => WorkflowEvent::HandoffCancelled { handoff: text(0) },
        "step" => WorkflowEvent::StepTaken { session: text(0) },
        "cost" => {
            let dollars = arguments.as_array().into_iter().flatten().find_map(Json::as_f64);
            WorkflowEvent::CostAdded(micros(dollars.unwrap_or(0.0)))
        }
        "grace" | "grace_expired" | "expire" => WorkflowEvent::GraceExpired { session: text(0) },
        "kill" => kill_of(arguments, state),
        other => return Err(format!("there is no operation `{other}`")),
    })
}

fn kill_of(arguments: &Json, state: &WorkflowState) -> WorkflowEvent {
    let session = text(arguments, 1);
    let scope = match text(arguments, 0).as_str() {
        "workflow" => KillScope::Workflow,
        "subtree" => KillScope::Subtree(session.clone()),
        _ => KillScope::Session(session.clone()),
    };
    let by = text(arguments, 2);
    let named = if state.status(&by).is_some() { by.clone() } else { session };
    let actor = match by.as_str() {
        "" | "operator" => KillActor::Operator,
        "root" | "root_session" => KillActor::RootSession,
        _ if state.is_root(&named) => KillActor::RootSession,
        _ => KillActor::OtherSession,
    };
    WorkflowEvent::KillRequested { scope, actor }
}

/// Judges `[session, key, start, end, mutating]`.
pub(super) fn check_overlaps(written: &Json, vector: &Json) -> Checked {
    let list = written.get("intervals").unwrap_or(written).as_array().cloned().unwrap_or_default();
    let interval = |one: &Json| Interval {
        session: text(one, 0),
        instance: one.get(1).unwrap_or(&Json::Null).to_string(),
        start: one.get(2).and_then(Json::as_f64).unwrap_or(0.0),
        end: one.get(3).and_then(Json::as_f64).unwrap_or(0.0),
        is_mutating: one.get(4).and_then(Json::as_bool).unwrap_or(true),
    };
    let found = overlaps(&list.iter().map(interval).collect::<Vec<_>>());
    let wanted = ["findings", "expect", "want"].iter().find_map(|key| written.get(*key).or_else(|| vector.get(*key)));
    match wanted {
        Some(Json::Number(count)) => same_text("overlaps", &found.len().to_string(), &count.to_string()),
        Some(list) => same_codes("findings", &vec!["resource_overlap".to_owned(); found.len()], &codes(list)),
        None => Ok(()),
    }
}
