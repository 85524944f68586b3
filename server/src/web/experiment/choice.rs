//! Which scenarios of a run are shown: all, or those that stand alike, in parts.

use maud::{Markup, html};
use scenario::score::{ExperimentScore, Status};
use store::{Run, RunState, StoreError, StoredScenario};

use super::{ExperimentQuery, PART, Shown};
use crate::app::App;
use crate::error::ApiError;
use crate::web::badges::is_ending;
use crate::web::numbers::count;

/// Which scenarios are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// All of them.
    All,
    /// Those that ended, and did not pass.
    Missed,
    /// Those that ended so.
    Ended(Status),
    /// Those without a result.
    Unended,
}

/// The choices, and the words for them in an address.
const CHOICES: [(Choice, &str); 7] = [
    (Choice::All, ""),
    (Choice::Missed, "missed"),
    (Choice::Ended(Status::Fail), "failed"),
    (Choice::Ended(Status::Flaky), "flaky"),
    (Choice::Ended(Status::Error), "error"),
    (Choice::Ended(Status::Pass), "passed"),
    (Choice::Unended, "unended"),
];

impl Choice {
    /// The choice that was asked for.
    pub(super) fn read(query: &ExperimentQuery) -> Result<Self, ApiError> {
        let found = CHOICES.into_iter().find(|(_, word)| *word == query.status);
        let (choice, _) = found.ok_or_else(|| ApiError::invalid("`status` is none of those on the page"))?;
        Ok(choice)
    }

    /// The word for it in an address.
    fn word(self) -> &'static str {
        CHOICES.into_iter().find_map(|(choice, word)| (choice == self).then_some(word)).unwrap_or_default()
    }

    /// Its label on a page.
    fn name(self, run: &Run) -> &'static str {
        match self {
            Self::All => "all",
            Self::Missed => "did not pass",
            Self::Unended if run.state == RunState::Open && !is_ending(run) => "not ended",
            Self::Unended => "not run",
            Self::Ended(_) => self.word(),
        }
    }

    /// True when it has scenarios with this status.
    fn has(self, status: Status) -> bool {
        match self {
            Self::All => true,
            Self::Missed => status != Status::Pass,
            Self::Ended(wanted) => status == wanted,
            Self::Unended => false,
        }
    }

    /// The number of its scenarios.
    pub(super) fn count(self, run: &Run, score: &ExperimentScore) -> u64 {
        match self {
            Self::All => run.total,
            Self::Ended(_) | Self::Missed => score.statuses.values().filter(|status| self.has(**status)).count() as u64,
            Self::Unended => run.total.saturating_sub(score.statuses.len() as u64),
        }
    }

    /// The part that begins there.
    pub(super) async fn part(
        self,
        app: &App,
        run: &Run,
        score: &ExperimentScore,
        from: u64,
    ) -> Result<Vec<StoredScenario>, StoreError> {
        match self {
            Self::All => app.store.scenarios_from(run.id, from, PART).await,
            Self::Unended => app.store.scenarios_without_result(run.id, from, PART).await,
            Self::Ended(_) | Self::Missed => {
                let ids = score.statuses.iter().filter(|(_, status)| self.has(**status)).map(|(id, _)| id.as_str());
                let (skipped, most) = (usize::try_from(from).unwrap_or(usize::MAX), usize::try_from(PART).unwrap_or(0));
                app.store.scenarios_named(run.id, ids.skip(skipped).take(most)).await
            }
        }
    }
}

/// Where a part begins that has something, when one is asked for that may lie behind the end.
pub(super) fn within(from: u64, many: u64) -> u64 {
    if from < many { from } else { many.saturating_sub(1) / PART * PART }
}

/// Links to each choice that has scenarios, back to this place of the page.
pub(super) fn chips(shown: &Shown, place: &str) -> Markup {
    let offered = offered(shown);
    // Where all stand alike, there is nothing to choose.
    if offered.len() < 3 && shown.choice == Choice::All {
        return html! {};
    }
    html! {
        nav.choices aria-label={ "Scenarios by status: " (place) } {
            @for (choice, many) in offered {
                a href=(shown.at(choice, 0, place)) aria-current=[(choice == shown.choice).then_some("true")] {
                    (choice.name(&shown.run)) " " (count(many))
                }
            }
        }
    }
}

/// The choices that have scenarios, and how many, besides the one that is shown. All that did not pass are offered
/// together when they did so in several ways.
fn offered(shown: &Shown) -> Vec<(Choice, u64)> {
    let (run, score) = (&shown.run, shown.score());
    let ways = [score.failed, score.flaky, score.errors].into_iter().filter(|many| *many > 0).count();
    let all = CHOICES.map(|(choice, _)| (choice, choice.count(run, score))).into_iter();
    let is_offered = |(choice, many): &(Choice, u64)| match choice {
        _ if *choice == shown.choice => true,
        Choice::Missed => ways > 1,
        _ => *many > 0,
    };
    all.filter(is_offered).collect()
}

/// The way to the other parts.
pub(super) fn pager(shown: &Shown, place: &str) -> Markup {
    let (from, many) = (shown.from, shown.choice.count(&shown.run, shown.score()));
    if many <= PART {
        return html! {};
    }
    let last = from + shown.part.len() as u64;
    html! {
        nav.pager aria-label={ "Parts of the run: " (place) } {
            @if from > 0 { a href=(shown.at(shown.choice, from.saturating_sub(PART), place)) { "← Before" } }
            span.quiet { "Scenarios " (count(from + 1)) " to " (count(last)) " of " (count(many)) }
            @if last < many { a rel="next" href=(shown.at(shown.choice, last, place)) { "Next →" } }
        }
    }
}

/// The part of an address that says what is shown.
pub(super) fn asked(choice: Choice, from: u64) -> String {
    let status = match choice {
        Choice::All => String::new(),
        _ => format!("&status={}", choice.word()),
    };
    let from = if from > 0 { format!("&from={from}") } else { String::new() };
    format!("{status}{from}")
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn a_part_behind_the_end_is_the_last_one() {
        for (from, many, expected) in
            [(0, 0, 0), (0, 240, 0), (7, 240, 7), (240, 240, 200), (9999, 240, 200), (9999, 200, 0), (9999, 400, 200)]
        {
            assert_eq!(within(from, many), expected, "{from} of {many}");
        }
    }
}
