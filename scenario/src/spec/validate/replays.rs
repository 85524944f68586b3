//! Checks that every session of `replays` exists, has a name of its own, and is judged by something.

use std::collections::BTreeSet;

use super::rules::Rules;
use crate::checks::Check;
use crate::spec::code::Code;
use crate::spec::diagnostic::did_you_mean;
use crate::spec::sections::{ContractInvariant, ReplayEntry};
use crate::spec::types::ReplayName;

pub(super) fn check(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    let mut rules = rules.at("replays");
    let mut names = BTreeSet::new();
    for (index, entry) in spec.replays.iter().enumerate() {
        let mut rules = rules.index(index);
        rules.at("session").needs_file(entry.session.as_str());
        check_name(&mut rules, entry, &mut names);
        check_chaos(&mut rules, entry);
    }
    if !spec.replays.is_empty() && !is_judged(&rules) {
        let message = "nothing is judged in a replay: rules with `probes`, and comparisons with a clean run, are not";
        rules.report_key(Code::NoEffect, message, Some("add a rule or an invariant that every session must hold"));
    }
}

/// A session has a name of its own, which ids of scenarios can have in them.
fn check_name(rules: &mut Rules<'_>, entry: &ReplayEntry, names: &mut BTreeSet<String>) {
    let name = entry.name();
    let key = if entry.id.is_some() { "id" } else { "session" };
    if ReplayName::new(&name).is_none() {
        let message = format!("`{name}` is no name that ids of scenarios can have in them");
        rules.at(key).report(Code::InvalidValue, message, Some("give the replay an `id`"));
    } else if !names.insert(name.clone()) {
        let message = format!("there is a replay `{name}` already");
        rules.at(key).report(Code::DuplicateName, message, Some("give each an `id` of its own"));
    }
}

/// The chaos cell is one of the spec's.
fn check_chaos(rules: &mut Rules<'_>, entry: &ReplayEntry) {
    let Some(chaos) = &entry.chaos else { return };
    let known: Vec<_> = rules.spec.chaos_cells().map(|cell| cell.own.name.to_string()).collect();
    if !known.iter().any(|name| name == chaos.as_str()) {
        let help = did_you_mean(chaos.as_str(), known.iter().map(String::as_str));
        let message = format!("there is no chaos cell `{chaos}`");
        rules.at("chaos").report(Code::InvalidValue, message, help.as_deref());
    }
}

/// Returns true if something is judged in a replay.
fn is_judged(rules: &Rules<'_>) -> bool {
    let spec = rules.spec;
    let is_judged = |check: &Check| !check.compares_with_baseline();
    let is_judged_rule = |rule: &ContractInvariant| rule.rule.probes.is_none() && is_judged(&rule.check);
    match &spec.contract {
        Some(contract) => contract.invariants.iter().any(is_judged_rule),
        None => rules.holes.has_broken_invariant() || spec.invariants.values().any(|one| is_judged(&one.check)),
    }
}
