//! Names that must mean something: slots and tools.

use std::collections::BTreeMap;

use yaml_tree::nearest::did_you_mean;

use crate::code::Code;
use crate::read::rule::SessionRule;
use crate::read::session::Session;
use crate::read::tool::Tool;
use crate::reader::{Named, Reader};

/// Reports slots that are bound twice and slots that nothing binds; returns the binder of each.
pub(super) fn check_bindings(
    tools: &BTreeMap<String, Tool>,
    session: &Session,
    reader: &mut Reader,
) -> BTreeMap<String, String> {
    let mut binders: BTreeMap<String, String> = BTreeMap::new();
    for (tool, bind) in tools.values().flat_map(|tool| tool.binds.iter().map(move |bind| (tool, bind))) {
        if let Some(other) = binders.get(&bind.slot.name) {
            let message = format!("`{other}` already binds `{}`", bind.slot.name);
            reader.diagnostics.report(Code::DuplicateBinding, &bind.slot.place, message);
        } else {
            binders.insert(bind.slot.name.clone(), tool.name.clone());
        }
    }
    let references = tools.values().flat_map(|tool| &tool.argument_invariants).filter_map(|one| one.reference.as_ref());
    let references = references.map(|reference| (&reference.slot, &reference.place));
    let conditions = session.aggregates.iter().flat_map(|aggregate| &aggregate.when);
    let conditions = conditions.map(|when| (&when.binding.name, &when.binding.place));
    for (slot, place) in references.chain(conditions).filter(|(slot, _)| !binders.contains_key(*slot)) {
        let help = did_you_mean(slot, binders.keys().map(String::as_str));
        reader.diagnostics.report(Code::UnknownBinding, place, format!("nothing binds `{slot}`")).help(help);
    }
    binders
}

/// Reports prior tools without a contract as errors, and other tools without one as warnings.
pub(super) fn check_tools(tools: &BTreeMap<String, Tool>, session: &Session, reader: &mut Reader) {
    let mut report = |code, named: &Named| {
        if named.name != "*" && !tools.contains_key(&named.name) {
            let help = did_you_mean(&named.name, tools.keys().map(String::as_str));
            let message = format!("there is no contract for the tool `{}`", named.name);
            reader.diagnostics.report(code, &named.place, message).help(help).about(&named.name);
        }
    };
    for tool in tools.values() {
        let priors = tool.preconditions.iter().filter_map(|precondition| precondition.prior.as_ref());
        priors.for_each(|prior| report(Code::UnknownTool, &prior.tool));
        tool.forbids_after.iter().for_each(|named| report(Code::UnknownToolWarning, named));
    }
    let rules = session.policy.rules.iter().filter_map(|rule| rule.tools.as_ref()).flatten();
    let gates = session.policy.label_gates.iter().flat_map(|gate| &gate.deny_tools);
    let aggregates = session.aggregates.iter().filter_map(|aggregate| aggregate.tools.as_ref()).flatten();
    let stages = session.envelopes.iter().flat_map(|envelope| &envelope.stages).map(|stage| &stage.tool);
    let checkpoints = session.checkpoints.iter().map(|checkpoint| &checkpoint.tool);
    let limits = &session.limits.limited_tools;
    let of_rules = session.rules.iter().flat_map(SessionRule::tools);
    let named = of_rules.chain(rules).chain(gates).chain(aggregates).chain(stages).chain(checkpoints).chain(limits);
    named.for_each(|named| report(Code::UnknownToolWarning, named));
}
