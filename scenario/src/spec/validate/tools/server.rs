//! MCP servers: each is reached in one way, and its keys belong to that way.

use std::collections::HashSet;

use super::check_http_service;
use crate::spec::code::Code;
use crate::spec::sections::ToolServer;
use crate::spec::types::ServiceName;
use crate::spec::validate::rules::Rules;
use crate::spec::validate::services;

pub(super) fn check(rules: &mut Rules<'_>, server: &ToolServer) {
    check_way(rules, server);
    if server.image.is_some() {
        check_service_name(&mut rules.at("server"), server);
    }
    if let Some(url) = &server.url
        && let Some(name) = ServiceName::new(&url.service)
    {
        check_http_service(rules, "url", &name, Some(("url", i64::from(url.port))));
    }
    let mut names = HashSet::new();
    for name in server.tools.iter().flat_map(|tools| tools.iter()) {
        if !names.insert(name.as_str()) {
            rules.at("tools").report(Code::DuplicateName, format!("the tool `{name}` stands twice"), None);
        }
    }
}

/// A command, an image or an address. The command of an image replaces its own.
fn check_way(rules: &mut Rules<'_>, server: &ToolServer) {
    let (command, image) = (server.command.is_some(), server.image.is_some());
    if server.url.is_some() && (command || image) {
        let other = if image { "image" } else { "command" };
        let message = format!("`url` and `{other}` exclude each other");
        rules.at("url").report_key(Code::ConflictingKeys, message, Some("keep one of them"));
    } else if server.url.is_none() && !command && !image {
        let message = "one of `command`, `image` or `url` is needed";
        rules.report(Code::MissingKey, message, Some("say how the server is started, or where it is"));
    } else {
        check_idle_keys(rules, server);
    }
}

/// Keys that belong to another way.
fn check_idle_keys(rules: &mut Rules<'_>, server: &ToolServer) {
    let (way, idle): (_, &[&str]) = match (&server.image, &server.url) {
        (Some(_), _) => return,
        (None, Some(_)) => ("url", &["port", "path", "env"]),
        (None, None) => ("command", &["port", "path"]),
    };
    for key in idle {
        if rules.has(key) {
            let message = format!("`{key}` changes nothing for a server with `{way}`");
            let help = if *key == "env" { "set it at the service" } else { "it is for servers with `image`" };
            rules.at(key).report_key(Code::NoEffect, message, Some(help));
        }
    }
}

/// An image becomes a service, so that no other service can have its name.
fn check_service_name(rules: &mut Rules<'_>, server: &ToolServer) {
    let name = &server.server;
    if rules.spec.declared_services().iter().any(|service| service.name() == name) {
        let message = format!("the image would become a second service `{name}`");
        let help = "give the server another name, or name the service in `url`";
        rules.report(Code::DuplicateName, message, Some(help));
    }
    services::check_reserved(rules, name);
}
