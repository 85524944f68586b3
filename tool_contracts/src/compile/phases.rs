//! Phases that tools name.

use std::collections::BTreeMap;

use crate::code::Code;
use crate::read::session::Session;
use crate::read::tool::{Tool, ToolTransitions};
use crate::reader::Reader;

/// Reports tools whose phases or transitions are not declared.
pub(super) fn check(tools: &BTreeMap<String, Tool>, session: &Session, reader: &mut Reader) {
    for tool in tools.values() {
        if let Some(transitions) = &tool.transitions {
            check_tool(tool, transitions, session, reader);
        }
    }
}

fn check_tool(tool: &Tool, transitions: &ToolTransitions, session: &Session, reader: &mut Reader) {
    let phases = &session.phases;
    if phases.is_broken {
        return;
    }
    if !phases.is_declared() {
        let message = format!("`{}` has transitions, and the session declares no phases", tool.name);
        reader.diagnostics.report(Code::TransitionsWithoutPhases, &transitions.place, message).about(&tool.name);
        return;
    }
    let written = transitions.valid_in_phases.iter().flatten();
    let valid: Vec<_> = written.filter(|phase| phases.check_name(phase, reader)).collect();
    let Some(target) = &transitions.advances_to else { return };
    if !phases.check_name(target, reader) {
        return;
    }
    let is_declared = |from: &str| from == target.name || phases.leads(from, &target.name);
    if let Some(from) = valid.iter().find(|from| !is_declared(&from.name)) {
        let message = format!("there is no transition from `{}` to `{}`", from.name, target.name);
        reader.diagnostics.report(Code::UndeclaredTransition, &target.place, message).about(&tool.name);
    }
}
