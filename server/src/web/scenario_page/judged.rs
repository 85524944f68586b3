//! What was judged: why a scenario did not pass, and every invariant with what was expected and found.

use maud::{Markup, html};
use scenario::report::Row;
use scenario::result::InvariantResult;
use scenario::untrusted;

use super::Shown;
use super::answers::answers;
use crate::web::foreign;
use crate::web::json;
use crate::web::marks::Mark;
use crate::web::numbers::score as two_digits;

/// Everything that kept the scenario from passing, and the rules that it kept.
pub(super) fn why(shown: &Shown, row: &Row) -> Markup {
    let (reasons, marks, result) = (row.reasons(), shown.marks(), &row.result);
    html! {
        section aria-labelledby="why" {
            h2 #why { @if reasons.is_empty() { "Rules and limits" } @else { "Why it did not pass" } }
            @if !reasons.is_empty() {
                ul.reasons { @for (what, found) in &reasons {
                    li { @match index_of(row, what) {
                        Some(index) => a href={ "#invariant-" (index) } { (foreign::short_prose(what, 120)) },
                        None => strong { (foreign::short_prose(what, 120)) },
                    } " " span.message { (marks.prose(found)) } }
                } }
            }
            @if !result.forbidden.is_empty() {
                ul.plain { @for rule in &result.forbidden {
                    li {
                        (if rule.violated { Mark::Fail } else { Mark::Pass }.badge())
                        " forbidden " code { (untrusted::line(&rule.rule, 60)) }
                        @if !rule.details.is_empty() { " " span.message { (marks.prose(&rule.details)) } }
                    }
                } }
            }
            @if reasons.is_empty() && result.forbidden.is_empty() { p.quiet { "No limit fired, and no rule is stated." } }
            @if !result.notes.is_empty() { ul.notes { @for note in &result.notes { li { (marks.prose(note)) } } } }
        }
    }
}

/// The invariant that a reason is about.
fn index_of(row: &Row, what: &str) -> Option<usize> {
    row.result.invariants.iter().position(|one| what.starts_with(&format!("`{}` (", one.name)))
}

/// Every invariant.
pub(super) fn invariants(shown: &Shown, row: &Row) -> Markup {
    html! {
        section aria-labelledby="invariants" {
            h2 #invariants { "Invariants" }
            @if row.result.invariants.is_empty() { p.quiet { "None was judged." } }
            @for (index, one) in row.result.invariants.iter().enumerate() { (invariant(shown, index, one)) }
        }
    }
}

fn invariant(shown: &Shown, index: usize, one: &InvariantResult) -> Markup {
    let (verdict, marks) = (&one.verdict, shown.marks());
    let found = shown.evidence.as_ref().and_then(|evidence| evidence.answers.get(&one.name));
    html! {
        article.invariant id={ "invariant-" (index) } aria-labelledby={ "invariant-name-" (index) } {
            header {
                (Mark::of_outcome(verdict.outcome).badge())
                h3 id={ "invariant-name-" (index) } { (untrusted::line(&one.name, 100)) }
                span.quiet { "score " (two_digits(verdict.score)) ", weight " (one.weight) @if one.gate { ", gate" } }
            }
            @if !one.description.is_empty() { p { (marks.prose(&one.description)) } }
            @if !verdict.message.is_empty() { p.message.found { (marks.prose(&verdict.message)) } }
            @if !verdict.reason.is_empty() { p.message { (marks.prose(&verdict.reason)) } }
            @if !verdict.details.is_null() { details { summary { "Details" } (json::value(&verdict.details, marks)) } }
            @if let Some(found) = found { details { summary { "Evidence" } (answers(found, marks)) } }
        }
    }
}
