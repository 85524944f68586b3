//! Settings of `tools`: each does something.

use crate::spec::code::Code;
use crate::spec::validate::rules::Rules;

pub(super) fn check(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    let tools = &spec.tools;
    if tools.record.is_some() && tools.replay.is_some() {
        let message = "`record` and `replay` exclude each other";
        rules.at("replay").report_key(Code::ConflictingKeys, message, Some("keep one of them"));
    }
    if let Some(file) = &tools.replay {
        rules.at("replay").needs_file(file.as_str());
    } else if rules.has("matching") {
        let message = "`matching` changes nothing without `replay`";
        rules.at("matching").report_key(Code::NoEffect, message, None);
    }
    if !tools.is_empty() || rules.holes.has_section("tools") {
        return;
    }
    for key in ["record", "replay", "mcp_json", "limits"] {
        if rules.has(key) {
            let message = format!("`{key}` changes nothing: there are no tools");
            rules.at(key).report_key(Code::NoEffect, message, Some("add tools to `list`"));
        }
    }
}
