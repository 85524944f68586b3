//! `tools`: names are unique, every tool says what it does, and every setting does something.

mod arguments;
mod http;
mod mock;
mod server;
mod settings;

use std::collections::HashSet;

use super::rules::Rules;
use arguments::Arguments;

use crate::spec::code::Code;
use crate::spec::sections::{DeclaredTool, Service, Tool};
use crate::spec::shape::MOST_ENTRIES;
use crate::spec::types::ServiceName;

pub(super) fn check(rules: &mut Rules<'_>) {
    let mut rules = rules.at("tools");
    settings::check(&mut rules);
    if rules.has("list") {
        return check_list(&mut rules.at("list"));
    }
    check_list(&mut rules);
}

/// The names that were seen so far.
#[derive(Default)]
struct Names {
    tools: HashSet<String>,
    servers: HashSet<ServiceName>,
}

fn check_list(list: &mut Rules<'_>) {
    if list.spec.tools.known_names().nth(MOST_ENTRIES).is_some() {
        let message = format!("there are more than {MOST_ENTRIES} tools");
        return list.report(Code::InvalidValue, message, None);
    }
    let mut names = Names::default();
    for (index, tool) in list.spec.tools.list.iter().enumerate() {
        let mut rules = list.index(index);
        match tool {
            Tool::Declared(tool) => {
                check_name(&mut rules.at("name"), tool.name.to_string(), &mut names);
                check_declared(&mut rules, tool);
            }
            Tool::Server(server) => {
                if !names.servers.insert(server.server.clone()) {
                    let message = format!("there are two servers `{}`", server.server);
                    rules.at("server").report(Code::DuplicateName, message, None);
                }
                for name in server.known_names() {
                    check_name(&mut rules.at("tools"), name, &mut names);
                }
                server::check(&mut rules, server);
            }
        }
    }
}

/// A tool has a name of its own. Faults and contracts name services in the same place as tools.
fn check_name(rules: &mut Rules<'_>, name: String, names: &mut Names) {
    if rules.spec.service(&name).is_some() {
        let message = format!("`{name}` is the name of a service: rules could not tell the tool from it");
        rules.report(Code::DuplicateName, message, Some("give the tool another name"));
    }
    if names.tools.contains(&name) {
        let help = "give each tool a name of its own; a server's tools can have a `prefix`";
        rules.report(Code::DuplicateName, format!("there are two tools `{name}`"), Some(help));
    }
    names.tools.insert(name);
}

fn check_declared(rules: &mut Rules<'_>, tool: &DeclaredTool) {
    rules.one_of(&["http", "mock"]);
    let is_object = tool.input_schema.as_json().get("type").is_some_and(|kind| kind == "object");
    if !is_object {
        let message = "the arguments of a tool are an object, and this schema does not say so";
        rules.at("input_schema").report(Code::InvalidValue, message, Some("add `type: object`"));
    }
    let arguments = Arguments::of(&tool.input_schema);
    if let Some(http) = &tool.http {
        http::check(rules, http, &arguments);
    }
    if let Some(mock) = &tool.mock {
        mock::check(&mut rules.at("mock").at("rules"), mock, &arguments);
    }
}

/// The service at `key` speaks HTTP, and listens on the port, which may be the one at `port_key`.
fn check_http_service(rules: &mut Rules<'_>, key: &str, name: &ServiceName, port: Option<(&str, i64)>) {
    let Some(service) = rules.at(key).service(name) else { return };
    let ports = service.ports();
    if service.mock().is_none() && ports.is_empty() {
        let message = format!("the service `{name}` has no `ports`, so that the way to it is not known");
        return rules.at(key).report(Code::MissingKey, message, Some("add its `ports`"));
    }
    if !speaks_http(service) {
        let message = format!("the service `{name}` is a database, and speaks no HTTP");
        let help = "name an `http_mock` or a container that speaks HTTP";
        return rules.at(key).report(Code::WrongServiceKind, message, Some(help));
    }
    if let Some((port_key, port)) = port
        && !ports.contains(&port)
    {
        let known: Vec<_> = ports.iter().map(i64::to_string).collect();
        let message = format!("the service `{name}` does not listen on port {port}");
        let help = format!("it listens on {}", known.join(" and "));
        rules.at(port_key).report(Code::InvalidValue, message, Some(&help));
    }
}

fn speaks_http(service: &Service) -> bool {
    service.mock().is_some() || service.may_speak_http()
}
