//! Comparison of an observed value with an expected one.

use std::cmp::Ordering;

use serde_json::Value as Json;

use crate::evidence::{Datum, decoded_json};
use crate::number::Number;
use crate::spec::code::Code;
use crate::spec::section::section;
use crate::spec::template::Bindings;
use crate::spec::types::{Pattern, Value};
use crate::spec::validate::Rules;

section! {
    /// How a value is compared; everything given must hold.
    ///
    /// - Two numbers are compared by value, with every digit: `1`, `1.0` and `10e-1` are equal.
    /// - A quoted expectation is compared as text: `"1"` equals the number 1 and the text `1`, but not `1.0`.
    /// - A number meets a text as text: `1` equals the text `1`, but not the text `1.0`.
    /// - `true` equals a boolean true and the number 1, because MySQL has no booleans; `false` likewise 0.
    /// - `null` equals only NULL, and NULL equals nothing else and is neither less nor greater than anything.
    /// - A list or map is compared with JSON, and with a text that is JSON. Numbers inside JSON have 64 bits: a larger integer
    ///   or a longer fraction is rounded before it is compared.
    /// - `gt`, `gte`, `lt` and `lte` order numbers by value and texts by their characters, which orders ISO timestamps; a
    ///   number and a text that is no number cannot be ordered, which fails.
    pub struct Comparison {
        /// Must be equal.
        equals: Option<Value>,
        /// Must not be equal.
        not_equals: Option<Value>,
        /// Must be greater.
        gt: Option<Value>,
        /// Must be greater or equal.
        gte: Option<Value>,
        /// Must be less.
        lt: Option<Value>,
        /// Must be less or equal.
        lte: Option<Value>,
        /// The value as text must contain this.
        contains: Option<Value>,
        /// The value as text must match this regular expression somewhere.
        matches: Option<Pattern>,
    }
}

/// The reason why a comparison does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mismatch {
    /// The observed value differs from the expected one.
    Found(String),
    /// The expectation itself cannot be used.
    Broken(String),
}

impl Comparison {
    /// Equality with a value.
    pub(super) fn equal_to(value: Value) -> Self {
        Self {
            equals: Some(value),
            not_equals: None,
            gt: None,
            gte: None,
            lt: None,
            lte: None,
            contains: None,
            matches: None,
        }
    }

    /// Returns true if there is no expectation.
    pub(super) fn is_empty(&self) -> bool {
        self.expectations().next().is_none() && self.matches.is_none()
    }

    pub(super) fn validate(&self, rules: &mut Rules<'_>, what: &str) {
        if self.is_empty() {
            let help = "add `equals`, `not_equals`, `gt`, `gte`, `lt`, `lte`, `contains` or `matches`";
            rules.report(Code::MissingCondition, format!("{what} without a comparison"), Some(help));
        }
        self.validate_text(rules);
        for (key, expected) in self.expectations() {
            let ordered = !matches!(key, "equals" | "not_equals");
            if ordered && !matches!(expected, Value::Number(_) | Value::Text(_)) {
                rules.at(key).report(Code::InvalidValue, format!("`{key}` needs a number or a text"), None);
            }
        }
    }

    fn validate_text(&self, rules: &mut Rules<'_>) {
        let empty = |value: &Value| matches!(value, Value::Text(text) if text.is_empty());
        for (key, empty) in [
            ("contains", self.contains.as_ref().is_some_and(empty)),
            ("matches", self.matches.as_ref().is_some_and(|pattern| pattern.source().is_empty())),
        ] {
            if empty {
                rules.at(key).report(
                    Code::MissingCondition,
                    format!("`{key}` is empty, and every value has that"),
                    None,
                );
            }
        }
    }

    pub(super) fn expectations(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        [
            ("equals", &self.equals),
            ("not_equals", &self.not_equals),
            ("gt", &self.gt),
            ("gte", &self.gte),
            ("lt", &self.lt),
            ("lte", &self.lte),
            ("contains", &self.contains),
        ]
        .into_iter()
        .filter_map(|(key, value)| value.as_ref().map(|value| (key, value)))
    }

    /// Checks all conditions on `found`; the error is the first that does not hold.
    pub(super) fn holds(&self, found: &Datum, bindings: &dyn Bindings) -> Result<(), Mismatch> {
        for (key, expected) in self.expectations() {
            hold(key, &expected.render(bindings), found)?;
        }
        if let Some(pattern) = &self.matches {
            let broken = |problem| format!("`{}` is not a regular expression: {problem}", pattern.source());
            let expression = pattern.compile(bindings).map_err(|problem| Mismatch::Broken(broken(problem)))?;
            if *found == Datum::Null || !expression.is_match(found.text().as_bytes()) {
                return Err(Mismatch::Found(format!("expected a match of `{expression}`, found {found}")));
            }
        }
        Ok(())
    }
}

fn hold(key: &str, expected: &Value, found: &Datum) -> Result<(), Mismatch> {
    let order = |wanted: fn(Ordering) -> bool, words: &str| match compare(found, expected) {
        Some(ordering) if wanted(ordering) => Ok(()),
        Some(_) => Err(Mismatch::Found(format!("expected {words} {}, found {found}", show(expected)))),
        None => Err(Mismatch::Found(format!(
            "expected {words} {}, found {found}, which cannot be ordered against it",
            show(expected)
        ))),
    };
    match key {
        "equals" if equal(expected, found) => Ok(()),
        "equals" => Err(Mismatch::Found(format!("expected {}, found {found}", show(expected)))),
        "not_equals" if equal(expected, found) => {
            Err(Mismatch::Found(format!("expected anything but {}, found it", show(expected))))
        }
        "not_equals" => Ok(()),
        "gt" => order(Ordering::is_gt, "more than"),
        "gte" => order(Ordering::is_ge, "at least"),
        "lt" => order(Ordering::is_lt, "less than"),
        "lte" => order(Ordering::is_le, "at most"),
        _ if *found != Datum::Null && found.text().contains(&text_of(expected)) => Ok(()),
        _ => Err(Mismatch::Found(format!("expected something that contains {}, found {found}", show(expected)))),
    }
}

/// Returns true if an observed value equals an expected one, by the rules of [`Comparison`].
pub(super) fn equal(expected: &Value, found: &Datum) -> bool {
    match (expected, found) {
        (Value::Null, found) => *found == Datum::Null,
        (_, Datum::Null) => false,
        (Value::Bool(expected), Datum::Bool(found)) => expected == found,
        (Value::Bool(expected), Datum::Number(found)) => {
            Number::parse(if *expected { "1" } else { "0" }).is_some_and(|number| number == *found)
        }
        (Value::Number(expected), Datum::Number(found)) => expected == found,
        (Value::Number(expected), Datum::Bool(found)) => {
            Number::parse(if *found { "1" } else { "0" }).is_some_and(|number| number == *expected)
        }
        (Value::List(_) | Value::Map(_), Datum::Json(found)) => same_json(&expected.to_json(), found),
        (Value::List(_) | Value::Map(_), Datum::Text(found)) => {
            read_json(found).is_some_and(|found| same_json(&expected.to_json(), &found))
        }
        (Value::List(_) | Value::Map(_), _) => false,
        (Value::Bool(_) | Value::Number(_) | Value::Text(_), found) => text_of(expected) == found.text(),
    }
}

/// A text that is JSON.
fn read_json(text: &str) -> Option<Json> {
    let mut json = serde_json::from_str(text).ok()?;
    decoded_json(&mut json);
    Some(json)
}

/// Equality of JSON values with numbers by value: `1` equals `1.0`.
fn same_json(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Number(left), Json::Number(right)) => {
            Number::parse(&left.to_string()) == Number::parse(&right.to_string())
        }
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same_json(left, right))
        }
        (Json::Object(left), Json::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same_json(value, other)))
        }
        (left, right) => left == right,
    }
}

/// The order of two values; `None` when they have none.
fn compare(found: &Datum, expected: &Value) -> Option<Ordering> {
    match (found, expected) {
        (Datum::Number(found), Value::Number(expected)) => Some(found.cmp(expected)),
        (Datum::Number(found), Value::Text(_)) => {
            Number::parse(&text_of(expected)).map(|expected| found.cmp(&expected))
        }
        (Datum::Text(found), Value::Number(expected)) => Number::parse(found).map(|found| found.cmp(expected)),
        (Datum::Text(found), Value::Text(_)) => Some(found.as_str().cmp(text_of(expected).as_str())),
        _ => None,
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Text(text) => text.as_literal().unwrap_or(text.source()).to_owned(),
        Value::Number(number) => number.text().to_owned(),
        other => other.to_json().to_string(),
    }
}

fn show(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Text(_) => format!("{:?}", text_of(value)),
        other => text_of(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Comparison, Mismatch};
    use crate::checks::testing::{Fixed, read};
    use crate::evidence::Datum;
    use crate::number::Number;

    fn number(text: &str) -> Datum {
        Datum::Number(Number::parse(text).expect("a number"))
    }

    fn text(text: &str) -> Datum {
        Datum::Text(text.to_owned())
    }

    fn holds(yaml: &str, found: &Datum) -> bool {
        read::<Comparison>(yaml).holds(found, &Fixed).is_ok()
    }

    fn mismatch(yaml: &str, found: &Datum) -> String {
        match read::<Comparison>(yaml).holds(found, &Fixed) {
            Err(Mismatch::Found(message) | Mismatch::Broken(message)) => message,
            Ok(()) => panic!("{yaml} holds for {found}"),
        }
    }

    #[test]
    fn numbers_are_equal_by_value() {
        for found in ["1", "1.0", "1.00000000000000000000"] {
            assert!(holds("{equals: 1}", &number(found)) && holds("{equals: 1.0}", &number(found)), "{found}");
        }
        assert!(holds("{equals: 12345678901234567890.5}", &number("12345678901234567890.50")));
        assert!(!holds("{equals: 9007199254740993}", &number("9007199254740992")));
    }

    #[test]
    fn texts_are_equal_as_text() {
        assert!(holds("{equals: '1'}", &number("1")));
        assert!(!holds("{equals: '1'}", &number("1.0")));
        assert!(holds("{equals: '1'}", &text("1")));
        assert!(holds("{equals: 1}", &text("1")));
        assert!(!holds("{equals: 1}", &text("1.0")));
        assert!(holds("{equals: '2026-01-31 09:00:00+00'}", &text("2026-01-31 09:00:00+00")));
    }

    #[test]
    fn booleans_meet_databases_without_booleans() {
        assert!(
            holds("{equals: true}", &Datum::Bool(true))
                && holds("{equals: true}", &number("1"))
                && holds("{equals: 1}", &Datum::Bool(true))
        );
        assert!(holds("{equals: false}", &number("0")) && !holds("{equals: false}", &number("2")));
        assert!(holds("{equals: 'true'}", &Datum::Bool(true)) && !holds("{equals: 't'}", &Datum::Bool(true)));
    }

    #[test]
    fn null_equals_only_null() {
        assert!(holds("{equals: null}", &Datum::Null));
        assert!(
            !holds("{equals: null}", &text(""))
                && !holds("{equals: 0}", &Datum::Null)
                && !holds("{equals: ''}", &Datum::Null)
        );
        assert!(holds("{not_equals: 0}", &Datum::Null));
        for yaml in ["{gt: 0}", "{lte: 0}", "{contains: ''}", "{matches: ''}"] {
            assert!(!holds(yaml, &Datum::Null), "{yaml}");
        }
    }

    #[test]
    fn order_is_by_value_or_by_character() {
        assert!(holds("{gt: 9}", &number("10")) && holds("{gt: '9'}", &number("10")) && holds("{gt: 9}", &text("10")));
        assert!(!holds("{gt: '9'}", &text("10")), "two texts are ordered by character");
        assert!(holds("{gte: '2026-01-01'}", &text("2026-01-31")) && holds("{lt: 0.3, gte: 0.1}", &number("0.2")));
        insta::assert_snapshot!(mismatch("{gt: 3}", &text("many")), @r#"expected more than 3, found "many", which cannot be ordered against it"#);
        insta::assert_snapshot!(mismatch("{lte: 3}", &number("4")), @"expected at most 3, found 4");
    }

    #[test]
    fn json_is_compared_as_json() {
        let found = Datum::Json(json!({"a": [1, 2.0], "b": null}));
        assert!(holds("{equals: {b: null, a: [1.0, 2]}}", &found));
        assert!(!holds("{equals: {a: [1, 2]}}", &found));
        assert!(holds("{equals: [1]}", &text("[1]")) && !holds("{equals: [1]}", &text("nothing")));
    }

    #[test]
    fn contains_and_matches_read_text() {
        assert!(holds("{contains: new, matches: '^re.*al$'}", &text("renewal")));
        insta::assert_snapshot!(mismatch("{contains: xyz}", &text("renewal")), @r#"expected something that contains "xyz", found "renewal""#);
        insta::assert_snapshot!(mismatch("{matches: '^x'}", &number("12")), @"expected a match of `^x`, found 12");
    }

    #[test]
    fn a_lone_parameter_keeps_its_type() {
        assert!(holds("{equals: '{{ params.three }}'}", &number("3.0")));
        assert!(!holds("{equals: '{{ params.three }}x'}", &number("3")));
    }
}
