//! Labels that no tool sets.

use super::Graph;
use crate::code::Code;
use crate::reader::Reader;

/// Reports label gates whose label comes from no tool.
pub(super) fn check(graph: &Graph<'_>, reader: &mut Reader) {
    for gate in &graph.set.session.policy.label_gates {
        let label = &gate.label;
        if !graph.set.tools.values().any(|tool| tool.labels_on_success.contains(&label.name)) {
            let message = format!("no tool sets the label `{}`; only the API can", label.name);
            reader.diagnostics.report(Code::LabelNeverSet, &label.place, message).about(&label.name);
        }
    }
}
