//! `{{ … }}`: what is named exists.

use super::rules::Rules;
use crate::spec::code::Code;
use crate::spec::diagnostic::did_you_mean;
use crate::spec::path::{Path, Segment};
use crate::spec::sections::Matrix;
use crate::spec::template::Reference;

pub(super) fn check(rules: &mut Rules<'_>, references: &[(Path, Reference)]) {
    for (path, reference) in references {
        if rules.is_full() {
            return;
        }
        let mut rules = rules.moved(path.clone());
        if let Some((problem, help)) = problem_of(&rules, path, reference) {
            let message = format!("`{{{{ {reference} }}}}`: {problem}");
            rules.report(Code::InvalidTemplate, message, help.as_deref());
        }
    }
}

/// Returns the problem with a reference, and its fix.
fn problem_of(rules: &Rules<'_>, path: &Path, reference: &Reference) -> Option<(String, Option<String>)> {
    let spec = rules.spec;
    if path.section() == Some("base") && !matches!(reference, Reference::Param(_)) {
        return Some(("only parameters can be used in `base`".to_owned(), None));
    }
    match reference {
        Reference::Param(_) if rules.holes.has_section("parallelism") => None,
        Reference::Secret(_) if rules.holes.has_section("secrets") => None,
        Reference::ServiceHost(name) | Reference::ServicePort(name) if rules.holes.may_have_service(name) => None,
        Reference::Param(name) => missing_param(spec.parallelism.matrix.as_ref(), name),
        Reference::Secret(name) => {
            let names: Vec<_> = spec.secrets.iter().map(|secret| secret.name().as_str()).collect();
            let help =
                did_you_mean(name, names.iter().copied()).or_else(|| Some("declare it under `secrets`".to_owned()));
            (!names.contains(&name.as_str())).then(|| (format!("there is no secret `{name}`"), help))
        }
        Reference::ServiceHost(name) | Reference::ServicePort(name) => match spec.service(name) {
            None => {
                let help = did_you_mean(name, spec.services.iter().map(|service| service.name().as_str()));
                Some((
                    format!("there is no service `{name}`"),
                    help.or_else(|| Some("declare it under `services`".to_owned())),
                ))
            }
            Some(service) if matches!(reference, Reference::ServicePort(_)) && service.ports().is_empty() => {
                Some((format!("the service `{name}` declares no port"), Some("add `ports` to the service".to_owned())))
            }
            Some(_) => None,
        },
        Reference::TaskPrompt if path.section() == Some("task") || is_probe(path) => {
            Some(("the task cannot contain itself".to_owned(), None))
        }
        Reference::TaskPrompt | Reference::Seed | Reference::Replica => None,
    }
}

/// Returns true if a place is in a prompt of a contract's rule.
fn is_probe(path: &Path) -> bool {
    path.segments().iter().any(|segment| matches!(segment, Segment::Key(key) if key == "probes"))
}

fn missing_param(matrix: Option<&Matrix>, name: &str) -> Option<(String, Option<String>)> {
    let Some(matrix) = matrix else {
        return Some((
            format!("there is no parameter `{name}`"),
            Some("declare it under `parallelism.matrix`".to_owned()),
        ));
    };
    let known = |names: Vec<&str>| {
        (!names.contains(&name))
            .then(|| (format!("there is no parameter `{name}`"), did_you_mean(name, names.iter().copied())))
    };
    match matrix {
        Matrix::Product(axes) => known(axes.keys().map(|key| key.as_str()).collect()),
        Matrix::Cells(cells) => {
            let index = cells.iter().position(|cell| !cell.contains_key(name))?;
            let first = cells[index].keys().map(|key| key.as_str()).collect::<Vec<_>>();
            let help = did_you_mean(name, first.iter().copied());
            Some((format!("`matrix[{index}]` has no parameter `{name}`"), help))
        }
    }
}
