//! `service_faults`: every rule is about a container that it can hit.

use super::rules::Rules;
use crate::spec::ServiceMatcher;
use crate::spec::code::Code;
use crate::spec::diagnostic::{alternatives, did_you_mean};
use crate::spec::sections::{Service, ServiceFault, ServiceMode, StatementKind};

/// Modes that every container can have.
const ANY_SERVICE: &str = "`refuse`, `reset`, `hang` and `slow` are for every service";

pub(super) fn check(rules: &mut Rules<'_>, fault: &ServiceFault) {
    check_narrowing(rules, fault);
    let spec = rules.spec;
    let glob = fault.target.service.as_str();
    let Some(matcher) = ServiceMatcher::new(&fault.target) else {
        return rules.at("service").report(Code::InvalidValue, format!("`{glob}` is no glob"), None);
    };
    let found: Vec<_> = spec.services.iter().filter(|service| matcher.is_about(service.name())).collect();
    if found.is_empty() {
        if !rules.holes.may_have_service(glob) {
            report_unknown(rules, glob);
        }
    } else if !found.iter().any(|service| fault.may_hit(service)) {
        report_untouched(rules, fault, &found);
    }
}

fn report_unknown(rules: &mut Rules<'_>, glob: &str) {
    let containers = rules.spec.services.iter().filter(|service| service.mock().is_none());
    let known: Vec<_> = containers.map(|service| service.name().as_str()).take(12).collect();
    let help = did_you_mean(glob, known.iter().copied()).unwrap_or_else(|| match known.is_empty() {
        true => "declare the service under `services`".to_owned(),
        false => format!("known here: {}", alternatives(known.iter().copied()).replace(" or ", " and ")),
    });
    rules.at("service").report(Code::UnknownService, format!("there is no service `{glob}`"), Some(&help));
}

/// Reports a rule that names services and can hit none of them.
fn report_untouched(rules: &mut Rules<'_>, fault: &ServiceFault, found: &[&Service]) {
    let glob = fault.target.service.as_str();
    let mode = fault.mode.word();
    if found.iter().all(|service| service.mock().is_some()) {
        let message = format!("`{glob}` is an `http_mock`, whose answers are faulted by `tool_faults`");
        let help = format!("write it under `tool_faults`, with `tool: {glob}`");
        rules.at("service").report(Code::WrongServiceKind, message, Some(&help));
    } else if let Some(service) = found.iter().find(|service| service.mock().is_none() && service.ports().is_empty()) {
        let message = format!("the service `{}` has no `ports`, so that the way to it is not known", service.name());
        rules.at("service").report(Code::MissingKey, message, Some("add its `ports`"));
    } else if fault.target.statement.is_some() || fault.target.table.is_some() {
        let message = format!("`{glob}` is no Postgres or MySQL, so that its statements are not known");
        rules.at("service").report(Code::WrongServiceKind, message, Some("remove `statement` and `table`"));
    } else {
        let message = format!("`{mode}` is about statements, and `{glob}` is no Postgres or MySQL");
        rules.at("service").report(Code::WrongServiceKind, message, Some(ANY_SERVICE));
    }
}

/// `statement` and `table` fit to the mode.
fn check_narrowing(rules: &mut Rules<'_>, fault: &ServiceFault) {
    let kinds = fault.target.statement.as_ref();
    let mode = fault.mode.word();
    let fits = |kind: &StatementKind| match &fault.mode {
        ServiceMode::ReadOnly(_) => kind.is_write(),
        ServiceMode::CommitUnknown(_) => kind.is_commit(),
        _ => true,
    };
    if matches!(fault.mode, ServiceMode::Refuse(_)) {
        for (key, is_given) in [("statement", kinds.is_some()), ("table", fault.target.table.is_some())] {
            if is_given {
                let message = format!("`{key}` is about statements, and `refuse` is about connections");
                rules.at(key).report(Code::ConflictingKeys, message, Some("remove it, or use `reset`"));
            }
        }
    } else if kinds.is_some_and(|kinds| !kinds.iter().any(fits)) {
        let message = format!("`{mode}` hits no statement of these kinds");
        let help = match fault.mode {
            ServiceMode::ReadOnly(_) => "use `insert`, `update`, `delete` or `ddl`",
            _ => "use `commit`, `insert`, `update`, `delete` or `ddl`",
        };
        rules.at("statement").report(Code::NeverFires, message, Some(help));
    }
}
