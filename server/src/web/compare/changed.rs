//! Scenarios that stand differently, and which of their invariants do.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use scenario::report::Report;
use scenario::result::ScenarioResult;

use super::side::Side;
use crate::web::badges::Mark;
use crate::web::tables::{Head, table};
use crate::web::untrusted_html;

/// The most scenarios that are listed.
const LISTED: usize = 200;

/// The columns of scenarios.
const HEADS: [Head<'_>; 4] =
    [Head::Text("Scenario"), Head::Text("Before"), Head::Text("Now"), Head::Text("Invariants")];

/// The scenarios that stand differently.
pub(super) fn section((before, earlier): (&Side, &Report), (now, later): (&Side, &Report)) -> Markup {
    let ids: BTreeSet<_> = before.score.statuses.keys().chain(now.score.statuses.keys()).collect();
    let changed: Vec<_> = ids
        .into_iter()
        .map(|id| (id, before.stands(id), now.stands(id)))
        .filter(|(_, before, now)| before != now)
        .collect();
    let (earlier, later) = (results(earlier), results(later));
    let rows = html! {
        @for (id, was, is) in changed.iter().take(LISTED) { tr {
            @let newest = if is.is_some() { now } else { before };
            th.once scope="row" { a href=(newest.scenario(id.as_str())) { (id) } }
            td { (linked(before, id.as_str(), *was)) }
            td { (linked(now, id.as_str(), *is)) }
            td { (invariants(earlier.get(id.as_str()).copied(), later.get(id.as_str()).copied())) }
        } }
    };
    html! {
        section aria-labelledby="scenarios" {
            h2 #scenarios { "Scenarios that stand differently" }
            @if changed.is_empty() { p.quiet { "None." } } @else {
                (table("Scenarios", "wide", &HEADS, &rows))
                @if changed.len() > LISTED { p.quiet { "and " (changed.len() - LISTED) " more" } }
            }
        }
    }
}

fn results(report: &Report) -> BTreeMap<&str, &ScenarioResult> {
    report.rows.iter().map(|row| (row.result.scenario.id.as_str(), &row.result)).collect()
}

fn linked(side: &Side, id: &str, mark: Option<Mark>) -> Markup {
    html! { @match mark {
        Some(mark) => a.bare href=(side.scenario(id)) { (mark.badge()) },
        None => span.quiet { "not there" },
    } }
}

/// The invariants that were judged differently.
fn invariants(before: Option<&ScenarioResult>, now: Option<&ScenarioResult>) -> Markup {
    let outcomes = |result: Option<&ScenarioResult>| -> BTreeMap<String, Mark> {
        let all = result.into_iter().flat_map(|result| &result.invariants);
        all.map(|one| (one.name.clone(), Mark::of_outcome(one.verdict.outcome))).collect()
    };
    let (before, now) = (outcomes(before), outcomes(now));
    let changed =
        now.iter().filter_map(|(name, is)| Some((name, *before.get(name)?, *is))).filter(|(_, was, is)| was != is);
    html! {
        @for (name, was, is) in changed {
            span.change-of {
                (untrusted_html::line(name, 60)) " " span class=(was.class()) { (was.sign()) } "→" span class=(is.class()) { (is.sign()) }
            } " "
        }
    }
}
