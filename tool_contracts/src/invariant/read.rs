//! Reads invariants and conditions.

use regex::RegexBuilder;
use serde_json::Value as Json;
use yaml_tree::Kind;
use yaml_tree::nearest::{alternatives, did_you_mean};

use super::{Invariant, Operator, Reference, TypeName};
use crate::code::Code;
use crate::reader::{At, Named, Reader};
use crate::value::Num;

/// Maximum size of a compiled regular expression.
const REGEX_BYTES: usize = 1 << 20;

/// The place of an invariant, which decides about its operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    /// Assertions, execution constraints, outputs of prior calls, principals.
    Full,
    /// `argument_value_invariants`.
    Argument,
    /// Conditions of checkpoints.
    Condition,
}

impl Context {
    fn operators(self) -> &'static [&'static str] {
        match self {
            Self::Full => &[
                "equals",
                "exists",
                "type",
                "contains",
                "one_of",
                "regex",
                "gte",
                "lte",
                "length_gte",
                "length_lte",
                "equals_env",
            ],
            Self::Argument => &["exact_match", "type", "regex", "one_of", "gte", "lte", "ref", "tolerance"],
            Self::Condition => &["gte", "lte", "equals", "one_of"],
        }
    }
}

impl Invariant {
    /// Reads an entry; `None` after reporting why it cannot be used.
    pub(crate) fn read(at: &At<'_>, reader: &mut Reader, context: Context) -> Option<Self> {
        let Kind::Map(_) = at.node.kind else {
            reader.wrong_type(at, "a map with a path and operators");
            return None;
        };
        let path = match at.present("path") {
            Some(path) => reader.path(&path),
            None => {
                reader.report(Code::InvalidInvariant, at, "an invariant needs a `path`");
                None
            }
        };
        let operators = read_operators(at, reader, context);
        let reference = read_reference(at, reader, context);
        let is_optional = context == Context::Argument && reader.flag(at, "optional", false);
        check_ranges(at, &operators, reader);
        let rule = at.place.path.to_string();
        Some(Self { path: path?, operators, reference, is_optional, place: at.place.clone(), rule })
    }

    /// Reads the list under a key.
    pub(crate) fn read_list(at: &At<'_>, key: &str, reader: &mut Reader, context: Context) -> Vec<Self> {
        reader.items(at, key, |item, reader| Self::read(item, reader, context))
    }
}

fn read_operators(at: &At<'_>, reader: &mut Reader, context: Context) -> Vec<Operator> {
    let is_flag = |key: &Named| key.name == "path" || key.name == "optional" && context == Context::Argument;
    let entries: Vec<_> = at.entries().into_iter().filter(|(key, _)| !is_flag(key)).collect();
    if entries.is_empty() {
        reader.report(Code::InvalidInvariant, at, "an invariant needs at least one operator");
    }
    let mut operators = Vec::new();
    for (key, operand) in entries {
        let known = context.operators();
        if known.contains(&key.name.as_str()) {
            operators.extend(read_operator(&key.name, &operand, reader));
        } else {
            let message = format!("there is no operator `{}` here", key.name);
            let help = did_you_mean(&key.name, known.iter().copied())
                .unwrap_or_else(|| format!("known here: {}", alternatives(known.iter().copied())));
            reader.diagnostics.report(Code::UnknownOperator, &key.place, message).help(Some(help));
        }
    }
    operators
}

/// Reads one operator; `ref` and `tolerance` are read together elsewhere.
fn read_operator(name: &str, operand: &At<'_>, reader: &mut Reader) -> Option<Operator> {
    let json = operand.node.to_json();
    let (read, expected) = match name {
        "equals" => (Some(Operator::Equals(json)), ""),
        "contains" => (Some(Operator::Contains(json)), ""),
        "exact_match" => (json.is_string().then_some(Operator::ExactMatch(json)), "a string"),
        "exists" => (json.as_bool().map(Operator::Exists), "`true` or `false`"),
        "one_of" => (choices(json).map(Operator::OneOf), "a list with at least one value"),
        "gte" => (Num::of(&json).map(Operator::AtLeast), "a number"),
        "lte" => (Num::of(&json).map(Operator::AtMost), "a number"),
        "length_gte" => (length(&json).map(Operator::LengthAtLeast), "a whole number of 0 or more"),
        "length_lte" => (length(&json).map(Operator::LengthAtMost), "a whole number of 0 or more"),
        "equals_env" => (json.as_str().map(|name| Operator::EqualsEnvironment(name.to_owned())), "a variable's name"),
        "type" if json.is_string() => return read_type(operand, reader),
        "regex" if json.is_string() => return read_regex(operand, reader),
        "type" | "regex" => (None, "a string"),
        _ => return None,
    };
    if read.is_none() {
        let message = format!("`{name}` takes {expected}, found {}", operand.node.describe());
        reader.report(Code::InvalidOperand, operand, message);
    }
    read
}

fn choices(json: Json) -> Option<Vec<Json>> {
    match json {
        Json::Array(values) if !values.is_empty() => Some(values),
        _ => None,
    }
}

fn length(json: &Json) -> Option<u64> {
    match Num::of(json)? {
        Num::Int(int) => u64::try_from(int).ok(),
        Num::Float(_) => None,
    }
}

fn read_type(operand: &At<'_>, reader: &mut Reader) -> Option<Operator> {
    let written = operand.node.scalar().unwrap_or_default();
    let known = || TypeName::WORDS.iter().map(|(word, _)| *word);
    let found = TypeName::WORDS.iter().find(|(word, _)| *word == written);
    if found.is_none() {
        let message = format!("`{written}` is not a type; expected {}", alternatives(known()));
        reader.report(Code::InvalidTypeName, operand, message).help(did_you_mean(written, known()));
    }
    found.map(|(_, name)| Operator::Type(*name))
}

fn read_regex(operand: &At<'_>, reader: &mut Reader) -> Option<Operator> {
    let pattern = operand.node.scalar().unwrap_or_default();
    match RegexBuilder::new(pattern).size_limit(REGEX_BYTES).build() {
        Ok(regex) => Some(Operator::Regex(regex)),
        Err(problem) => {
            let words = problem.to_string();
            let last = words.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            reader.report(Code::InvalidRegex, operand, format!("the regular expression does not compile: {last}"));
            None
        }
    }
}

fn read_reference(at: &At<'_>, reader: &mut Reader, context: Context) -> Option<Reference> {
    let (slot, tolerance) = (at.present("ref"), at.present("tolerance"));
    if context != Context::Argument {
        return None;
    }
    let tolerance = tolerance.and_then(|value| {
        if slot.is_none() {
            reader.report(Code::ToleranceWithoutRef, at, "`tolerance` is only for `ref`");
        }
        match Num::of(&value.node.to_json()).map(Num::as_f64) {
            Some(number) if number >= 0.0 => Some(number),
            Some(_) => {
                reader.report(Code::InvalidTolerance, &value, "a tolerance is 0 or more");
                None
            }
            None => {
                let message = format!("`tolerance` takes a number, found {}", value.node.describe());
                reader.report(Code::InvalidOperand, &value, message);
                None
            }
        }
    });
    let slot = slot?;
    let Kind::String(name) = &slot.node.kind else {
        reader.report(Code::InvalidOperand, &slot, format!("`ref` takes a name, found {}", slot.node.describe()));
        return None;
    };
    Some(Reference { slot: name.clone(), tolerance, place: slot.place })
}

fn check_ranges(at: &At<'_>, operators: &[Operator], reader: &mut Reader) {
    let number = |wanted: fn(&Operator) -> Option<Num>| operators.iter().find_map(wanted);
    let least = number(|operator| if let Operator::AtLeast(number) = operator { Some(*number) } else { None });
    let most = number(|operator| if let Operator::AtMost(number) = operator { Some(*number) } else { None });
    let shortest =
        number(
            |operator| {
                if let Operator::LengthAtLeast(length) = operator { Some(Num::Int((*length).into())) } else { None }
            },
        );
    let longest =
        number(
            |operator| {
                if let Operator::LengthAtMost(length) = operator { Some(Num::Int((*length).into())) } else { None }
            },
        );
    for (low, high) in [(least, most), (shortest, longest)] {
        if let (Some(low), Some(high)) = (low, high)
            && !low.at_most(high)
        {
            let message = format!("no value is at least {} and at most {}", low.to_json(), high.to_json());
            reader.report(Code::EmptyRange, at, message);
        }
    }
}
