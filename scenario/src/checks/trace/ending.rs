//! The end of a run, and its reason.

use crate::checks::Case;
use crate::checks::contains::fold_case;
use crate::checks::input::shown;
use crate::evidence::{Exit, Limit};
use crate::spec::section::choice;
use crate::spec::types::Filled;
use crate::verdict::{ErrorCause, Verdict};

choice! {
    /// How a run ended.
    pub enum RunStatus {
        /// The agent ended by itself with exit code 0, and no limit fired.
        Completed = "completed",
        /// The agent ended by itself with another exit code: it says that it failed.
        Failed = "failed",
        /// A limit on time stopped it: `agent.timeout` or `resources.timeout`.
        TimedOut = "timed_out",
        /// Another limit fired, a signal ended it, or it never started.
        Errored = "errored",
    }
}

impl RunStatus {
    /// Returns the end of a run.
    pub(super) fn of(case: &Case<'_>) -> Self {
        let limits = &case.evidence.limits;
        let is_time = |limit: Limit| matches!(limit, Limit::AgentTimeout | Limit::Timeout);
        match case.agent.exit {
            _ if limits.iter().any(|fired| is_time(fired.limit)) => Self::TimedOut,
            _ if !limits.is_empty() => Self::Errored,
            Some(Exit::Code(0)) => Self::Completed,
            Some(Exit::Code(_)) => Self::Failed,
            Some(Exit::Signal(_)) | None => Self::Errored,
        }
    }
}

/// Fails when the run ended in another way.
pub(super) fn require_status(expected: RunStatus, case: &Case<'_>) -> Result<(), Box<Verdict>> {
    let found = RunStatus::of(case);
    if found == expected {
        return Ok(());
    }
    let why = if found == RunStatus::Completed { String::new() } else { format!(" ({})", ends(case).join("; ")) };
    Err(Box::new(Verdict::failed(format!("expected the run to be `{expected}`, found `{found}`{why}"))))
}

/// Fails when a text is not in the reason for which the run did not complete.
pub(super) fn require_reason(text: &Filled, case: &Case<'_>) -> Result<(), Box<Verdict>> {
    let text = text.render(case.values);
    if text.trim().is_empty() {
        let message = "`reason_contains` is empty once it is filled, and every reason contains that";
        return Err(Box::new(Verdict::errored(ErrorCause::UnusableCheck, message)));
    }
    if RunStatus::of(case) == RunStatus::Completed {
        let message = format!("expected a reason that contains {}, and the run completed", shown(&text));
        return Err(Box::new(Verdict::failed(message)));
    }
    let (ends, stderr) = (ends(case), &case.agent.stderr);
    let pieces = ends.iter().map(String::as_str).chain([stderr.head.as_str()]).chain(stderr.tail.as_deref());
    if pieces.map(fold_case).any(|piece| piece.contains(&fold_case(&text))) {
        return Ok(());
    }
    let printed = if stderr.head.is_empty() { String::new() } else { format!("; {}", shown(&stderr.last(200))) };
    let message = format!("expected a reason that contains {}, found {}{printed}", shown(&text), ends.join("; "));
    Err(Box::new(if stderr.is_complete() { Verdict::failed(message) } else { Verdict::unproven(message) }))
}

/// The limits that fired, and how the agent ended.
fn ends(case: &Case<'_>) -> Vec<String> {
    let limits = case.evidence.limits.iter();
    let mut ends: Vec<_> = limits
        .map(|fired| format!("limit `{}`: {}", fired.limit, crate::untrusted::line(&fired.detail, 200)))
        .collect();
    match case.agent.exit {
        Some(exit) => ends.push(exit.to_string()),
        None if ends.is_empty() => ends.push("it did not run to its end".to_owned()),
        None => {}
    }
    ends
}
