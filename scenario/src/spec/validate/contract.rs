//! `contract`: every rule has a name of its own, a check that can be judged, and a chaos cell in which it is.

use std::collections::BTreeSet;

use super::rules::Rules;
use crate::spec::code::Code;
use crate::spec::path::Path;
use crate::spec::sections::{AgentKind, Chaos, Contract, ContractInvariant, Isolation};

pub(super) fn check(rules: &mut Rules<'_>) {
    let Some(contract) = &rules.spec.contract else { return };
    let mut rules = rules.at("contract");
    check_matrix(&mut rules, contract);
    check_replicas(&mut rules);
    check_reuse(&mut rules, contract);
    let mut names = BTreeSet::new();
    for (index, invariant) in contract.invariants.iter().enumerate() {
        let mut list = rules.at("invariants");
        let mut rules = list.index(index);
        check_name(&mut rules, invariant, &mut names);
        check_world(&mut rules, invariant);
        match rules.has("check") {
            true => invariant.check.validate(&mut rules.at("check")),
            false => invariant.check.validate(&mut rules),
        }
    }
}

/// Checks that the chaos cells are in one place, and can show the effects that the contract asks for.
fn check_matrix(rules: &mut Rules<'_>, contract: &Contract) {
    let spec = rules.spec;
    if contract.chaos_matrix.is_some() && spec.chaos_matrix.is_some() {
        let message = "there is a `chaos_matrix` at the top level already";
        rules.at("chaos_matrix").report_key(Code::ConflictingKeys, message, Some("keep one of them"));
    }
    if contract.require_fired && !worlds(rules).iter().any(Chaos::has_faults) {
        let message = "there is no fault that could fire, so no cell could be conclusive";
        rules.at("require_fired").report_key(Code::NeverFires, message, Some("add a fault, or remove `require_fired`"));
    }
}

/// A spec with a contract alone says how often it is run in the contract.
fn check_replicas(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    if spec.invariants.is_empty() && spec.parallelism.replicas.count() > 1 && !rules.holes.has_broken_invariant() {
        let message = "a contract says in `repeat` how often its cells are run, and there is nothing else to run";
        let place = Path::from(["parallelism", "replicas"]);
        rules.moved(place).report_key(Code::NoEffect, message, Some("use `contract.repeat`"));
    }
}

/// An agent whose sandbox is reused can be invoked again.
fn check_reuse(rules: &mut Rules<'_>, contract: &Contract) {
    let kind = rules.spec.agent.as_ref().map(|agent| &agent.kind);
    if contract.isolation == Isolation::Reuse && matches!(kind, Some(AgentKind::Paragon(_))) {
        let message = "a hosted agent (`agent.type: paragon`) cannot be invoked again in its sandbox";
        let help = Some("use `isolation: scenario` or `isolation: cell`, or another type of agent");
        rules.at("isolation").report(Code::ConflictingKeys, message, help);
    }
}

/// A rule has a name of its own, which ids of scenarios can have in them.
fn check_name(rules: &mut Rules<'_>, invariant: &ContractInvariant, names: &mut BTreeSet<String>) {
    let id = &invariant.rule.id;
    let is_own = rules.spec.invariants.contains_key(id.as_str());
    if is_own || !names.insert(id.to_string()) {
        let message = format!("there is an invariant `{id}` already");
        rules.at("id").report(Code::DuplicateName, message, Some("give each a name of its own"));
    }
    if id.contains("--") || id.contains('.') {
        let message = format!("`{id}` has two dashes in a row or a dot, and ids of scenarios are made with it");
        rules.at("id").report(Code::InvalidValue, message, Some("use letters, digits, `_` and single `-`"));
    }
}

/// A rule is judged in some chaos cell.
fn check_world(rules: &mut Rules<'_>, invariant: &ContractInvariant) {
    let when = invariant.rule.when;
    if !worlds(rules).iter().any(|chaos| when.holds_in(chaos)) {
        let message = format!("no chaos cell is one in which `{when}` holds, so this is never judged");
        rules.at("when").report(Code::NoEffect, message, Some("add such a cell to `chaos_matrix`, or change `when`"));
    }
}

/// The faults of each chaos cell.
fn worlds(rules: &Rules<'_>) -> Vec<Chaos> {
    let spec = rules.spec;
    let cells: Vec<_> = spec.chaos_cells().map(|cell| spec.chaos_of(&cell.own.name)).collect();
    if cells.is_empty() { vec![spec.chaos_of("")] } else { cells }
}
