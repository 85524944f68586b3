//! `chaos` and `chaos_matrix`: every fault can fire, and is about something that the spec has.

use std::collections::BTreeSet;

use super::rules::Rules;
use super::{chaos_attacks, network_faults, service_faults, tool_targets, world_faults};
use crate::spec::code::Code;
use crate::spec::sections::{Chaos, ChaosCell, ToolMode, Trigger, WrongData};

pub(super) fn check(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    check_faults(&mut rules.at("chaos"), &spec.chaos);
    if let Some(cells) = &spec.chaos_matrix {
        check_cells(&mut rules.at("chaos_matrix"), cells);
    }
    if let Some(cells) = spec.contract.as_ref().and_then(|contract| contract.chaos_matrix.as_ref()) {
        check_cells(&mut rules.at("contract").at("chaos_matrix"), cells);
    }
    if spec.chaos_cells().next().is_some() && !spec.chaos.is_none() {
        let message = "`chaos` changes nothing beside `chaos_matrix`, whose cells replace it";
        rules.at("chaos").report_key(Code::NoEffect, message, Some("make it a cell of the matrix"));
    }
}

/// Each cell of a matrix has a name of its own, and faults that can fire.
fn check_cells(list: &mut Rules<'_>, cells: &[ChaosCell]) {
    let spec = list.spec;
    let mut names = BTreeSet::new();
    for (index, cell) in cells.iter().enumerate() {
        let mut rules = list.index(index);
        if !names.insert(cell.own.name.to_ascii_lowercase()) {
            let message = format!("there is a chaos cell `{}` already", cell.own.name);
            rules.at("name").report(Code::DuplicateName, message, Some("give each cell a name of its own"));
        }
        if !spec.chaos.is_none() && cell.shared == spec.chaos {
            let message = "this cell has the same faults as `chaos`, which a matrix replaces";
            rules.report(Code::ConflictingKeys, message, Some("remove `chaos`, or change the cell"));
        }
        check_faults(&mut rules, &cell.shared);
    }
}

fn check_faults(rules: &mut Rules<'_>, chaos: &Chaos) {
    check_profile(rules, chaos);
    if chaos.require_fired && !chaos.has_faults() {
        let message = "there is no fault that could fire, so no pass could be conclusive";
        rules.at("require_fired").report_key(Code::NeverFires, message, Some("add a fault, or remove `require_fired`"));
    }
    for (index, fault) in chaos.tool_faults.iter().enumerate() {
        let mut list = rules.at("tool_faults");
        let mut rules = list.index(index);
        tool_targets::check(&mut rules, fault);
        check_tool_mode(&mut rules, &fault.mode);
        check_trigger(&mut rules, &fault.trigger);
    }
    for (index, fault) in chaos.llm_faults.iter().enumerate() {
        let mut list = rules.at("llm_faults");
        let mut rules = list.index(index);
        check_model(&mut rules);
        check_trigger(&mut rules, &fault.trigger);
    }
    for (index, fault) in chaos.service_faults.iter().enumerate() {
        let mut list = rules.at("service_faults");
        let mut rules = list.index(index);
        service_faults::check(&mut rules, fault);
        check_trigger(&mut rules, &fault.trigger);
    }
    network_faults::check(rules, chaos);
    world_faults::check(rules, chaos);
    chaos_attacks::check(&mut rules.at("context_attacks"), &chaos.context_attacks);
}

/// A profile has something to break.
fn check_profile(rules: &mut Rules<'_>, chaos: &Chaos) {
    let spec = rules.spec;
    let Some(profile) = chaos.profile else { return };
    if !profile.breaks_something(spec) && !rules.holes.has_section("services") {
        let message = format!("there is nothing that `{profile}` could break: no service or model that it applies to");
        rules.at("profile").report(Code::NeverFires, message, None);
    }
}

fn check_tool_mode(rules: &mut Rules<'_>, mode: &ToolMode) {
    match mode {
        ToolMode::WrongData(fault) => check_wrong_data(rules, fault),
        ToolMode::DropFields(fault) if fault.paths.is_empty() && fault.share.is_none() => {
            rules.report(Code::MissingKey, "`drop_fields` needs `paths` or `share`", None);
        }
        ToolMode::DropFields(fault) if !fault.paths.is_empty() && fault.share.is_some() => {
            rules.one_of(&["paths", "share"]);
        }
        ToolMode::RugPull(fault) if fault.description.is_none() && fault.input_schema.is_none() => {
            rules.report(Code::MissingKey, "`rug_pull` needs `description` or `input_schema`", None);
        }
        ToolMode::Truncated(fault) if fault.bytes.is_some() && fault.fraction.is_some() => {
            rules.one_of(&["bytes", "fraction"]);
        }
        _ => {}
    }
}

fn check_wrong_data(rules: &mut Rules<'_>, fault: &WrongData) {
    let does_nothing = fault.set.is_empty() && !fault.stale && fault.swap.is_none() && fault.zero.is_none();
    if does_nothing {
        rules.report(Code::MissingKey, "`wrong_data` needs `set`, `stale`, `swap` or `zero`", None);
    }
    if fault.swap.as_ref().is_some_and(|places| places.len() != 2) {
        rules.at("swap").report(Code::InvalidValue, "`swap` takes two places", Some("write `swap: [total, paid]`"));
    }
}

/// A fault of the model needs one.
fn check_model(rules: &mut Rules<'_>) {
    if rules.spec.model.is_none() && !rules.holes.has_section("model") {
        let message = "there is no model whose calls could be faulted";
        rules.report(Code::MissingKey, message, Some("add `model`, or remove the fault"));
    }
}

/// A trigger that can never fire is a mistake.
pub(super) fn check_trigger(rules: &mut Rules<'_>, trigger: &Trigger) {
    if trigger.probability.is_some_and(|probability| probability.get() == 0.0) {
        let message = "with `probability: 0` this fault never fires";
        rules.at("probability").report(Code::NeverFires, message, Some("remove the fault, or give it a chance"));
    }
    if let Some(calls) = &trigger.on_calls
        && calls.iter().all(|call| call.get() <= trigger.after_calls.get())
    {
        let message =
            format!("every call of `on_calls` comes before `after_calls: {}` is over", trigger.after_calls.get());
        rules.at("on_calls").report(Code::NeverFires, message, None);
    }
    if let Some(window) = &trigger.between
        && !matches!(window.as_slice(), [from, to] if from < to)
    {
        let message = "`between` takes two times, the earlier one first";
        rules.at("between").report(Code::InvalidValue, message, Some("write `between: [5s, 20s]`"));
    }
    if let Some(burst) = &trigger.burst
        && burst.length.get() > burst.every.get()
    {
        let message = "a burst cannot be longer than the calls in which it repeats";
        rules.at("burst").report(Code::InvalidValue, message, None);
    }
}
