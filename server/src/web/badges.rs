//! Statuses as a sign and a word: never by colour alone.

use maud::{Markup, html};
use scenario::result::{RowStatus, ScenarioResult};
use scenario::score::{ExperimentVerdict, Status};
use scenario::verdict::Outcome;
use store::{Run, RunState};

/// A status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// It passed.
    Pass,
    /// It failed.
    Fail,
    /// It failed, and a replica passed.
    Flaky,
    /// It could not be judged.
    Error,
    /// It passed without a fault where faults were required.
    Inconclusive,
    /// It is being run.
    Running,
    /// It waits.
    Waiting,
    /// It was not run, and will not be.
    NotRun,
}

impl Mark {
    /// The sign.
    pub(super) const fn sign(self) -> &'static str {
        match self {
            Self::Pass => "✓",
            Self::Fail => "✗",
            Self::Flaky => "≈",
            Self::Error => "!",
            Self::Inconclusive => "?",
            Self::Running => "▸",
            Self::Waiting => "·",
            Self::NotRun => "–",
        }
    }

    /// The word, for people.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Pass => "passed",
            Self::Fail => "failed",
            Self::Flaky => "flaky",
            Self::Error => "error",
            Self::Inconclusive => "inconclusive",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::NotRun => "not run",
        }
    }

    /// The class that gives it its colour.
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Flaky => "flaky",
            Self::Error | Self::Inconclusive => "error",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::NotRun => "not-run",
        }
    }

    /// Sign and word.
    pub(super) fn badge(self) -> Markup {
        html! { span class={ "badge " (self.class()) } { span.sign aria-hidden="true" { (self.sign()) } (self.word()) } }
    }

    /// Returns the mark of an invariant's outcome.
    pub(super) const fn of_outcome(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Passed => Self::Pass,
            Outcome::Failed => Self::Fail,
            Outcome::Errored(_) => Self::Error,
        }
    }

    /// The status of a scenario that has ended.
    pub(super) const fn of_status(status: Status) -> Self {
        match status {
            Status::Pass => Self::Pass,
            Status::Fail => Self::Fail,
            Status::Flaky => Self::Flaky,
            Status::Error => Self::Error,
        }
    }

    /// Returns the mark of a scenario with this result.
    pub(super) fn of_result(status: Status, result: &ScenarioResult) -> Self {
        if result.is_inconclusive() { Self::Inconclusive } else { Self::of_status(status) }
    }

    /// Returns the mark of a scenario, without the others of its cell.
    pub(super) fn of_row(result: &ScenarioResult) -> Self {
        match result.status {
            RowStatus::Pass => Self::Pass,
            RowStatus::Fail => Self::Fail,
            RowStatus::Error if result.is_inconclusive() => Self::Inconclusive,
            RowStatus::Error => Self::Error,
        }
    }

    /// The summary of a run.
    pub(super) const fn of_run(state: RunState, verdict: Option<ExperimentVerdict>) -> Self {
        match (state, verdict) {
            (RunState::Open, _) => Self::Running,
            (RunState::Cancelled, _) => Self::NotRun,
            (RunState::Finished, Some(ExperimentVerdict::Pass)) => Self::Pass,
            (RunState::Finished, Some(ExperimentVerdict::Fail)) => Self::Fail,
            (RunState::Finished, _) => Self::Error,
        }
    }
}

/// True when the run is being cancelled, and some of its scenarios are still being stopped.
pub(super) fn is_ending(run: &Run) -> bool {
    run.state == RunState::Open && run.reason.is_some()
}

/// The badge of a run: one that is being cancelled is `ending`.
pub(super) fn standing_badge(run: &Run) -> Markup {
    if !is_ending(run) {
        return run_badge(run.state, run.verdict);
    }
    let mark = Mark::Running;
    html! { span class={ "badge " (mark.class()) } { span.sign aria-hidden="true" { (mark.sign()) } "ending" } }
}

/// The badge of a run: one that was cancelled is `cancelled`.
pub(super) fn run_badge(state: RunState, verdict: Option<ExperimentVerdict>) -> Markup {
    let mark = Mark::of_run(state, verdict);
    let word = if state == RunState::Cancelled { "cancelled" } else { mark.word() };
    html! { span class={ "badge " (mark.class()) } { span.sign aria-hidden="true" { (mark.sign()) } (word) } }
}
