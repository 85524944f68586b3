//! `agent` and `task`: the agent can be started and reached.

use super::agent_files;
use super::rules::Rules;
use crate::spec::code::Code;
use crate::spec::sections::{AgentKind, Http, Isolation, Reset};
use crate::spec::template::Text;
use crate::spec::types::ServiceName;

pub(super) fn check(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    let Some(agent) = &spec.agent else {
        if rules.holes.has_section("agent") {
            return;
        }
        rules.report(
            Code::NoAgent,
            "the spec has no `agent`, so it cannot be run",
            Some("add one; `agent: {type: noop}` does nothing"),
        );
        return;
    };
    if agent.common.timeout.is_some_and(|timeout| timeout > spec.resources.timeout) {
        let message = format!(
            "`agent.timeout` is longer than `resources.timeout` ({}), which ends the scenario first",
            spec.resources.timeout
        );
        rules.at("agent").at("timeout").report(Code::NoEffect, message, None);
    }
    let mut rules = rules.at("agent");
    if let Some(reset) = &agent.common.reset {
        check_reset(&mut rules.at("reset"), reset, &agent.kind);
    }
    match &agent.kind {
        AgentKind::Http(http) => check_http(&mut rules, http),
        AgentKind::Snapshot(_) if rules.has("version") && rules.has("tag") => rules.one_of(&["version", "tag"]),
        AgentKind::Oracle(_) if spec.task.solution.is_none() && !rules.holes.has_section("task") => {
            let help = "add `task.solution`: the commands that solve the task";
            rules.report(
                Code::MissingSolution,
                "the `oracle` agent runs `task.solution`, and there is none",
                Some(help),
            );
        }
        AgentKind::Cli(cli) => agent_files::check(&mut rules, cli),
        AgentKind::Image(_)
        | AgentKind::Snapshot(_)
        | AgentKind::Paragon(_)
        | AgentKind::Noop(_)
        | AgentKind::Oracle(_) => {}
    }
}

/// A reset can be done, and something asks for it.
fn check_reset(rules: &mut Rules<'_>, reset: &Reset, kind: &AgentKind) {
    let by = match reset {
        Reset::Path(_) if matches!(kind, AgentKind::Http(_)) => return,
        Reset::Path(_) => {
            let help = Some("write `reset: { command: … }` or `reset: { http: URL }`");
            return rules.report(Code::InvalidValue, "only an agent with `type: http` has a path to ask", help);
        }
        Reset::By(by) => by,
    };
    rules.one_of(&["http", "command"]);
    if let Some(url) = &by.http
        && url.as_literal().is_none_or(|url| !is_of_sandbox(url))
    {
        check_url(&mut rules.at("http"), url);
    }
    let contract = rules.spec.contract.as_ref();
    if contract.is_none_or(|contract| contract.isolation != Isolation::Reuse) && !rules.holes.has_section("contract") {
        let message = "the agent is reset only where a contract has it invoked again in its sandbox";
        rules.report_key(Code::NoEffect, message, Some("add `isolation: reuse` to the contract, or remove it"));
    }
}

/// Returns true if a URL leads to something in the sandbox itself.
fn is_of_sandbox(url: &str) -> bool {
    let authority = url.strip_prefix("http://").and_then(|rest| rest.split(['/', '?']).next());
    authority.is_some_and(|authority| matches!(authority.split(':').next(), Some("localhost" | "127.0.0.1")))
}

fn check_http(rules: &mut Rules<'_>, http: &Http) {
    rules.one_of(&["url", "image"]);
    match (&http.image, http.port) {
        (Some(_), None) => {
            rules.report(Code::MissingKey, "the key `port` is missing: on which port does the image listen?", None)
        }
        (None, Some(_)) => rules.at("port").report(
            Code::NoEffect,
            "`port` goes with `image`; the port of a `url` is in the `url`",
            None,
        ),
        (Some(_), Some(port)) => check_port(rules, port.get()),
        (None, None) => {}
    }
    if let Some(url) = &http.url {
        check_url(&mut rules.at("url"), url);
    }
}

fn check_port(rules: &mut Rules<'_>, port: i64) {
    let taken = rules.spec.services.iter().find(|service| service.ports().contains(&port));
    if let Some(service) = taken {
        let message = format!("port {port} of the sandbox is taken by the service `{}`", service.name());
        rules.at("port").report(Code::PortConflict, message, Some("give the agent or the service another port"));
    }
}

/// The host of a URL must be a service, because nothing else is in the sandbox.
fn check_url(rules: &mut Rules<'_>, url: &Text) {
    let Some(url) = url.as_literal() else { return };
    let Some(rest) = url.strip_prefix("http://") else {
        rules.report(
            Code::InvalidValue,
            "the `url` does not begin with `http://`",
            Some("write `http://SERVICE:PORT/PATH`"),
        );
        return;
    };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let (host, port) = authority.split_once(':').unwrap_or((authority, "80"));
    let Some(name) = ServiceName::new(host.strip_suffix(".services.internal").unwrap_or(host)) else {
        let help = "write `http://SERVICE:PORT/PATH`";
        return rules.report(Code::UnknownService, format!("`{host}` is not the name of a service"), Some(help));
    };
    let Some(service) = rules.service(&name) else { return };
    if !service.ports().iter().any(|declared| declared.to_string() == port) {
        let help = "name one of the service's `ports` in the `url`";
        rules.report(Code::InvalidValue, format!("the service `{name}` does not listen on port {port}"), Some(help));
    }
}
