//! Why a run stands as it does, in one sentence. Verdicts go by cells, and counts by scenarios: the sentence says both.

use maud::{Markup, html};
use scenario::report::{overall_explained, overall_number};
use scenario::score::{CellVerdict, ContractVerdict, ExperimentScore, ExperimentVerdict};
use scenario::untrusted;
use store::{Run, RunState};

use super::Shown;
use super::choice::Choice;
use super::summary::not_run;
use crate::web::numbers::{count, count_noun};
use crate::web::untrusted_html;

/// The most caveats that are shown.
const CAVEATS: usize = 10;

/// The verdict of a run that has ended.
pub(super) fn sentence(shown: &Shown) -> Markup {
    let (run, score) = (&shown.run, shown.score());
    let said = match (run.state, score.verdict) {
        (RunState::Open, _) => return html! {},
        (RunState::Cancelled, _) => unfinished(run, score),
        (RunState::Finished, ExperimentVerdict::Pass) => passed(score),
        (RunState::Finished, ExperimentVerdict::Fail) => failed(shown, score),
        (RunState::Finished, ExperimentVerdict::Error | ExperimentVerdict::Pending) => errored(score),
    };
    html! { p.verdict { (said) "." } }
}

/// Renders caveats of the results.
pub(super) fn caveats(shown: &Shown) -> Markup {
    let caveats = &shown.numbers.thing.caveats;
    html! {
        @for caveat in caveats.iter().take(CAVEATS) { p.notice.unsure { strong { "Caveat" } ": " (untrusted_html::short_prose(caveat, 500)) } }
        @if caveats.len() > CAVEATS { p.quiet { "and " (count_noun((caveats.len() - CAVEATS) as u64, "more caveat")) } }
    }
}

fn unfinished(run: &Run, score: &ExperimentScore) -> Markup {
    html! {
        strong { "No verdict" } ": "
        a href="#scenarios" { (count(not_run(run, score))) " of " (count_noun(run.total, "scenario")) } " were not run"
    }
}

fn passed(score: &ExperimentScore) -> Markup {
    if let Some(contract) = score.contract.as_ref().filter(|_| score.cells.iter().all(|cell| cell.of_contract)) {
        let score = contract.score_text();
        return html! { strong { "Passed" } ": " a href="#contract" { "the contract" } " is kept, with a resilience score of " (score) };
    }
    let missed = (score.failed + score.flaky) as u64;
    html! {
        strong { "Passed" } ": "
        a href="#grid" { @match score.cells.len() { 1 => "the only cell", cells => { "all " (count(cells as u64)) " cells" } } }
        @if score.cells.len() == 1 { " reaches its bar" } @else { " reach their bar" }
        @if missed > 0 { ", although " a href="#scenarios" { (count_noun(missed, "scenario")) } " did not pass" }
    }
}

fn failed(shown: &Shown, score: &ExperimentScore) -> Markup {
    if let Some(contract) = score.contract.as_ref().filter(|contract| contract.verdict == ContractVerdict::Fail) {
        return html! { strong { "Failed" } ": " a href="#contract" { "the contract" } " is broken: " (contract.why()) };
    }
    let own = score.cells.iter().any(|cell| cell.decides() && cell.verdict == CellVerdict::Fail);
    if let Some(missed) = missed_bar(score).filter(|_| !own) {
        return missed;
    }
    let cells = score.cells.len();
    let below = score.cells.iter().filter(|cell| cell.verdict == CellVerdict::Fail).count();
    let violations = score.metrics.side_effect_violations;
    html! {
        strong { "Failed" } ": "
        a href="#grid" { @match cells { 1 => "the only cell", _ => { (count(below as u64)) " of " (count(cells as u64)) " cells" } } }
        @if cells == 1 || below == 1 { " is below its bar" } @else { " are below their bar" }
        @match &shown.numbers.thing.most_missed {
            Some((name, scenarios)) => {
                "; most often missed: " code { (untrusted::line(name, 100)) } " ("
                a href=(shown.at(Choice::Missed, 0, "scenarios")) { (count_noun(*scenarios, "scenario")) } ")"
            }
            None if violations > 0 => { "; forbidden rules were broken " (count_noun(violations, "time")) },
            None => {},
        }
    }
}

/// The bar for mutations or for the overall score that was missed.
fn missed_bar(score: &ExperimentScore) -> Option<Markup> {
    let mutations = score.mutations.as_ref().filter(|mutations| mutations.verdict == CellVerdict::Fail);
    let overall = score.overall.as_ref().filter(|overall| overall.verdict == CellVerdict::Fail);
    match (mutations, overall) {
        (Some(mutations), _) => Some(html! {
            strong { "Failed" } ": " a href="#mutations" { "mutations" } " have a robustness of " (mutations.robustness_text())
            ": " (mutations.why())
        }),
        (None, Some(overall)) => Some(html! {
            strong { "Failed" } ": the " a href="#overall" { "overall score" } " is " (overall_number(overall))
            ": " (overall_explained(overall))
        }),
        (None, None) => None,
    }
}

fn errored(score: &ExperimentScore) -> Markup {
    html! {
        strong { "No verdict" } ": "
        a href="#scenarios" { (count(score.errors as u64)) " of " (count_noun(score.total as u64, "scenario")) }
        " could not be judged, and no cell failed"
    }
}
