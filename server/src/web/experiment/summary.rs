//! The numbers of a run. Each leads to what it was made from.

use maud::{Markup, html};
use scenario::score::{ExperimentScore, Status};
use store::{Run, RunState};

use super::Shown;
use super::choice::Choice;
use crate::web::badges::is_ending;
use crate::web::numbers::{count, count_noun, duration, money, percent, precise, score as two_digits};

/// The numbers of a run as tiles.
pub(super) fn tiles(shown: &Shown) -> Markup {
    let (run, score) = (&shown.run, shown.score());
    let metrics = &score.metrics;
    let took = run.ended_at.map(|ended| ended.duration_since(run.created_at).as_millis());
    let took = took.map_or_else(|| "…".to_owned(), |took| duration(u64::try_from(took).unwrap_or(0)));
    let judged = score.passed + score.failed + score.flaky;
    let not_run = not_run(run, score);
    html! {
        @if run.state == RunState::Open { (progress(run, not_run)) }
        dl.tiles {
            div {
                dt { "Pass rate" }
                dd { a href="#grid" { @if judged > 0 { (percent(metrics.pass_rate)) } @else { "–" } } }
                @if let Some(range) = &metrics.pass_rate_interval {
                    dd.more { "95 %: " (percent(range.low)) " to " (percent(range.high)) }
                }
            }
            div {
                dt { "Scenarios" }
                dd { a href="#scenarios" { (score.passed) span.quiet { " / " (score.total) } } }
                dd.more {
                    (chosen(shown, Status::Fail, &format!("{} failed", score.failed))) ", "
                    (chosen(shown, Status::Flaky, &format!("{} flaky", score.flaky))) ", "
                    (chosen(shown, Status::Error, &count_noun(score.errors as u64, "error")))
                    @if not_run > 0 { ", " a href=(shown.at(Choice::Unended, 0, "scenarios")) { strong { (not_run) " not run" } } }
                }
            }
            div {
                dt { abbr title="The share of cells of which every judged replica passed" { "pass^k" } }
                dd { a href="#grid" { @if judged > 0 { (percent(metrics.mean_pass_k)) } @else { "–" } } }
                @if metrics.pass_curve.len() > 1 { dd.more { (curve(&metrics.pass_curve)) } }
            }
            div {
                dt { "Composite" }
                dd { a href="#scenarios" { @if judged > 0 { (two_digits(metrics.mean_composite)) } @else { "–" } } }
                dd.more { "mean of judged" }
            }
            div {
                dt { "Cost" }
                dd { a href="#scenarios" { (money(metrics.total_cost_usd)) } }
                dd.more {
                    (count_noun(metrics.total_tokens, "token"))
                    @if metrics.unpriced > 0 { ", " (metrics.unpriced) " without a price" }
                }
            }
            div {
                dt { "Took" }
                dd { a href="#scenarios" { (took) } }
                @if judged > 0 {
                    dd.more { "scenario " (duration(metrics.mean_wall_ms)) ", p95 " (duration(metrics.p95_wall_ms)) }
                }
            }
            @if metrics.side_effect_violations > 0 {
                div {
                    dt { "Violations" }
                    dd { a href="#scenarios" { (metrics.side_effect_violations) } }
                    dd.more { "of forbidden rules" }
                }
            }
        }
    }
}

/// A number that leads to the scenarios that were counted, if there is any.
fn chosen(shown: &Shown, status: Status, words: &str) -> Markup {
    let choice = Choice::Ended(status);
    html! {
        @if choice.count(&shown.run, shown.score()) > 0 { a href=(shown.at(choice, 0, "scenarios")) { (words) } } @else { (words) }
    }
}

/// Counts the scenarios of a cancelled run that will not be run: they have ended without a result.
pub(super) fn not_run(run: &Run, score: &ExperimentScore) -> u64 {
    match run.reason.is_some() || run.state == RunState::Cancelled {
        true => run.ended.saturating_sub(score.statuses.len() as u64),
        false => 0,
    }
}

/// Renders the progress of a run.
fn progress(run: &Run, not_run: u64) -> Markup {
    if is_ending(run) {
        return html! { p role="status" {
            (count_noun(run.total.saturating_sub(run.ended), "scenario")) " will be stopped soon, "
            (count(not_run)) " will not be run."
        } };
    }
    let share = if run.total == 0 { 0.0 } else { precise(run.ended) / precise(run.total) };
    html! {
        p.progress role="status" {
            progress max="1" value=(format!("{share:.3}")) aria-label="Scenarios that have ended" {}
            span {
                (run.ended) " of " (count_noun(run.total, "scenario")) @if run.total == 1 { " has ended" } @else { " have ended" }
            }
        }
    }
}

/// pass^1, pass^2, … as far as there is room.
fn curve(curve: &[f64]) -> Markup {
    html! {
        @for (at, share) in curve.iter().enumerate().take(4) { @if at > 0 { " · " } "^" (at + 1) " " (percent(*share)) }
    }
}
