//! The way to other scenarios of the run: the replicas of the same cell, and those that did not pass.

use maud::{Markup, html};
use scenario::plan::ScenarioId;
use scenario::score::{ExperimentScore, Status};

use super::Shown;
use crate::web::badges::Mark;

/// The most replicas that are offered.
const REPLICAS: usize = 100;

/// A scenario that did not pass, and how it ended.
type Missed<'a> = (&'a ScenarioId, Status);

/// The way to other scenarios that have ended.
pub(super) fn section(shown: &Shown) -> Markup {
    let Some(numbers) = &shown.numbers else { return html! {} };
    let score = &numbers.thing.score;
    let own = &shown.found.stored.scenario.id;
    let [before, after] = missed(score, own);
    let replicas = replicas(shown, score);
    html! {
        @if replicas.len() > 1 {
            p.beside { span.quiet { "Replicas " } @for (id, replica, mark) in replicas {
                @let words = format!("replica {replica}: {}", mark.word());
                a class={ "sign " (mark.class()) } href=(shown.beside(id)) title=(words) aria-label=(words)
                    aria-current=[(id == own).then_some("page")] { (mark.sign()) }
            } }
        }
        @if before.is_some() || after.is_some() {
            nav.pager.beside aria-label="Scenarios that did not pass" {
                span.quiet { "Others that did not pass:" }
                @if let Some((id, status)) = before { (link(shown, "before it ", id, status)) }
                @if let Some((id, status)) = after { (link(shown, "after it ", id, status)) }
            }
        }
    }
}

fn link(shown: &Shown, words: &str, id: &ScenarioId, status: Status) -> Markup {
    html! { span {
        span.quiet { (words) } a href=(shown.beside(id)) { (id) } " " (Mark::of_status(status).badge())
    } }
}

/// The nearest scenarios before and after this one that did not pass.
fn missed<'a>(score: &'a ExperimentScore, own: &ScenarioId) -> [Option<Missed<'a>>; 2] {
    let Some(at) = score.statuses.get_index_of(own) else { return [None, None] };
    let is_missed = |(id, status): (&'a ScenarioId, &Status)| (*status != Status::Pass).then_some((id, *status));
    let before = score.statuses.iter().take(at).filter_map(is_missed).next_back();
    [before, score.statuses.iter().skip(at + 1).find_map(is_missed)]
}

/// The replicas of this scenario's cell that have ended, and how.
fn replicas<'a>(shown: &Shown, score: &'a ExperimentScore) -> Vec<(&'a ScenarioId, &'a str, Mark)> {
    let prefix = format!("{}-r", shown.found.stored.scenario.cell);
    let of_cell = |(id, status): (&'a ScenarioId, &Status)| {
        let replica = id.as_str().strip_prefix(&prefix)?;
        replica.bytes().all(|byte| byte.is_ascii_digit()).then(|| (id, replica, Mark::of_status(*status)))
    };
    score.statuses.iter().filter_map(of_cell).take(REPLICAS).collect()
}
