//! `network` and `forbidden`: what they name is declared, and what they need is recorded.

use super::rules::Rules;
use crate::spec::code::Code;
use crate::spec::sections::{Policy, Service, ServiceKind};
use crate::spec::types::ServiceName;

pub(super) fn check(rules: &mut Rules<'_>) {
    check_network(&mut rules.at("network"));
    check_forbidden(rules);
}

fn check_network(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    if spec.network.ingress.as_ref().is_some_and(|ingress| ingress.default == Policy::Allow) {
        let message = "`default: allow` opens nothing by itself: list the ports under `allow`";
        rules.at("ingress").at("default").report(Code::NoEffect, message, None);
    }
    for (host, target) in spec.network.dns_overrides.iter() {
        let mut overrides = rules.at("dns_overrides");
        let mut rules = overrides.at(host);
        let name = target.strip_suffix(".services.internal").unwrap_or(target);
        match ServiceName::new(name) {
            Some(name) => {
                rules.service(&name);
            }
            None => rules.report(
                Code::UnknownService,
                format!("`{target}` is not the name of a service"),
                Some("write `SERVICE.services.internal`"),
            ),
        }
    }
}

fn check_forbidden(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    let rule_and_switch = [
        ("db_writes_outside", "db_writes", spec.forbidden.db_writes_outside.is_some() && !spec.audit.db_writes),
        ("http_except", "http_calls", spec.forbidden.http_except.is_some() && !spec.audit.http_calls),
        ("file_writes_outside", "file_writes", spec.forbidden.file_writes_outside.is_some() && !spec.audit.file_writes),
    ];
    let mut rules = rules.at("forbidden");
    for (rule, switch, forced) in rule_and_switch {
        if forced {
            let message = format!("`{rule}` needs `audit.{switch}: true`, which is switched on");
            rules.at(rule).report_key(Code::AuditForced, message, Some(&format!("add `audit: {{ {switch}: true }}`")));
        }
    }
    for (index, name) in spec.forbidden.http_except.iter().flatten().enumerate() {
        rules.at("http_except").index(index).service(name);
    }
    check_unseen_services(&mut rules);
    if spec.forbidden.secrets_in_logs.is_some() && spec.secrets.is_empty() && !rules.holes.has_section("secrets") {
        rules.at("secrets_in_logs").report_key(
            Code::NoEffect,
            "there are no `secrets` that could be in the logs",
            None,
        );
    }
}

/// Requests to mocks and to the outside are recorded, those to containers are not: what `http_except` could not see must be
/// allowed by it. A database speaks another protocol.
fn check_unseen_services(rules: &mut Rules<'_>) {
    let Some(allowed) = &rules.spec.forbidden.http_except else { return };
    let is_unseen = |service: &&Service| {
        let is_container = matches!(service.kind, ServiceKind::Container(_)) && service.database().is_none();
        is_container && !allowed.contains(service.name())
    };
    for service in rules.spec.services.iter().filter(is_unseen) {
        let name = service.name();
        let message = format!(
            "`http_except` cannot see requests to `{name}`: it is a container, and only requests to mocks and to the outside are recorded"
        );
        let help =
            format!("add `{name}` to the list, so that it may be called, or make it a service of `type: http_mock`");
        rules.at("http_except").report_key(Code::NotRecorded, message, Some(&help));
    }
}
