//! `every A, then B`: what is owed and did not follow. It is found when the window has passed, and blocks nothing.

use super::violation;
use crate::decide::Reason;
use crate::read::rule::{Obligation, SessionRule};
use crate::reason::name;
use crate::state::rules::Duty;

/// The reason for a call after which nothing followed.
pub(crate) fn unmet(rule: &SessionRule, obligation: &Obligation, duty: &Duty) -> Reason {
    let when = obligation.within.map_or_else(|| "before the session ended".to_owned(), |window| window.words());
    let same = obligation.same.as_ref().map(|path| format!(" with the same `{path}`")).unwrap_or_default();
    let (tool, then) = (name(&obligation.tool.name), name(&obligation.then.name));
    let sentence = format!("{tool} must be followed by a call of {then}{same} {when}, and none committed");
    let reason = violation(rule, &sentence, &[&duty.call]).checked("then", obligation.then.name.as_str());
    match &obligation.same {
        Some(path) => reason.at(path.text()),
        None => reason,
    }
}
