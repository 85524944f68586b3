//! `mock`: every rule gives one answer, and some call gets it.

use serde_json::Value as Json;

use super::arguments::Arguments;
use crate::spec::code::Code;
use crate::spec::sections::{MockRule, ToolMock};
use crate::spec::types::SchemaValidator;
use crate::spec::validate::rules::Rules;

pub(super) fn check(list: &mut Rules<'_>, mock: &ToolMock, arguments: &Arguments<'_>) {
    let validator = arguments.validator();
    for (index, rule) in mock.rules.iter().enumerate() {
        let mut rules = list.index(index);
        rules.one_of(&["return", "error"]);
        if let Some(earlier) = mock.rules[..index].iter().position(|earlier| earlier.covers(rule)) {
            let message = format!("this rule never answers: `rules[{earlier}]` takes every call that it would");
            rules.report(Code::UnreachableRule, message, Some("put the narrower rule first, or give it `times`"));
        } else if let Some(problem) = validator.as_ref().and_then(|validator| refusal(rule, validator)) {
            let message = format!("this rule never answers: `input_schema` refuses its arguments: {problem}");
            rules.at("match").report(Code::UnreachableRule, message, None);
        }
    }
}

/// The reason why no call can have the arguments of a rule.
fn refusal(rule: &MockRule, validator: &SchemaValidator) -> Option<String> {
    let arguments = rule.arguments.iter().filter(|(_, value)| !has_object(value));
    let arguments = arguments.map(|(name, value)| (name.to_string(), value.clone())).collect();
    validator.problem_of(&Json::Object(arguments))
}

/// Returns true if a value has an object in it, which matches any object that has more fields.
fn has_object(value: &Json) -> bool {
    match value {
        Json::Object(_) => true,
        Json::Array(items) => items.iter().any(has_object),
        _ => false,
    }
}
