//! `at_most N, of A`: no value has more than N calls, those in flight and in the batch included.

use super::{shown_instance, violation};
use crate::call::Call;
use crate::decide::{Context, Reason};
use crate::read::rule::{Quota, SessionRule};
use crate::reason::name;
use crate::state::rules::{CountedCalls, instances};

/// The reason when the call would be one too many for one of its values, or has none.
pub(super) fn problem(
    context: &Context<'_>,
    rule: &SessionRule,
    quota: &Quota,
    counted: &CountedCalls,
) -> Option<Reason> {
    let call = context.call;
    let values = instances(quota.per.as_ref(), &call.arguments);
    if values.is_empty() {
        let path = quota.per.as_ref().map(ToString::to_string).unwrap_or_default();
        let sentence =
            format!("{} must give `{path}`, by which its calls are counted, and it is missing", name(&call.tool));
        return Some(reason(rule, quota, &sentence, &[&call.id]));
    }
    values.iter().find_map(|value| {
        let before = before(context, quota, counted, value);
        let is_full = u64::try_from(before.len()).unwrap_or(u64::MAX) >= quota.most;
        // The calls that fill the quota and this one are enough to see it.
        let enough = usize::try_from(quota.most).unwrap_or(usize::MAX);
        let witness: Vec<&str> = before.iter().take(enough).copied().chain([call.id.as_str()]).collect();
        is_full.then(|| reason(rule, quota, &sentence(quota, value, before.len()), &witness))
    })
}

/// The calls about a value before this one, which itself may be counted already.
fn before<'a>(context: &Context<'a>, quota: &Quota, counted: &'a CountedCalls, value: &str) -> Vec<&'a str> {
    let is_own = |id: &str| id == context.call.id;
    let kept = counted.of(value).iter().map(String::as_str);
    let is_counted =
        |call: &&Call| call.tool == quota.tool.name && instances(quota.per.as_ref(), &call.arguments).contains(value);
    let in_batch = context.batch.accepted.iter().filter(is_counted).map(|call| call.id.as_str());
    kept.chain(in_batch).filter(|id| !is_own(id)).collect()
}

/// The reason when no call is left whatever its arguments are.
pub(super) fn used_up_for_all(rule: &SessionRule, quota: &Quota, counted: &CountedCalls) -> Option<Reason> {
    let calls = counted.of("");
    let count = u64::try_from(calls.len()).unwrap_or(u64::MAX);
    let is_used_up = quota.most == 0 || (quota.per.is_none() && count >= quota.most);
    let enough = usize::try_from(quota.most).unwrap_or(usize::MAX);
    let witness: Vec<&str> = calls.iter().take(enough).map(String::as_str).collect();
    is_used_up.then(|| reason(rule, quota, &sentence(quota, "", calls.len()), &witness))
}

fn sentence(quota: &Quota, value: &str, before: usize) -> String {
    let per = quota.per.as_ref().filter(|_| !value.is_empty());
    let per = per.map(|path| format!(" for `{path}` {}", shown_instance(value))).unwrap_or_default();
    let (tool, most) = (name(&quota.tool.name), quota.most);
    let times = if most == 1 { "time" } else { "times" };
    format!("{tool} may be called {most} {times} at most{per}, and this would be call {}", before + 1)
}

fn reason(rule: &SessionRule, quota: &Quota, sentence: &str, witness: &[&str]) -> Reason {
    let reason = violation(rule, sentence, witness).checked("at_most", quota.most);
    match &quota.per {
        Some(path) => reason.at(path.text()),
        None => reason,
    }
}
