//! `chaos` and `chaos_matrix`: every fault can fire, and is about something that the spec has.

use std::collections::BTreeSet;

use super::egress_hosts::check_host;
use super::rules::Rules;
use super::tool_names::{self, Reach};
use super::{chaos_attacks, network_faults, service_faults, world_faults};
use crate::spec::code::Code;
use crate::spec::diagnostic::{alternatives, did_you_mean};
use crate::spec::sections::{Chaos, ChaosCell, Service, ToolFault, ToolMode, ToolTarget, Trigger, WrongData};
use crate::spec::shape::MOST_ENTRIES;
use crate::spec::{ToolMatcher, host_of_tool, is_route_glob};

/// Services, routes and tools of which a message lists no more than this.
const MOST_KNOWN: usize = 12;
/// The services that `tool_faults` can hit.
const SPEAKS_HTTP: &str = "`http_mock` and no container that may speak HTTP";

pub(super) fn check(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    check_faults(&mut rules.at("chaos"), &spec.chaos);
    if let Some(cells) = &spec.chaos_matrix {
        check_cells(&mut rules.at("chaos_matrix"), cells);
    }
    if let Some(cells) = spec.contract.as_ref().and_then(|contract| contract.chaos_matrix.as_ref()) {
        check_cells(&mut rules.at("contract").at("chaos_matrix"), cells);
    }
    if spec.chaos_cells().next().is_some() && !spec.chaos.is_none() {
        let message = "`chaos` changes nothing beside `chaos_matrix`, whose cells replace it";
        rules.at("chaos").report_key(Code::NoEffect, message, Some("make it a cell of the matrix"));
    }
}

/// Each cell of a matrix has a name of its own, and faults that can fire.
fn check_cells(list: &mut Rules<'_>, cells: &[ChaosCell]) {
    let spec = list.spec;
    let mut names = BTreeSet::new();
    for (index, cell) in cells.iter().enumerate() {
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
}

fn check_faults(rules: &mut Rules<'_>, chaos: &Chaos) {
    check_profile(rules, chaos);
    if chaos.require_fired && !chaos.has_faults() {
        let message = "there is no fault that could fire, so no pass could be conclusive";
        rules.at("require_fired").report_key(Code::NeverFires, message, Some("add a fault, or remove `require_fired`"));
    }
    for (index, fault) in chaos.tool_faults.iter().enumerate() {
        let mut list = rules.at("tool_faults");
        let mut rules = list.index(index);
        check_place(&mut rules, fault);
        check_connections(&mut rules, fault);
        check_tool_mode(&mut rules, &fault.mode);
        check_trigger(&mut rules, &fault.trigger);
    }
    for (index, fault) in chaos.llm_faults.iter().enumerate() {
        let mut list = rules.at("llm_faults");
        let mut rules = list.index(index);
        check_model(&mut rules);
        check_trigger(&mut rules, &fault.trigger);
    }
    for (index, fault) in chaos.service_faults.iter().enumerate() {
        let mut list = rules.at("service_faults");
        let mut rules = list.index(index);
        service_faults::check(&mut rules, fault);
        check_trigger(&mut rules, &fault.trigger);
    }
    network_faults::check(rules, chaos);
    world_faults::check(rules, chaos);
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

/// A rule is about a service, a tool or a host, and its mode is too.
fn check_place(rules: &mut Rules<'_>, fault: &ToolFault) {
    let target = &fault.target;
    let host = host_of_tool(target.tool.as_str());
    let names_tool = |matcher: ToolMatcher| tool_names::names_tool(rules, target, &matcher);
    if let Some(host) = host
        && !ToolMatcher::new(target).is_some_and(names_tool)
    {
        check_host(rules, host);
        return tool_names::check_mode(rules, fault, Reach { services: true, tools: false });
    }
    let may_hit = |service: &Service| fault.mode.is_for_tools_only() || fault.may_hit(service);
    if let Some(reach) = check_target(rules, target, SPEAKS_HTTP, may_hit) {
        tool_names::check_mode(rules, fault, reach);
    }
}

/// A rule is about a tool, or about a service that it can hit. Comes to what it is about, unless that is reported or not known.
pub(super) fn check_target(
    rules: &mut Rules<'_>,
    target: &ToolTarget,
    wanted: &str,
    may_hit: impl Fn(&Service) -> bool,
) -> Option<Reach> {
    let spec = rules.spec;
    let Some(matcher) = ToolMatcher::new(target) else {
        let message = format!("`{}` is no glob", target.tool);
        rules.at("tool").report(Code::InvalidValue, message, None);
        return None;
    };
    let tool = target.tool.as_str();
    let is_about = |service: &Service| match is_route_glob(tool) {
        true if service.mock().is_none() => matcher.may_be_about_service(service.name()),
        true => routes_of(service).any(|(method, path)| matcher.may_be_about_route(service.name(), &method, &path)),
        false => matcher.is_about(service.name(), "", ""),
    };
    let found: Vec<_> = spec.services.iter().filter(|service| is_about(service)).collect();
    let reach = Reach { services: !found.is_empty(), tools: tool_names::names_tool(rules, target, &matcher) };
    if reach.tools {
        tool_names::check_url(rules, target, reach);
        return Some(reach);
    }
    if found.is_empty() {
        if !rules.holes.may_have_service(tool.split(':').next().unwrap_or(tool)) {
            report_unknown(rules, tool);
        }
        return None;
    }
    if !found.iter().any(|service| may_hit(service)) {
        report_untouched(rules, tool, wanted, &found);
        return None;
    }
    Some(reach)
}

/// Reports a rule that names nothing that the spec has.
fn report_unknown(rules: &mut Rules<'_>, tool: &str) {
    let spec = rules.spec;
    let known: Vec<_> = tools_of(spec.services.iter()).chain(spec.tools.known_names().take(MOST_ENTRIES)).collect();
    let help = tool_names::server_help(rules, tool)
        .or_else(|| did_you_mean(tool, known.iter().map(String::as_str)))
        .unwrap_or_else(|| match known.is_empty() {
            true => "declare the service under `services`".to_owned(),
            false => {
                let shown = known.iter().take(MOST_KNOWN).map(String::as_str);
                format!("known here: {}", alternatives(shown).replace(" or ", " and "))
            }
        });
    let message = match spec.tools.is_empty() {
        true => format!("`{tool}` is no service and no route of one"),
        false => format!("`{tool}` is no service, no route of one, and no tool"),
    };
    rules.at("tool").report(Code::UnknownService, message, Some(&help));
}

/// Reports a rule that names services and can hit none of them.
fn report_untouched(rules: &mut Rules<'_>, tool: &str, wanted: &str, found: &[&Service]) {
    if let Some(service) = found.iter().find(|service| service.ports().is_empty()) {
        let message = format!("the service `{}` has no `ports`, so that the way to it is not known", service.name());
        return rules.at("tool").report(Code::MissingKey, message, Some("add its `ports`"));
    }
    let message = format!("`{tool}` names no {wanted}");
    let help = "databases and other containers are faulted by `service_faults`";
    rules.at("tool").report(Code::WrongServiceKind, message, Some(help));
}

/// A connection is refused before it is known what is asked.
fn check_connections(rules: &mut Rules<'_>, fault: &ToolFault) {
    let is_narrowed = is_route_glob(fault.target.tool.as_str()) || fault.target.match_url.is_some();
    if matches!(fault.mode, ToolMode::ConnectionRefused(_)) && is_narrowed {
        let message = "`connection_refused` is about all connections to a service or host: it comes before any request";
        let help = "name it alone, without a route or `match_url`, or use `connection_reset`";
        rules.at("mode").report(Code::ConflictingKeys, message, Some(help));
    }
}

/// The routes of a mock, as `(method, path)`; a parameter of a path stays as it is written.
pub(super) fn routes_of(service: &Service) -> impl Iterator<Item = (String, String)> + '_ {
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

fn tools_of<'a>(services: impl Iterator<Item = &'a Service>) -> impl Iterator<Item = String> {
    let names = |service: &'a Service| {
        let routes = routes_of(service).map(|(method, path)| format!("{}:{method} {path}", service.name()));
        std::iter::once(service.name().to_string()).chain(routes)
    };
    services.filter(|service| service.mock().is_some() || service.may_speak_http()).flat_map(names)
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
        ToolMode::RugPull(fault) if fault.description.is_none() && fault.input_schema.is_none() => {
            rules.report(Code::MissingKey, "`rug_pull` needs `description` or `input_schema`", None);
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

/// A fault of the model needs one.
fn check_model(rules: &mut Rules<'_>) {
    if rules.spec.model.is_none() && !rules.holes.has_section("model") {
        let message = "there is no model whose calls could be faulted";
        rules.report(Code::MissingKey, message, Some("add `model`, or remove the fault"));
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
