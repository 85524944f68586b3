//! The mutations of a run: their kinds with the share that passed, and a link to each that failed; and the overall score.

use maud::{Markup, html};
use scenario::report::{overall_explained, overall_number};
use scenario::score::{CellVerdict, MutationKindScore, MutationScore};

use super::Shown;
use crate::web::numbers::{count_noun, precise};
use crate::web::untrusted_html;

/// The number of failed mutations that are listed.
const FAILED: usize = 100;
/// The length at which reasons are cut.
const REASON: usize = 300;

/// The mutations of a run; nothing when it has none.
pub(super) fn section(shown: &Shown) -> Markup {
    let score = shown.score();
    html! {
        @if let Some(mutations) = &score.mutations {
            section aria-labelledby="mutations" {
                h2 #mutations { "Mutations" }
                (sentence(mutations))
                (kinds(mutations))
                (failed(shown, mutations))
            }
        }
    }
}

/// The verdict, in one sentence.
fn sentence(mutations: &MutationScore) -> Markup {
    html! {
        p { strong { (word(mutations.verdict)) } ": " (mutations.why()) ". Robustness " strong { (mutations.robustness_text()) } " of 1." }
    }
}

pub(super) const fn word(verdict: CellVerdict) -> &'static str {
    match verdict {
        CellVerdict::Pass => "Passed",
        CellVerdict::Fail => "Failed",
        CellVerdict::Undecided => "Undecided",
        CellVerdict::Error => "Could not be judged",
        CellVerdict::Pending => "Not ended",
    }
}

fn kinds(mutations: &MutationScore) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Kinds of mutations" {
            table {
                thead { tr {
                    th scope="col" { "Kind" }
                    th.number scope="col" { "Weight" }
                    th.number scope="col" { "Passed" }
                    th scope="col" { "Share" }
                } }
                tbody { @for kind in &mutations.kinds { (row(kind)) } }
            }
        }
    }
}

fn row(kind: &MutationKindScore) -> Markup {
    let judged = kind.passed + kind.failed;
    let share = if judged == 0 { 0.0 } else { precise(kind.passed as u64) / precise(judged as u64) };
    let words = format!("{} of {judged} passed", kind.passed);
    html! {
        tr {
            th scope="row" { (kind.kind.word()) }
            td.number { (format!("{:.1}", kind.weight)) }
            td.number {
                (kind.passed) " of " (judged)
                @if kind.planned > judged { br; span.quiet { (kind.planned - judged) " not judged" } }
            }
            td { meter min="0" max="1" value=(format!("{share:.3}")) aria-label=(words) { (words) } }
        }
    }
}

/// The mutations that failed, each with a link to its run, where its prompt is.
fn failed(shown: &Shown, mutations: &MutationScore) -> Markup {
    html! {
        @if !mutations.failed.is_empty() { ul { @for one in mutations.failed.iter().take(FAILED) { li {
            a href={ (shown.link(one.scenario.as_str())) "#task" } { (one.scenario) } ": " (untrusted_html::line(&one.reason, REASON))
        } } } }
        @if mutations.failed.len() > FAILED {
            p.quiet { "and " (count_noun((mutations.failed.len() - FAILED) as u64, "more mutation")) }
        }
    }
}

/// The overall score of a run; nothing when it has none.
pub(super) fn overall(shown: &Shown) -> Markup {
    let Some(overall) = &shown.score().overall else { return html! {} };
    html! {
        section aria-labelledby="overall" {
            h2 #overall { "Overall score" }
            p { @if overall.verdict != CellVerdict::Pass { strong { (word(overall.verdict)) } ": " } strong { (overall_number(overall)) } " of 1." }
            p.quiet { (overall_explained(overall)) }
        }
    }
}
