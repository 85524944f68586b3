//! `task`: the agent is asked something, in one way; and each cheat has a name of its own.

use std::collections::BTreeSet;

use super::rules::Rules;
use crate::plan::BuiltInCheat;
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
    check_cheats(&mut rules);
}

fn check_cheats(rules: &mut Rules<'_>) {
    let mut names: BTreeSet<&str> = BuiltInCheat::ALL.map(BuiltInCheat::word).into();
    for (index, cheat) in rules.spec.task.cheats.iter().enumerate() {
        if names.insert(&cheat.name) {
            continue;
        }
        let message = match BuiltInCheat::named(&cheat.name) {
            Some(_) => format!("every spec has a cheat `{}`", cheat.name),
            None => format!("there are two cheats `{}`", cheat.name),
        };
        let mut rules = rules.at("cheats");
        rules.index(index).at("name").report(Code::DuplicateName, message, Some("give each a name of its own"));
    }
}
