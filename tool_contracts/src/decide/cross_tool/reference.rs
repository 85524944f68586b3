//! R15: arguments are the values that earlier calls bound.

use serde_json::Value as Json;

use crate::code::Code;
use crate::decide::{Context, Reason};
use crate::invariant::{Invariant, Reference};
use crate::reason::{shown, shown_or_missing};
use crate::state::envelope::is_near;
use crate::value::{Num, same};

/// Refuses arguments that differ from the slot that they refer to, or whose slot is empty.
pub(crate) fn judge(context: &Context<'_>, reasons: &mut Vec<Reason>) {
    let Some(tool) = context.tool else { return };
    for invariant in &tool.argument_invariants {
        reasons.extend(invariant.reference.as_ref().and_then(|reference| problem(context, invariant, reference)));
    }
}

fn problem(context: &Context<'_>, invariant: &Invariant, reference: &Reference) -> Option<Reason> {
    let nodes = invariant.path.nodes(&context.call.arguments);
    if nodes.is_empty() && invariant.is_optional {
        return None;
    }
    let slot = &reference.slot;
    let Some((bound, by)) = context.state.bindings.get(slot) else {
        let binder = context.set.binders.get(slot).map_or("", String::as_str);
        let sentence =
            format!("`{}` must be the value of `{slot}`, which no call of `{binder}` has bound yet", invariant.path);
        return Some(Reason::new(Code::RefUnbound, invariant.rule.clone(), sentence).at(invariant.path.text()));
    };
    let wrong = nodes.iter().find(|node| !is_equal(node, bound, reference.tolerance)).copied();
    if wrong.is_none() && !nodes.is_empty() {
        return None;
    }
    let sentence = format!(
        "`{}` must be {}, which the call `{by}` bound to `{slot}`, and is {}",
        invariant.path,
        shown(bound),
        shown_or_missing(wrong)
    );
    let reason = Reason::new(Code::RefMismatch, invariant.rule.clone(), sentence).at(invariant.path.text());
    let reason = reason.checked("ref", bound.clone());
    Some(match wrong {
        Some(value) => reason.found("value", value.clone()),
        None => reason,
    })
}

fn is_equal(value: &Json, bound: &Json, tolerance: Option<f64>) -> bool {
    let Some(tolerance) = tolerance else { return same(value, bound) };
    match (Num::of(value), Num::of(bound)) {
        // Nothing but 0 is near 0.
        (Some(value), Some(bound)) if bound.as_f64() == 0.0 => value.as_f64() == 0.0,
        (Some(value), Some(bound)) => is_near(value, bound, tolerance),
        _ => false,
    }
}
