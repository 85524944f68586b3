//! `services[].routes`: every route can answer, and says how in one way.

use serde_json::Value as Json;

use super::rules::Rules;
use crate::spec::code::Code;
use crate::spec::diagnostic::closest;
use crate::spec::sections::{HttpMock, Route};

/// Fields of a request that the template of an answer can use, besides `json.PATH`.
const REQUEST_FIELDS: [&str; 7] = ["method", "path", "body", "params", "query", "headers", "json"];

pub(super) fn check(rules: &mut Rules<'_>, mock: &HttpMock) {
    for (index, route) in mock.routes.iter().enumerate() {
        let mut rules = rules.index(index);
        check_matchers(&mut rules, route);
        check_sequence(&mut rules, route);
        match route.template {
            true => check_template(&mut rules, route),
            false if answers(route).any(|text| text.contains("{{ request.") || text.contains("{{request.")) => {
                rules.report(
                    Code::NoEffect,
                    "`{{ request.… }}` in an answer is left as it is",
                    Some("add `template: true` to the route"),
                );
            }
            false => {}
        }
        if let Some(earlier) = mock.routes[..index].iter().position(|earlier| takes_all_of(earlier, route)) {
            let message = format!("this route never answers: `routes[{earlier}]` takes every request that it would");
            rules.report(
                Code::UnreachableRoute,
                message,
                Some("put the narrower route first, or use `sequence` for different answers"),
            );
        }
    }
}

/// Returns true if `earlier` answers every request that `later` would.
fn takes_all_of(earlier: &Route, later: &Route) -> bool {
    let method = earlier.method.is_none() || earlier.method == later.method;
    let free = earlier.query.is_empty() && earlier.headers.is_empty() && earlier.body.is_none();
    let same = earlier.query == later.query && earlier.headers == later.headers && earlier.body == later.body;
    method && earlier.path.covers(&later.path) && (free || same)
}

fn check_matchers(rules: &mut Rules<'_>, route: &Route) {
    for (key, table) in [("query", &route.query), ("headers", &route.headers)] {
        for (name, value) in table.iter() {
            if !matches!(value, Json::String(_) | Json::Number(_) | Json::Bool(true)) {
                rules.at(key).at(name).report(
                    Code::InvalidValue,
                    format!("`{name}` must be a text, a number, or `true` for any value"),
                    None,
                );
            }
        }
    }
    if route.body.as_ref().is_some_and(|body| body.contains.is_none() && body.json.is_none()) {
        rules.at("body").report(
            Code::MissingCondition,
            "a `body` matcher without a condition",
            Some("add `contains` or `json`"),
        );
    }
}

fn check_sequence(rules: &mut Rules<'_>, route: &Route) {
    match &route.sequence {
        Some(sequence) => {
            if sequence.is_empty() {
                rules.at("sequence").report(Code::InvalidValue, "the sequence is empty", None);
            }
            for key in ["status", "response", "response_headers", "delay"] {
                if rules.has(key) {
                    let message = format!("`{key}` and `sequence` exclude each other");
                    rules.at(key).report_key(
                        Code::ConflictingKeys,
                        message,
                        Some("say it in each answer of the sequence"),
                    );
                }
            }
        }
        None if route.then.is_some() => {
            rules.at("then").report_key(Code::NoEffect, "`then` goes with `sequence`", None)
        }
        None => {}
    }
}

fn check_template(rules: &mut Rules<'_>, route: &Route) {
    for text in answers(route) {
        for inner in placeholders(text) {
            if let Some(problem) = problem_of(inner) {
                rules.report(
                    Code::InvalidTemplate,
                    format!("`{{{{ {inner} }}}}` names nothing that an answer can use"),
                    Some(&problem),
                );
            }
        }
    }
}

/// Every text in the answers of a route.
fn answers(route: &Route) -> impl Iterator<Item = &str> {
    route.sequence.iter().flatten().map(|answer| &answer.response).chain([&route.response]).flatten().flat_map(strings)
}

fn strings(json: &Json) -> Vec<&str> {
    match json {
        Json::String(text) => vec![text],
        Json::Array(items) => items.iter().flat_map(strings).collect(),
        Json::Object(fields) => fields.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// Lists the texts between the braces of a template.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split("{{").skip(1).filter_map(|rest| rest.split_once("}}")).map(|(inner, _)| inner.trim())
}

fn problem_of(inner: &str) -> Option<String> {
    let (namespace, rest) = inner.split_once('.').unwrap_or((inner, ""));
    match (namespace, rest) {
        ("seed" | "replica", "") => None,
        ("params", name) if !name.is_empty() => None,
        ("request", rest) => {
            let field = rest.split(['.', '[']).next().unwrap_or_default();
            let known = REQUEST_FIELDS.contains(&field);
            (!known).then(|| {
                closest(field, REQUEST_FIELDS).map_or_else(
                    || "write `request.body`, `request.json.PATH` or `request.params.NAME`".to_owned(),
                    |near| format!("did you mean `request.{near}`?"),
                )
            })
        }
        (namespace, _) => {
            closest(namespace, ["request", "params", "seed", "replica"]).map(|near| format!("did you mean `{near}`?"))
        }
    }
}
