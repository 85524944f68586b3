//! Verdicts: why a scenario did not pass, and every invariant with expected and found values.

use maud::{Markup, html};
use scenario::report::Row;
use scenario::result::InvariantResult;
use scenario::untrusted;
use scenario::verdict::Outcome;

use super::Shown;
use super::answers::answers;
use crate::web::badges::Mark;
use crate::web::json;
use crate::web::numbers::score as two_digits;
use crate::web::untrusted_html;

/// Renders caveats of the result.
pub(super) fn caveats(row: &Row) -> Markup {
    html! {
        @for caveat in &row.result.caveats {
            p.notice.unsure { strong { "Caveat" } ": " (untrusted_html::short_prose(&caveat.message(), 500)) }
        }
    }
}

/// Everything that kept the scenario from passing.
pub(super) fn why(shown: &Shown, row: &Row) -> Markup {
    let (reasons, marks) = (row.reasons(), shown.marks());
    if reasons.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="why" {
            h2 #why { "Why it did not pass" }
            ul.reasons { @for (what, found) in &reasons {
                li { @match index_of(row, what) {
                    Some(index) => a href={ "#invariant-" (index) } { (untrusted_html::short_prose(what, 120)) },
                    None => strong { (untrusted_html::short_prose(what, 120)) },
                } " " span.message { (marks.prose(found)) } }
            } }
            (kept_rules(shown, row))
        }
    }
}

/// Below what was judged: that nothing else kept the scenario from passing.
pub(super) fn rules(shown: &Shown, row: &Row) -> Markup {
    if !row.reasons().is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="why" {
            h2 #why { "Rules and limits" }
            (kept_rules(shown, row))
            @if row.result.forbidden.is_empty() { p.quiet { "No limit fired, and no rule is stated." } }
        }
    }
}

/// The rules that were kept. Those that were broken are among the reasons.
fn kept_rules(shown: &Shown, row: &Row) -> Markup {
    let kept: Vec<_> = row.result.forbidden.iter().filter(|rule| !rule.violated).collect();
    html! {
        @if !kept.is_empty() {
            ul.plain { @for rule in kept {
                li {
                    (Mark::Pass.badge()) " forbidden " code { (untrusted::line(&rule.rule, 60)) }
                    @if !rule.details.is_empty() { " " span.message { (shown.marks().prose(&rule.details)) } }
                }
            } }
        }
    }
}

/// The invariant that a reason is about.
fn index_of(row: &Row, what: &str) -> Option<usize> {
    row.result.invariants.iter().position(|one| what.starts_with(&format!("`{}` (", one.name)))
}

/// Every invariant: first those that were missed, each by the number that it has in the spec.
pub(super) fn invariants(shown: &Shown, row: &Row) -> Markup {
    let mut all: Vec<_> = row.result.invariants.iter().enumerate().collect();
    all.sort_by_key(|(_, one)| one.verdict.outcome == Outcome::Passed);
    html! {
        section aria-labelledby="invariants" {
            h2 #invariants { "Invariants" }
            @if all.is_empty() { p.quiet { "None was judged." } }
            @for (index, one) in all { (invariant(shown, index, one)) }
        }
    }
}

fn invariant(shown: &Shown, index: usize, one: &InvariantResult) -> Markup {
    let (verdict, marks) = (&one.verdict, shown.marks());
    let found = shown.evidence.as_ref().and_then(|evidence| evidence.answers.get(&one.name));
    let invocations = shown.evidence.iter().flat_map(|evidence| &evidence.invocations);
    let of_invocations = invocations.filter_map(|invocation| invocation.answers.get(&one.name));
    let is_missed = verdict.outcome != Outcome::Passed;
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
            @if !verdict.details.is_null() {
                details open[is_missed && found.is_none()] { summary { "Details" } (json::value(&verdict.details, marks)) }
            }
            @if let Some(found) = found { details open[is_missed] { summary { "Evidence" } (answers(found, marks)) } }
            @for found in of_invocations { details { summary { "Evidence of an invocation" } (answers(found, marks)) } }
        }
    }
}
