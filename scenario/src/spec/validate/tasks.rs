//! `task`: the agent is asked something, in one way.

use super::rules::Rules;
use crate::spec::code::Code;

pub(super) fn check(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    let mut rules = rules.at("task");
    match (&spec.task.prompt, &spec.task.prompts) {
        (None, None) => {
            let help = "write what the agent is asked to do, or several such texts under `prompts`";
            rules.report(Code::MissingKey, "the key `prompt` is missing", Some(help));
        }
        (Some(_), Some(_)) => {
            let message = "`prompt` and `prompts` exclude each other";
            rules.at("prompts").report_key(Code::ConflictingKeys, message, Some("keep one of them"));
        }
        (Some(_), None) | (None, Some(_)) => {}
    }
}
