//! `parallelism`: the plan can be made.

use super::rules::Rules;
use crate::plan::{PlanError, PlanOptions, expand};
use crate::spec::code::Code;
use crate::spec::diagnostic::did_you_mean;

pub(super) fn check(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    let known: Vec<String> = spec
        .parallelism
        .matrix
        .iter()
        .filter(|matrix| !matrix.is_empty())
        .flat_map(|matrix| matrix.cell(0).into_keys())
        .collect();
    let mut rules = rules.at("parallelism");
    for (index, cell) in spec.parallelism.exclude.iter().enumerate() {
        for name in cell.keys().filter(|name| !known.iter().any(|known| known == name.as_str())) {
            let help = did_you_mean(name, known.iter().map(String::as_str));
            rules.at("exclude").index(index).at(name).report_key(
                Code::InvalidValue,
                format!("the matrix has no parameter `{name}`"),
                help.as_deref(),
            );
        }
    }
    match expand(spec, PlanOptions::default()) {
        Ok(_) => {}
        Err(error @ PlanError::Repeated(_)) => {
            rules.at("matrix").report_key(Code::DuplicateName, error.to_string(), None)
        }
        Err(error @ (PlanError::TooMany(..) | PlanError::Empty)) => {
            rules.report_key(Code::ScenarioCount, error.to_string(), None)
        }
    }
}
