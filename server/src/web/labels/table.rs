//! The agreement of judges with people.

use maud::{Markup, html};
use scenario::judge_calibration::{Calibration, Disagreement, InvariantCalibration};

use crate::web::numbers::{count_noun, percent, score};
use crate::web::tables::{Head, table};
use crate::web::untrusted_html;

/// The most disagreements of an invariant that are listed.
const MOST_APART: usize = 50;

const COLUMNS: [Head<'_>; 7] = [
    Head::Text("Invariant"),
    Head::Number("Compared"),
    Head::Number("Agreement"),
    Head::Number("κ"),
    Head::Number("Too lenient"),
    Head::Number("Too strict"),
    Head::Text("Threshold"),
];

const APART: [Head<'_>; 4] = [Head::Text("Scenario"), Head::Number("Judge"), Head::Text("People"), Head::Text("Notes")];

/// The judges beside labels; nothing before the first label.
pub(super) fn agreement(calibration: &Calibration, place: &str, run: u32) -> Markup {
    html! {
        @if !calibration.invariants.is_empty() {
            section aria-labelledby="agreement" {
                h2 #agreement { "Judges and people" }
                p.quiet { "Of the outputs that you labelled, with the labels of everybody." }
                (table("Judges and people", "wide", &COLUMNS, &html! {
                    @for invariant in &calibration.invariants { (row(invariant)) }
                }))
                @for invariant in &calibration.invariants { (apart(invariant, place, run)) }
            }
        }
    }
}

fn row(found: &InvariantCalibration) -> Markup {
    let agreement = &found.agreement;
    html! {
        tr {
            th scope="row" { code { (untrusted_html::line(&found.invariant, 100)) } }
            td.number {
                (agreement.confusion.pairs())
                @if found.undecided > 0 { span.quiet { " (" (found.undecided) " split)" } }
            }
            td.number {
                @if let Some(raw) = agreement.raw { (percent(raw)) } @else { "–" }
                @if let Some(range) = agreement.raw_interval { span.quiet { " (" (percent(range.low)) " to " (percent(range.high)) ")" } }
            }
            td.number {
                @if let Some(kappa) = agreement.kappa { (score(kappa)) } @else { "–" }
                @if let Some(range) = agreement.kappa_interval { span.quiet { " (" (score(range.low)) " to " (score(range.high)) ")" } }
            }
            td.number { (agreement.confusion.judge_only) }
            td.number { (agreement.confusion.people_only) }
            td {
                (score(found.threshold))
                @if let Some(best) = found.best { @if best.agreeing > agreement.confusion.agreeing() {
                    span.quiet { "; with " (score(best.suggested)) ", " (best.agreeing) " would agree" }
                } }
            }
        }
    }
}

fn apart(found: &InvariantCalibration, place: &str, run: u32) -> Markup {
    let apart = &found.disagreements;
    let title = format!("{} to review", count_noun(apart.len() as u64, "output"));
    html! {
        @if !apart.is_empty() {
            h3 { (title) ": " code { (untrusted_html::line(&found.invariant, 100)) } }
            (table(&title, "wide", &APART, &html! { @for one in apart.iter().take(MOST_APART) { (disagreement(one, place, run)) } }))
        }
    }
}

fn disagreement(apart: &Disagreement, place: &str, run: u32) -> Markup {
    html! {
        tr {
            th scope="row" { a href={ (place) "/scenarios/" (apart.scenario) "?run=" (run) } { (untrusted_html::line(&apart.scenario, 80)) } }
            td.number { (score(apart.score)) }
            td { @if apart.people_pass { "pass" } @else { "fail" } }
            td { @for label in &apart.labels {
                div { (untrusted_html::line(&label.by, 60)) ": " (label.label) " " span.quiet { (untrusted_html::line(&label.note, 200)) } }
            } }
        }
    }
}
