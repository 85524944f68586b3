//! `parallelism`: the plan can be made.

use std::collections::BTreeSet;

use super::rules::Rules;
use crate::plan::{PlanError, PlanOptions, expand};
use crate::spec::code::Code;
use crate::spec::diagnostic::did_you_mean;

/// Maximum number of values of one parameter, counting those in lists and maps, and the maximum number of parameters of
/// a matrix.
const MOST_VALUES: usize = 100;
const MOST_PARAMETERS: usize = 50;

pub(super) fn check(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    let mut rules = rules.at("parallelism");
    let names = match &spec.parallelism.matrix {
        Some(matrix) => matrix.names(),
        None => BTreeSet::new(),
    };
    if names.len() > MOST_PARAMETERS
        || spec.parallelism.matrix.as_ref().is_some_and(|matrix| matrix.largest() > MOST_VALUES)
    {
        let message = format!(
            "the matrix has more than {MOST_PARAMETERS} parameters, or a parameter with more than {MOST_VALUES} values inside"
        );
        return rules.at("matrix").report_key(
            Code::InvalidValue,
            message,
            Some("keep large data in files of the spec's folder"),
        );
    }
    check_exclude(&mut rules, &names);
    // Without anything to judge by there is nothing to run, which is a finding of its own.
    if spec.invariants.is_empty() && spec.contract.is_none() {
        return;
    }
    match expand(spec, PlanOptions::default()) {
        Ok(_) => {}
        // Two rules of a contract with one name are a finding of their own.
        Err(PlanError::Repeated(_)) if spec.parallelism.matrix.is_none() => {}
        Err(error @ PlanError::Repeated(_)) => {
            rules.at("matrix").report_key(Code::DuplicateName, error.to_string(), None)
        }
        Err(error @ (PlanError::TooMany(..) | PlanError::Empty)) => {
            rules.report_key(Code::ScenarioCount, error.to_string(), None);
        }
        // Only what somebody gave can be wrong.
        Err(
            PlanError::UnknownParameter { .. }
            | PlanError::UnknownChaos { .. }
            | PlanError::NothingToBreak(_)
            | PlanError::NoParameter(_),
        ) => {}
    }
}

fn check_exclude(rules: &mut Rules<'_>, names: &BTreeSet<&str>) {
    let spec = rules.spec;
    if spec.parallelism.matrix.is_none() && !spec.parallelism.exclude.is_empty() {
        return rules.at("exclude").report_key(Code::NoEffect, "there is no `matrix` to exclude cells from", None);
    }
    for (index, cell) in spec.parallelism.exclude.iter().enumerate() {
        for name in cell.keys().filter(|name| !names.contains(name.as_str())) {
            let help = did_you_mean(name, names.iter().copied());
            let message = format!("the matrix has no parameter `{name}`");
            rules.at("exclude").index(index).at(name).report_key(Code::InvalidValue, message, help.as_deref());
        }
    }
}
