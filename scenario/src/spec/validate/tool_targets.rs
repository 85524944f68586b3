//! `tool` of faults and attacks: a service, a route, a tool or a host that the rule can hit.

use super::egress_hosts::check_host;
use super::rules::Rules;
use super::tool_names::{self, Reach};
use crate::spec::code::Code;
use crate::spec::diagnostic::{alternatives, did_you_mean};
use crate::spec::sections::{Service, ToolFault, ToolMode, ToolTarget};
use crate::spec::shape::MOST_ENTRIES;
use crate::spec::{ToolMatcher, host_of_tool, is_route_glob};

/// Services, routes and tools of which a message lists no more than this.
const MOST_KNOWN: usize = 12;
/// The services that `tool_faults` can hit.
const SPEAKS_HTTP: &str = "`http_mock` and no container that may speak HTTP";

/// A rule is about a service, a tool or a host, and its mode is too.
pub(super) fn check(rules: &mut Rules<'_>, fault: &ToolFault) {
    let target = &fault.target;
    let host = host_of_tool(target.tool.as_str());
    let names_tool = |matcher: ToolMatcher| tool_names::names_tool(rules, target, &matcher);
    if let Some(host) = host
        && !ToolMatcher::new(target).is_some_and(names_tool)
    {
        check_host(rules, host);
        check_connections(rules, fault);
        return tool_names::check_mode(rules, fault, Reach { services: true, tools: false });
    }
    let may_hit = |service: &Service| fault.mode.is_for_tools_only() || fault.may_hit(service);
    if let Some(reach) = check_target(rules, target, SPEAKS_HTTP, may_hit) {
        tool_names::check_mode(rules, fault, reach);
    }
    check_connections(rules, fault);
}

/// Checks that a rule is about a tool, or about a service that it can hit. Returns its reach, unless that is reported
/// or not known.
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
