//! `invariants` and `scoring`: every check can be judged, and something is left to average.

use super::judges;
use super::rules::Rules;
use crate::spec::code::Code;
use crate::spec::sections::{Invariant, ReplicaAggregation, Severity};

pub(super) fn check(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    let mut invariants = rules.at("invariants");
    for (name, invariant) in spec.invariants.iter() {
        let mut rules = invariants.at(name);
        if invariant.description.as_ref().is_none_or(|description| description.trim().is_empty()) {
            rules.report_key(Code::NoDescription, format!("the invariant `{name}` has no description"), None);
        }
        if invariant.severity == Some(Severity::Critical) && invariant.gate == Some(false) {
            let message = "`severity: critical` makes a gate, and `gate: false` takes it back";
            rules.at("gate").report(Code::SeverityGate, message, Some("drop one of the two"));
        }
        invariant.check.validate(&mut rules.at("check"));
    }
    check_any(rules);
    let weights: f64 = spec.invariants.values().map(Invariant::weight).sum();
    if weights <= 0.0 && !spec.invariants.is_empty() && !rules.holes.has_broken_invariant() {
        rules.at("invariants").report_key(
            Code::ZeroWeight,
            "the weights of all invariants add up to 0",
            Some("give at least one of them a weight"),
        );
    }
    judges::check(rules);
    check_scoring(&mut rules.at("scoring"));
}

/// Checks that there is something to judge by.
fn check_any(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    if !spec.invariants.is_empty() || rules.holes.has_broken_invariant() {
        return;
    }
    if rules.has("invariants") {
        rules.at("invariants").report(Code::InvalidValue, "expected at least one entry", None);
    } else if spec.contract.is_none() && !rules.holes.has_section("contract") {
        let help = "write what must be true afterwards, or a `contract`";
        rules.report(Code::MissingKey, "the key `invariants` is missing", Some(help));
    }
}

fn check_scoring(rules: &mut Rules<'_>) {
    let scoring = &rules.spec.scoring;
    match (scoring.replica_aggregation, &scoring.min_pass_rate) {
        (Some(ReplicaAggregation::MinPassRate), None) => {
            rules.report(Code::MissingKey, "the key `min_pass_rate` is missing: which share must pass?", None);
        }
        (Some(other), Some(_)) if other != ReplicaAggregation::MinPassRate => {
            let message = format!("`min_pass_rate` and `replica_aggregation: {other}` exclude each other");
            rules.at("min_pass_rate").report_key(Code::ConflictingKeys, message, Some("keep one of them"));
        }
        _ => {}
    }
}
