//! The judges of a run: their scores, how far they agree, and what they cost.

use maud::{Markup, html};
use scenario::score::JudgeScore;

use super::Shown;
use crate::web::numbers::{count, money, percent, score};
use crate::web::tables::{Head, table};
use crate::web::untrusted_html;

const COLUMNS: [Head<'_>; 7] = [
    Head::Text("Invariant"),
    Head::Number("Mean"),
    Head::Number("Spread"),
    Head::Number("Agreement"),
    Head::Number("Calls"),
    Head::Number("Tokens"),
    Head::Number("Cost"),
];

/// The judges of a run; nothing where none was asked.
pub(super) fn section(shown: &Shown) -> Markup {
    let judges = &shown.score().judges;
    let place = format!("/experiments/{}/labels?run={}", shown.experiment.id, shown.run.id.number);
    html! {
        @if !judges.is_empty() {
            section aria-labelledby="judges" {
                h2 #judges { "Judges" }
                (table("Judges", "wide", &COLUMNS, &html! { @for judge in judges { (row(judge)) } }))
                p.after { a href=(place) { "Label outputs by hand" } ", to see how far the judges can be trusted." }
            }
        }
    }
}

fn row(judge: &JudgeScore) -> Markup {
    html! {
        tr {
            th scope="row" { code { (untrusted_html::line(&judge.invariant, 100)) } span.quiet { " of " (judge.judged) } }
            td.number { (score(judge.mean)) }
            td.number { @if let Some(spread) = judge.spread { (score(spread)) } @else { "–" } }
            td.number { @if let Some(agreement) = judge.agreement { (percent(agreement)) } @else { "–" } }
            td.number { (judge.calls) @if judge.cached > 0 { span.quiet { " (" (judge.cached) " given before)" } } }
            td.number { (count(judge.tokens)) }
            td.number { @if let Some(cost) = judge.cost_usd { (money(cost)) } @else { "no price" } }
        }
    }
}
