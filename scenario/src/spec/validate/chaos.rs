//! `chaos` and `chaos_matrix`: every fault can fire, and is about something that the spec has.

use std::collections::BTreeSet;

use super::rules::Rules;
use super::{chaos_attacks, network_faults, service_faults};
use crate::spec::code::Code;
use crate::spec::diagnostic::{alternatives, did_you_mean};
use crate::spec::sections::chaos::applies;
use crate::spec::sections::{Chaos, LlmMode, Service, ToolMode, ToolTarget, Trigger, WrongData};
use crate::spec::{ToolMatcher, is_route_glob};

pub(super) fn check(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    check_faults(&mut rules.at("chaos"), &spec.chaos);
    let Some(cells) = &spec.chaos_matrix else { return };
    let mut names = BTreeSet::new();
    for (index, cell) in cells.iter().enumerate() {
        let mut list = rules.at("chaos_matrix");
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
    if !spec.chaos.is_none() {
        let message = "`chaos` changes nothing beside `chaos_matrix`, whose cells replace it";
        rules.at("chaos").report_key(Code::NoEffect, message, Some("make it a cell of the matrix"));
    }
}

fn check_faults(rules: &mut Rules<'_>, chaos: &Chaos) {
    check_profile(rules, chaos);
    for (index, fault) in chaos.tool_faults.iter().enumerate() {
        let mut list = rules.at("tool_faults");
        let mut rules = list.index(index);
        check_target(&mut rules, &fault.target);
        check_tool_mode(&mut rules, &fault.mode);
        check_trigger(&mut rules, &fault.trigger);
    }
    for (index, fault) in chaos.llm_faults.iter().enumerate() {
        let mut list = rules.at("llm_faults");
        let mut rules = list.index(index);
        check_model(&mut rules, &fault.mode);
        check_trigger(&mut rules, &fault.trigger);
    }
    for (index, fault) in chaos.service_faults.iter().enumerate() {
        let mut list = rules.at("service_faults");
        let mut rules = list.index(index);
        service_faults::check(&mut rules, fault);
        check_trigger(&mut rules, &fault.trigger);
    }
    network_faults::check(rules, chaos);
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

/// A rule is about a service that can be faulted.
pub(super) fn check_target(rules: &mut Rules<'_>, target: &ToolTarget) {
    let spec = rules.spec;
    let Some(matcher) = ToolMatcher::new(target) else {
        let message = format!("`{}` is no glob", target.tool);
        return rules.at("tool").report(Code::InvalidValue, message, None);
    };
    let tool = target.tool.as_str();
    let is_about = |service: &Service| match is_route_glob(tool) {
        true => routes_of(service).any(|(method, path)| matcher.may_be_about_route(service.name(), &method, &path)),
        false => matcher.is_about(service.name(), "", ""),
    };
    let found: Vec<_> = spec.services.iter().filter(|service| is_about(service)).collect();
    if found.is_empty() {
        if rules.holes.may_have_service(tool.split(':').next().unwrap_or(tool)) {
            return;
        }
        let known = tools_of(spec.services.iter());
        let help = did_you_mean(tool, known.iter().map(String::as_str)).unwrap_or_else(|| match known.is_empty() {
            true => "declare the service under `services`".to_owned(),
            false => format!("known here: {}", alternatives(known.iter().map(String::as_str)).replace(" or ", " and ")),
        });
        let message = format!("`{tool}` is no service and no route of one");
        return rules.at("tool").report(Code::UnknownService, message, Some(&help));
    }
    if let Some(service) = found.iter().find(|service| service.mock().is_none() && !tool.contains('*')) {
        let message =
            format!("the service `{}` is no `http_mock`; only the answers of mocks can be faulted", service.name());
        let help = "faults of containers are `service_faults`";
        rules.at("tool").report(Code::WrongServiceKind, message, Some(help));
    } else if found.iter().all(|service| service.mock().is_none()) {
        let message = format!("`{tool}` matches no `http_mock`; only the answers of mocks can be faulted");
        rules.at("tool").report(Code::WrongServiceKind, message, None);
    }
}

/// The routes of a mock, as `(method, path)`; a parameter of a path stays as it is written.
fn routes_of(service: &Service) -> impl Iterator<Item = (String, String)> + '_ {
    let routes = service.mock().into_iter().flat_map(|mock| mock.routes.iter());
    routes.flat_map(|route| {
        let methods = match &route.method {
            Some(method) => vec![method.to_string()],
            None => ["GET", "POST", "PUT", "PATCH", "DELETE"].map(str::to_owned).to_vec(),
        };
        let path = route.path.source().to_owned();
        methods.into_iter().map(move |method| (method, path.clone()))
    })
}

fn tools_of<'a>(services: impl Iterator<Item = &'a Service>) -> Vec<String> {
    let names = |service: &'a Service| {
        let routes = routes_of(service).map(|(method, path)| format!("{}:{method} {path}", service.name()));
        std::iter::once(service.name().to_string()).chain(routes)
    };
    services.filter(|service| service.mock().is_some()).flat_map(names).take(12).collect()
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

/// A fault of the model needs one, and one whose answers can be changed.
fn check_model(rules: &mut Rules<'_>, mode: &LlmMode) {
    let spec = rules.spec;
    let Some(model) = &spec.model else {
        if !rules.holes.has_section("model") {
            let message = "there is no model whose calls could be faulted";
            rules.report(Code::MissingKey, message, Some("add `model`, or remove the fault"));
        }
        return;
    };
    if !applies(mode, model.mode) {
        let message = format!(
            "`{}` changes the answers of scripted models only, and this is `mode: {}`",
            mode.word(),
            model.mode
        );
        let help = "use `timeout`, `rate_limit`, `error`, `backend_down`, `context_length_exceeded` or `delay`";
        rules.at("mode").report(Code::ConflictingKeys, message, Some(help));
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
