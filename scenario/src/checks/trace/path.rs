//! The steps of a run beside those that are expected.

use super::Step;
use super::seen_steps::{SeenStep, SeenSteps};
use crate::count_noun;
use crate::verdict::Verdict;

/// Maximum number of steps that a message names.
const MOST_NAMED: usize = 6;

/// Fails at the first step of a path that was not taken.
pub(super) fn require(path: &[Step], is_exact: bool, seen: &SeenSteps<'_>) -> Result<(), Box<Verdict>> {
    if is_exact { require_all(path, seen) } else { require_some(path, seen) }
}

/// The run took exactly these steps.
fn require_all(path: &[Step], seen: &SeenSteps<'_>) -> Result<(), Box<Verdict>> {
    for place in 0..path.len().max(seen.all.len()) {
        let number = place + 1;
        let message = match (path.get(place), seen.all.get(place)) {
            (Some(expected), Some(found)) if found.is(expected) => continue,
            (Some(expected), Some(found)) => format!("expected step {number} `{expected}`, found `{found}`"),
            (Some(expected), None) => {
                let message = format!("expected step {number} `{expected}`, found the end of the run");
                return Err(Box::new(seen.unless_missing(message, number)));
            }
            (None, Some(found)) => format!("expected {}, found one more: `{found}`", count_noun(path.len(), "step")),
            (None, None) => continue,
        };
        return Err(Box::new(Verdict::failed(message).with_detail("step", number)));
    }
    seen.require_whole()
}

/// The run took these steps in this order, and maybe others.
fn require_some(path: &[Step], seen: &SeenSteps<'_>) -> Result<(), Box<Verdict>> {
    let mut rest = seen.all.as_slice();
    for (place, expected) in path.iter().enumerate() {
        let Some(found) = rest.iter().position(|step| step.is(expected)) else {
            let number = place + 1;
            let after = place.checked_sub(1).and_then(|before| path.get(before));
            let after = after.map(|before| format!(" after `{before}`")).unwrap_or_default();
            let message = format!("expected step {number} `{expected}`{after}, found {}", named(rest));
            return Err(Box::new(seen.unless_missing(message, number)));
        };
        rest = &rest[found + 1..];
    }
    Ok(())
}

/// The run ended with this step.
pub(super) fn require_last(expected: &Step, seen: &SeenSteps<'_>) -> Result<(), Box<Verdict>> {
    seen.require_whole()?;
    match seen.all.last() {
        Some(last) if last.is(expected) => Ok(()),
        Some(last) => Err(Box::new(Verdict::failed(format!("expected the last step `{expected}`, found `{last}`")))),
        None => Err(Box::new(Verdict::failed(format!("expected the last step `{expected}`, found no step")))),
    }
}

/// Steps for a message.
fn named(steps: &[SeenStep<'_>]) -> String {
    let mut named: Vec<_> = steps.iter().take(MOST_NAMED).map(|step| format!("`{step}`")).collect();
    if steps.len() > MOST_NAMED {
        named.push(format!("and {} more", steps.len() - MOST_NAMED));
    }
    if named.is_empty() { "no more steps".to_owned() } else { named.join(", ") }
}

impl SeenSteps<'_> {
    /// The verdict when a step was not found, which proves nothing when some are missing.
    fn unless_missing(&self, message: String, number: usize) -> Verdict {
        let verdict = match &self.missing {
            Some(missing) => Verdict::unproven(format!("{message} ({missing})")),
            None => Verdict::failed(message),
        };
        verdict.with_detail("step", number)
    }

    /// Fails when some steps are missing.
    fn require_whole(&self) -> Result<(), Box<Verdict>> {
        match &self.missing {
            Some(missing) => Err(Box::new(Verdict::unproven(format!("the steps are known in part only: {missing}")))),
            None => Ok(()),
        }
    }
}
