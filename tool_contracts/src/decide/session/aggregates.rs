//! R17: with this call, the figures over all calls stay within their bounds.

use crate::code::Code;
use crate::decide::{Context, Reason};
use crate::read::aggregate::{Aggregate, Bounds, Metric};
use crate::reason::{name, shown_or_missing};
use crate::state::aggregate::{AggregateState, Contribution, InvalidInput, bounds};
use crate::value::Num;

/// Refuses calls that would bring a figure out of its bounds; calls in flight and accepted ones of the batch count.
pub(crate) fn judge(context: &Context<'_>, reasons: &mut Vec<Reason>) {
    for (aggregate, state) in context.set.session.aggregates.iter().zip(&context.state.aggregates) {
        if !aggregate.is_at_end && aggregate.is_about(&context.call.tool) {
            reasons.extend(problem(context, aggregate, state));
        }
    }
}

fn problem(context: &Context<'_>, aggregate: &Aggregate, state: &AggregateState) -> Option<Reason> {
    let own = match Contribution::of(aggregate, &context.call.tool, &context.call.arguments) {
        Ok(own) => own?,
        Err(invalid) => return Some(invalid_input(context, aggregate, &invalid)),
    };
    let accepted = context.batch.accepted.iter();
    let accepted = accepted.filter_map(|call| Contribution::of(aggregate, &call.tool, &call.arguments).ok().flatten());
    let more: Vec<_> = accepted.chain([own]).collect();
    let figure = state.figure(aggregate.metric, &more)?;
    let bounds = bounds(aggregate, &context.state.bindings);
    (!bounds.hold(aggregate.metric, figure)).then(|| violation(aggregate, &bounds, figure, "this call would make it"))
}

/// The reason for a figure outside its bounds.
pub(crate) fn violation(aggregate: &Aggregate, bounds: &Bounds, figure: Num, words: &str) -> Reason {
    let of = match (&aggregate.path, aggregate.metric) {
        (Some(path), metric) if metric != Metric::Count => format!("the {} of `{path}`", metric.word()),
        (_, metric) => format!("the {} of calls", metric.word()),
    };
    let limits: Vec<_> = [("at least", bounds.gte), ("at most", bounds.lte)]
        .into_iter()
        .filter_map(|(words, bound)| bound.map(|bound| format!("{words} {}", bound.to_json())))
        .collect();
    let sentence = format!("{of} must be {}, and {words} {}", limits.join(" and "), figure.to_json());
    let mut reason = Reason::new(Code::AggregateViolated, aggregate.rule.clone(), sentence).because(&aggregate.reason);
    for (name, bound) in [("gte", bounds.gte), ("lte", bounds.lte)] {
        if let Some(bound) = bound {
            reason = reason.checked(name, bound.to_json());
        }
    }
    reason.path = aggregate.path.as_ref().map(ToString::to_string);
    reason.found("aggregate", figure.to_json())
}

fn invalid_input(context: &Context<'_>, aggregate: &Aggregate, invalid: &InvalidInput) -> Reason {
    let path = aggregate.path.as_ref().map(ToString::to_string).unwrap_or_default();
    let sentence = format!(
        "{} must give the number `{path}` that `{}` adds up, and it is {}",
        name(&context.call.tool),
        aggregate.name.name,
        shown_or_missing(invalid.found.as_ref())
    );
    Reason::new(Code::AggregateInputInvalid, aggregate.rule.clone(), sentence).at(path)
}
