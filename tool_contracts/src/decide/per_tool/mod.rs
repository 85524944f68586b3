//! L1: the rules of the tool itself.

pub(crate) mod argument_invariants;
pub(crate) mod assertions;
pub(crate) mod exchange;
pub(crate) mod execution_constraints;
pub(crate) mod forbids;
pub(crate) mod phase;
pub(crate) mod preconditions;
pub(crate) mod response_format;

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::Reason;
use crate::code::Code;
use crate::invariant::{Failure, Invariant};
use crate::reason::{shown, shown_or_missing};

/// A reason for each invariant that does not hold.
fn failures<'a>(
    code: Code,
    of: &str,
    invariants: impl IntoIterator<Item = &'a Invariant>,
    root: &Json,
    env: &BTreeMap<String, String>,
    reasons: &mut Vec<Reason>,
) {
    for invariant in invariants {
        if let Err(failure) = invariant.check(root, env) {
            reasons.push(broken(code, of, invariant, &failure));
        }
    }
}

/// The reason for an invariant that does not hold.
fn broken(code: Code, of: &str, invariant: &Invariant, failure: &Failure) -> Reason {
    let (operator, operand) = &failure.checked;
    let sentence = format!(
        "{of} `{}` must be {operator} {}, and is {}",
        invariant.path,
        shown(operand),
        shown_or_missing(failure.found.as_ref())
    );
    let reason = Reason::new(code, invariant.rule.clone(), sentence).at(invariant.path.text());
    let reason = reason.checked(operator, operand.clone());
    match &failure.found {
        Some(value) => reason.found("value", value.clone()),
        None => reason,
    }
}
