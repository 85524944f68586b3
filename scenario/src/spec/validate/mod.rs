//! Rules that need more than one value: names that must resolve, keys that exclude each other, sums that must not be
//! zero.
//!
//! Each file has the rules of one subject as a function `check(&mut Rules)`. To add a rule: put it where its subject is,
//! give it a code, and add a spec under `specs/invalid/` that breaks it.

mod agent_files;
mod agents;
mod chaos;
mod chaos_attacks;
mod contract;
mod egress_hosts;
mod fixtures;
mod invariants;
mod judges;
mod models;
mod mutations;
mod network_faults;
mod networks;
mod overall;
mod plans;
mod replays;
mod routes;
mod rules;
mod secrets;
mod service_faults;
mod services;
mod stopping;
mod tasks;
mod templates;
mod tool_contracts;
mod tool_names;
mod tool_targets;
mod tools;
mod world_faults;

use super::Spec;
use super::bundle::Bundle;
use super::diagnostic::Diagnostic;
use super::path::Path;
use super::salvage::Holes;
use super::template::Reference;
use super::yaml::Node;

pub(crate) use rules::Rules;

/// Applies the rules to a spec that has the right form.
pub(super) fn validate(
    spec: &Spec,
    root: &Node,
    references: &[(Path, Reference)],
    bundle: Option<&Bundle>,
    holes: &Holes,
) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    let mut rules = Rules::new(spec, root, bundle, holes, &mut findings);
    agents::check(&mut rules);
    services::check(&mut rules);
    tools::check(&mut rules);
    tool_contracts::check(&mut rules);
    fixtures::check(&mut rules);
    secrets::check(&mut rules);
    networks::check(&mut rules);
    models::check(&mut rules);
    chaos::check(&mut rules);
    invariants::check(&mut rules);
    contract::check(&mut rules);
    mutations::check(&mut rules);
    tasks::check(&mut rules);
    replays::check(&mut rules);
    overall::check(&mut rules);
    plans::check(&mut rules);
    stopping::check(&mut rules);
    templates::check(&mut rules, references);
    findings.retain(|finding| !holes.covers(&finding.path));
    findings
}
