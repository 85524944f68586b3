//! The expected number of calls.

use std::ops::RangeInclusive;

use super::Problem;
use crate::checks::compare::Mismatch;
use crate::checks::expected::Expected;
use crate::evidence::Datum;
use crate::number::Number;
use crate::spec::code::Code;
use crate::spec::template::{Bindings, Reference};
use crate::spec::types::Value;
use crate::spec::validate::Rules;

/// The result of comparing a number of which only the bounds are known.
pub(super) enum Certainty {
    /// Every number within the bounds is right.
    Holds,
    /// Every number within the bounds is wrong; this is what was expected and found.
    Fails(String),
    /// Some numbers within the bounds are right, others are wrong.
    Open,
}

/// Compares a number, of which only the bounds are known, with the expected one; without one, there must be at least one call.
pub(super) fn hold_within(
    count: Option<&Expected>,
    bounds: RangeInclusive<u64>,
    bindings: &dyn Bindings,
) -> Result<Certainty, Problem> {
    let Some(count) = count else {
        return Ok(match (*bounds.start(), *bounds.end()) {
            (1.., _) => Certainty::Holds,
            (_, 0) => Certainty::Fails("expected at least 1, found none".to_owned()),
            _ => Certainty::Open,
        });
    };
    let (mut holds, mut failure) = (false, None);
    for number in samples(count, &bounds, bindings) {
        match count.holds(&datum(number), bindings) {
            Ok(()) => holds = true,
            Err(Mismatch::Found(message)) => failure = failure.or(Some(message)),
            Err(Mismatch::Broken(message)) => return Err(Problem::Broken(format!("`count`: {message}"))),
        }
    }
    Ok(match failure {
        None => Certainty::Holds,
        Some(_) if holds => Certainty::Open,
        Some(message) => Certainty::Fails(message),
    })
}

/// Numbers within bounds, of which one stands for every number: comparators change their mind beside the numbers that they name only.
fn samples(count: &Expected, bounds: &RangeInclusive<u64>, bindings: &dyn Bindings) -> Vec<u64> {
    let named = count.comparison().expectations().filter_map(|(_, value)| match value.render(bindings) {
        Value::Number(number) => Some(number.as_f64()),
        Value::Text(text) => Number::parse(text.as_literal()?).map(|number| number.as_f64()),
        _ => None,
    });
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast of a float saturates")]
    let around = named.flat_map(|number| [-1.0, 0.0, 1.0].map(|step| (number.floor() + step).max(0.0) as u64));
    let mut samples = vec![*bounds.start()];
    samples.extend(around.filter(|number| bounds.contains(number)));
    samples.push(*bounds.end());
    samples
}

fn datum(number: u64) -> Datum {
    Number::parse(&number.to_string()).map_or(Datum::Null, Datum::Number)
}

/// Stands for parameters where there are none.
struct NoBindings;

impl Bindings for NoBindings {
    fn value(&self, _: &Reference) -> Option<serde_json::Value> {
        None
    }
}

/// Reports a number of calls that no run can have, or that every run has; `rules` stand at it.
pub(super) fn validate(count: &Expected, rules: &mut Rules<'_>) {
    let comparison = count.comparison();
    if comparison.is_empty() {
        count.validate(rules, "a count");
        return;
    }
    if comparison.contains.is_some() || comparison.matches.is_some() {
        let message = "`contains` and `matches` are about texts, and a count is a number";
        rules.report(Code::InvalidValue, message, Some("use `equals`, `not_equals`, `gt`, `gte`, `lt` or `lte`"));
        return;
    }
    let is_template = |value: &Value| matches!(value, Value::Text(text) if text.as_literal().is_none());
    if comparison.expectations().any(|(_, value)| is_template(value)) {
        return;
    }
    if comparison.expectations().any(|(_, value)| !matches!(value, Value::Number(_))) {
        rules.report(Code::InvalidValue, "a count is compared with numbers", None);
        return;
    }
    match hold_within(Some(count), 0..=u64::MAX, &NoBindings) {
        Ok(Certainty::Holds) => {
            let message = "every number of calls is right, so this proves nothing";
            rules.report(Code::MissingCondition, message, Some("ask for at least one call: `count: { gte: 1 }`"));
        }
        Ok(Certainty::Fails(_)) => {
            rules.report(Code::NeverHolds, "no number of calls is right", Some("a count is a whole number from 0"));
        }
        Ok(Certainty::Open) | Err(_) => {}
    }
}
