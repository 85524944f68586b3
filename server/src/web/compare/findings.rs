//! Findings of a comparison: the same as those of `touchstone compare`.

use maud::{Markup, html};
use scenario::regression::{Change, Finding, RunComparison};
use scenario::report::Report;
use scenario::untrusted;

use super::side::Side;
use crate::web::badges::Mark;
use crate::web::tables::{Head, table};
use crate::web::untrusted_html;

/// The most findings that are listed.
const LISTED: usize = 200;
/// The most scenarios of a cell that are shown on each side.
const REPLICAS: usize = 20;
/// The most cells that are named when only one side has them.
const NAMED: usize = 20;

/// The columns of findings.
const HEADS: [Head<'_>; 6] = [
    Head::Text("Change"),
    Head::Text("Cell"),
    Head::Text("Invariant"),
    Head::Text("Before"),
    Head::Text("Now"),
    Head::Text("Why it is counted so"),
];

/// A side, and what came of it scenario by scenario.
type Told<'a> = (&'a Side, &'a Report);

/// The verdict, and a row for each finding.
pub(super) fn section(comparison: &RunComparison, before: Told<'_>, now: Told<'_>) -> Markup {
    let (earlier, later) = (&before.0.experiment.spec.spec_id, &now.0.experiment.spec.spec_id);
    if earlier != later {
        return html! {
            p.notice role="status" {
                strong { (comparison.summary()) } ". No verdict: these are experiments of two specs, " code { (untrusted::line(earlier, 60)) } " and "
                code { (untrusted::line(later, 60)) } ", whose cells and invariants mean different things."
            }
        };
    }
    html! {
        p class={ "notice " (class(comparison)) } role="status" { strong { (comparison.summary()) } }
        @if before.0.run.digest != now.0.run.digest {
            p.notice { "They ran different versions of the spec: a change may be the spec's." }
        }
        @if !comparison.told_sums().is_empty() {
            ul.sums { @for line in comparison.told_sums() { li { (line) } } }
        }
        @for difference in comparison.worlds.iter().take(NAMED) {
            p.notice { "They ran in different worlds: " (untrusted_html::short_prose(difference, 300)) "." }
        }
        @for (words, only) in [("Only before", &comparison.removed), ("Only now", &comparison.only_now)] {
            @if !only.is_empty() {
                p.quiet { (words) ": " (untrusted::line(&only.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", "), 1000))
                    @if only.len() > NAMED { " and " (only.len() - NAMED) " more" }
                }
            }
        }
        @if !comparison.findings.is_empty() {
            section aria-labelledby="findings" {
                h2 #findings { "What changed" }
                (table("What changed", "wide", &HEADS, &html! {
                    @for finding in comparison.findings.iter().take(LISTED) { (row(finding, before, now)) }
                }))
                @if comparison.findings.len() > LISTED { p.quiet { "and " (comparison.findings.len() - LISTED) " more" } }
            }
        }
    }
}

/// The CSS class of the verdict: bad with a regression, neutral where the evidence is insufficient, good otherwise.
fn class(comparison: &RunComparison) -> &'static str {
    if comparison.regressed() {
        "bad"
    } else if comparison.cells == 0
        || comparison.count(Change::InsufficientEvidence) + comparison.count(Change::DifferentWorld) > 0
    {
        "unsure"
    } else {
        "good"
    }
}

fn row(finding: &Finding, before: Told<'_>, now: Told<'_>) -> Markup {
    let (mark, class) = match finding.change {
        Change::Regressed => ("↓", "fail"),
        Change::InsufficientEvidence | Change::DifferentWorld => ("?", "not-run"),
        Change::Improved => ("↑", "pass"),
    };
    html! {
        tr {
            td { span class={ "badge " (class) } {
                span.sign aria-hidden="true" { (mark) } (finding.change.words())
            } }
            th scope="row" { (untrusted::line(finding.cell.as_deref().unwrap_or("all cells"), 80)) }
            td { @match &finding.invariant {
                Some(name) => (untrusted_html::line(name, 60)),
                None => span.quiet { "the scenario" },
            } }
            td { (finding.before) " " (scenarios(finding, before)) }
            td { (finding.now) " " (scenarios(finding, now)) }
            td.why { (untrusted_html::short_prose(&finding.why, 300)) }
        }
    }
}

/// The scenarios of a finding's cell on one side, each by how it stands in what the finding is about.
fn scenarios(finding: &Finding, (side, report): Told<'_>) -> Markup {
    let Some(cell) = &finding.cell else {
        return html! { a href={ (side.place()) "#grid" } { "all scenarios" } };
    };
    let rows: Vec<_> = report.rows.iter().filter(|row| row.result.scenario.cell.as_str() == cell).collect();
    html! {
        div.replicas {
            @for row in rows.iter().take(REPLICAS) {
                @let found = row.result.invariants.iter().enumerate().find(|(_, one)| Some(&one.name) == finding.invariant.as_ref());
                @let mark = match (&finding.invariant, found) {
                    (None, _) => Mark::of_result(row.status, &row.result),
                    (Some(_), Some((_, one))) => Mark::of_outcome(one.verdict.outcome),
                    (Some(_), None) => Mark::NotRun,
                };
                @let place = found.map(|(index, _)| format!("#invariant-{index}")).unwrap_or_default();
                @let words = format!("{}: {}", row.result.scenario.id, mark.word());
                a class={ "sign " (mark.class()) } href={ (side.scenario(row.result.scenario.id.as_str())) (place) }
                    title=(words) aria-label=(words) { (mark.sign()) }
            }
            @if rows.len() > REPLICAS { a href={ (side.place()) "#grid" } { (rows.len() - REPLICAS) " more" } }
        }
    }
}
