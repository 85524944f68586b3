//! Envelopes whose references cannot be captured in time.

use super::Graph;
use crate::code::Code;
use crate::read::envelope::{Envelope, Role};
use crate::reader::Reader;

/// Reports reference stages whose tool is dead, or can only run after the constrained one.
pub(super) fn check(graph: &Graph<'_>, reader: &mut Reader) {
    for envelope in &graph.set.session.envelopes {
        for (_, stage) in envelope.references() {
            let tool = &stage.tool;
            let problem = if graph.set.tools.contains_key(&tool.name) && !graph.live.contains(tool.name.as_str()) {
                "can never be called"
            } else if is_late(graph, envelope, &tool.name) {
                "can only be called after the constrained tool"
            } else {
                continue;
            };
            let message = format!("`{}`, a reference of `{}`, {problem}", tool.name, envelope.name.name);
            reader.diagnostics.report(Code::EnvelopeUnreferenced, &tool.place, message).about(&envelope.name.name);
        }
    }
}

fn is_late(graph: &Graph<'_>, envelope: &Envelope, reference: &str) -> bool {
    let mut constrained = envelope.stages.iter().filter(|stage| stage.role == Role::Constrained).peekable();
    constrained.peek().is_some() && constrained.all(|stage| !graph.can_precede(reference, &stage.tool.name))
}
