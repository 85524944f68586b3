//! Evaluates a condition on a run, with the reason.

use super::token::Operator;
use super::{Amount, Direction, Expression};
use crate::metric::Metric;
use crate::regression::RunComparison;
use crate::score::ExperimentScore;

/// Maximum number of regressions that are named.
const NAMED: usize = 5;

/// The facts about a run.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Its numbers.
    pub now: &'a ExperimentScore,
    /// The earlier run of the same spec that it is compared with, if there is one.
    pub before: Option<&'a ExperimentScore>,
    /// The comparison of both, scenario by scenario; needed only for a [condition that compares](super::Condition::compares).
    pub comparison: Option<&'a RunComparison>,
}

/// A result that is true, false or unknown, with the reason.
type Looked = (Option<bool>, String);

impl Expression {
    pub(super) fn look(&self, facts: &Facts<'_>) -> Looked {
        match self {
            Self::Any(parts) => together(parts, facts, true),
            Self::All(parts) => together(parts, facts, false),
            Self::Not(part) => {
                let (holds, why) = part.look(facts);
                (holds.map(|holds| !holds), format!("not ({why})"))
            }
            Self::Compared(metric, operator, amount) => compared(*metric, *operator, *amount, facts),
            Self::Changed(direction, metric, operator, amount) => {
                changed(*direction, *metric, *operator, *amount, facts)
            }
            Self::Regressed => regressed(facts),
        }
    }
}

/// Parts of which one decides: a true one of any, a false one of all. Only those that speak for the result are named.
fn together(parts: &[Expression], facts: &Facts<'_>, decides: bool) -> Looked {
    let looked: Vec<Looked> = parts.iter().map(|part| part.look(facts)).collect();
    let holds = if looked.iter().any(|(holds, _)| *holds == Some(decides)) {
        Some(decides)
    } else if looked.iter().any(|(holds, _)| holds.is_none()) {
        None
    } else {
        Some(!decides)
    };
    let why: Vec<_> = looked.into_iter().filter(|(one, _)| *one == holds).map(|(_, why)| why).collect();
    (holds, why.join(" and "))
}

fn compared(metric: Metric, operator: Operator, amount: Amount, facts: &Facts<'_>) -> Looked {
    let Some(value) = metric.in_score(facts.now) else {
        return (None, format!("{} is not known", metric.name));
    };
    let why = format!("{} is {} ({} {amount})", metric.name, shown(value), operator.sign());
    (Some(operator.holds(value, amount.value())), why)
}

fn changed(direction: Direction, metric: Metric, operator: Operator, amount: Amount, facts: &Facts<'_>) -> Looked {
    let before = facts.before.and_then(|before| metric.in_score(before));
    let (Some(now), Some(before)) = (metric.in_score(facts.now), before) else {
        return (None, format!("there is nothing to compare {} with", metric.name));
    };
    let difference = match direction {
        Direction::Drop => before - now,
        Direction::Rise => now - before,
    };
    let is_relative = amount.is_percent && !metric.is_part_of_one();
    let change = match is_relative {
        // A part of nothing: any change is larger than all parts.
        true if before == 0.0 && difference != 0.0 => f64::INFINITY.copysign(difference),
        true if before == 0.0 => 0.0,
        true => difference / before.abs(),
        false => difference,
    };
    let why = format!(
        "{} is {} and was {} ({} {} {amount})",
        metric.name,
        shown(now),
        shown(before),
        direction.word(),
        operator.sign()
    );
    (Some(operator.holds(change, amount.value())), why)
}

fn regressed(facts: &Facts<'_>) -> Looked {
    let Some(comparison) = facts.comparison else { return (None, "there is no earlier run".to_owned()) };
    if !comparison.regressed() {
        return (Some(false), "nothing regressed".to_owned());
    }
    let mut regressions = comparison.regressions();
    let more = regressions.len().saturating_sub(NAMED);
    regressions.truncate(NAMED);
    if more > 0 {
        regressions.push(format!("and {more} more"));
    }
    (Some(true), format!("it regressed: {}", regressions.join("; ")))
}

/// At most four digits behind the point.
fn shown(number: f64) -> String {
    let rounded = (number * 1e4).round() / 1e4;
    rounded.to_string()
}
