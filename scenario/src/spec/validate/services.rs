//! `services`: names are unique, and mocks can answer.

use std::collections::HashSet;

use super::routes;
use super::rules::Rules;
use crate::spec::code::Code;
use crate::spec::types::ServiceName;

/// Names that lead to the sandbox itself, or to gateways of ours.
const RESERVED: [&str; 5] = ["egress", "localhost", "model", "sandbox", "touchstone"];
/// The name of the gateway of tools, which exists when the spec has some.
const TOOLS: &str = "tools";

pub(super) fn check(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    let mut names = HashSet::new();
    let mut rules = rules.at("services");
    for (index, service) in spec.declared_services().iter().enumerate() {
        let mut rules = rules.index(index);
        if !names.insert(service.name()) {
            rules.at("name").report(Code::DuplicateName, format!("there are two services `{}`", service.name()), None);
        }
        check_reserved(&mut rules.at("name"), service.name());
        let mut ports = HashSet::new();
        for (at, port) in service.common.ports.iter().enumerate() {
            if !ports.insert(port.get()) {
                rules.at("ports").index(at).report(
                    Code::DuplicateName,
                    format!("port {} stands twice", port.get()),
                    None,
                );
            }
        }
        if service.mock().is_some() && !service.common.env.is_empty() {
            rules.at("env").report_key(Code::NoEffect, "an `http_mock` has no environment", None);
        }
        if let Some(mock) = service.mock() {
            routes::check(&mut rules.at("routes"), mock);
        }
    }
}

/// A name that leads somewhere else is no name of a service.
pub(super) fn check_reserved(rules: &mut Rules<'_>, name: &ServiceName) {
    let is_gateway_of_tools = name.as_str() == TOOLS && !rules.spec.tools.is_empty();
    if RESERVED.contains(&name.as_str()) || is_gateway_of_tools {
        let message = format!("the name `{name}` is taken: it leads to the sandbox or to a gateway");
        rules.report(Code::InvalidValue, message, Some("choose another name"));
    }
}
