//! `http`: every argument goes to one place of the request, and the service takes it.

use super::arguments::Arguments;
use super::check_http_service;
use crate::spec::code::Code;
use crate::spec::diagnostic::{alternatives, did_you_mean};
use crate::spec::sections::HttpTool;
use crate::spec::validate::rules::Rules;

/// Arguments of which a message lists no more than this.
const MOST_SHOWN: usize = 12;

pub(super) fn check(tool: &mut Rules<'_>, http: &HttpTool, arguments: &Arguments<'_>) {
    let mut rules = tool.at("http");
    check_http_service(&mut rules, "service", &http.service, http.port.as_ref().map(|port| ("port", port.get())));
    check_path(&mut rules.at("path"), http, arguments);
    check_list(&mut rules, "query", http, arguments);
    check_list(&mut rules, "body", http, arguments);
    for name in arguments.names().filter(|name| http.place_of(name).is_none()) {
        let message = format!("the argument `{name}` goes nowhere: neither `path`, `query` nor `body` names it");
        let mut rules = tool.at("input_schema");
        rules.at("properties").at(name).report_key(Code::NoEffect, message, Some("add it to `query` or `body`"));
    }
}

/// A path has a value for each of its arguments.
fn check_path(rules: &mut Rules<'_>, http: &HttpTool, arguments: &Arguments<'_>) {
    let names: Vec<_> = http.path.arguments().collect();
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            let message = format!("the argument `{name}` stands twice in the path");
            rules.report(Code::ConflictingKeys, message, Some("give each place an argument of its own"));
        } else if arguments.lacks(name) {
            report_unknown(rules, name, arguments);
        } else if arguments.is_optional(name) {
            let message = format!("the argument `{name}` of the path can be left out, and a path cannot do without it");
            let help = format!("add `{name}` to `required` of `input_schema`");
            rules.report(Code::InvalidValue, message, Some(&help));
        }
    }
}

/// The names of a list are arguments that are in no other place.
fn check_list(rules: &mut Rules<'_>, key: &str, http: &HttpTool, arguments: &Arguments<'_>) {
    let list = if key == "query" { &http.query } else { &http.body };
    let names = list.as_deref().unwrap_or_default();
    let is_in_query = |name: &str| key == "body" && http.query.iter().flatten().any(|one| one.as_str() == name);
    for (index, name) in names.iter().enumerate() {
        let elsewhere = match name.as_str() {
            name if http.path.arguments().any(|one| one == name) => Some("path"),
            name if is_in_query(name) => Some("query"),
            name if names[..index].iter().any(|one| one.as_str() == name) => Some(key),
            _ => None,
        };
        let mut list = rules.at(key);
        let mut rules = list.index(index);
        if let Some(elsewhere) = elsewhere {
            let message = format!("the argument `{name}` is in `{elsewhere}` already");
            rules.report(Code::ConflictingKeys, message, Some("name it in one place"));
        } else if arguments.lacks(name) {
            report_unknown(&mut rules, name, arguments);
        }
    }
}

fn report_unknown(rules: &mut Rules<'_>, name: &str, arguments: &Arguments<'_>) {
    let known: Vec<_> = arguments.names().take(MOST_SHOWN).collect();
    let help = did_you_mean(name, arguments.names()).unwrap_or_else(|| match known.as_slice() {
        [] => "declare it under `properties` of `input_schema`".to_owned(),
        known => format!("known here: {}", alternatives(known.iter().copied()).replace(" or ", " and ")),
    });
    rules.report(Code::UnknownArgument, format!("the tool has no argument `{name}`"), Some(&help));
}
