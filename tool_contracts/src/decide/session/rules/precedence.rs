//! `every A, after B`: an earlier call of B committed, about the same value.

use super::{shown_instance, violation};
use crate::decide::{Context, Reason};
use crate::read::rule::{Precedence, SessionRule};
use crate::reason::name;
use crate::state::rules::{EarliestCalls, instances};

/// The reason when no earlier call of the other tool committed for one of the call's values.
pub(super) fn problem(
    context: &Context<'_>,
    rule: &SessionRule,
    precedence: &Precedence,
    earliest: &EarliestCalls,
) -> Option<Reason> {
    let call = context.call;
    let values = instances(precedence.same.as_ref(), &call.arguments);
    let is_met = |value: &String| earliest.has(value, context.batch.step);
    if !values.is_empty() && values.iter().all(is_met) {
        return None;
    }
    let unmet = values.iter().find(|value| !is_met(value));
    let sentence = format!("{} {}", needs(precedence), shortfall(precedence, unmet));
    Some(reason(rule, precedence, &sentence, &[&call.id]))
}

/// The reason when nothing committed that could be before the tool.
pub(super) fn unmet_for_all(
    rule: &SessionRule,
    precedence: &Precedence,
    earliest: &EarliestCalls,
    step: u64,
) -> Option<Reason> {
    let sentence = || format!("{}, and none committed", needs(precedence));
    (!earliest.has_any(step)).then(|| reason(rule, precedence, &sentence(), &[]))
}

fn needs(precedence: &Precedence) -> String {
    let (tool, prior) = (name(&precedence.tool.name), name(&precedence.prior.name));
    format!("{tool} needs a call of {prior} that committed in an earlier step")
}

fn shortfall(precedence: &Precedence, unmet: Option<&String>) -> String {
    match (&precedence.same, unmet) {
        (None, _) => "and there is none".to_owned(),
        (Some(path), None) => format!("with the same `{path}`, which is missing"),
        (Some(path), Some(value)) => format!("with the same `{path}` {}, and there is none", shown_instance(value)),
    }
}

fn reason(rule: &SessionRule, precedence: &Precedence, sentence: &str, witness: &[&str]) -> Reason {
    let reason = violation(rule, sentence, witness).checked("after", precedence.prior.name.as_str());
    match &precedence.same {
        Some(path) => reason.at(path.text()),
        None => reason,
    }
}
