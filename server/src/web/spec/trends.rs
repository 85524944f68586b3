//! Trends of a spec, and its least stable invariants.

use std::collections::BTreeMap;

use maud::{Markup, html};
use scenario::metric::{MEAN_COMPOSITE, MEAN_WALL_MS, PASS_RATE, RESILIENCE_SCORE, TOTAL_COST_USD};
use store::{ComparableRun, RunId, RunNumbers};

use crate::app::App;
use crate::error::ApiError;
use crate::web::chart::{Point, trend};
use crate::web::numbers::{count, count_noun, percent, precise};
use crate::web::tables::{self, Head};
use crate::web::untrusted_html;

use super::outcomes;

/// The most scenarios that are read to find the least stable invariants.
const MOST_SCENARIOS: u64 = 5000;
/// The most invariants that are listed.
const LISTED: usize = 10;

/// The columns of invariants.
const HEADS: [Head<'_>; 6] = [
    Head::Text("Invariant"),
    Head::Number("Passed"),
    Head::Number("Failed"),
    Head::Number("Errors"),
    Head::Number("Pass rate"),
    Head::Text("Failed last in"),
];

/// The charts of a spec. The runs are given oldest first.
pub(super) fn section(runs: &[ComparableRun]) -> Markup {
    if runs.is_empty() {
        return html! { p.quiet { "No experiment has run all of this spec and ended yet, so there is no trend." } };
    }
    html! {
        section aria-labelledby="trends" {
            h2 #trends { "Trends" }
            p.quiet { "Of runs with all scenarios of their plan; those that repeat what failed, or were filtered, are left out." }
            div.trends {
                (trend(PASS_RATE, &points(runs, |run| run.pass_rate())))
                (trend(MEAN_COMPOSITE, &points(runs, |run| Some(run.composite))))
                @if runs.iter().any(|comparable| comparable.run.resilience.is_some()) {
                    (trend(RESILIENCE_SCORE, &points(runs, |run| run.resilience)))
                }
                (outcomes::chart(runs))
                (trend(TOTAL_COST_USD, &points(runs, |run| Some(run.cost_usd))))
                (trend(MEAN_WALL_MS, &points(runs, |run| Some(precise(run.wall_ms)))))
            }
        }
    }
}

fn points(runs: &[ComparableRun], value: impl Fn(&RunNumbers) -> Option<f64>) -> Vec<Point> {
    let point = |one: &ComparableRun| Some(Point { value: value(&one.run)?, label: label(one), link: link(one) });
    runs.iter().filter_map(point).collect()
}

/// The minute in which a run was submitted.
pub(super) fn label(run: &ComparableRun) -> String {
    let when = run.created_at.to_string();
    when.get(..16).unwrap_or(&when).replace('T', " ")
}

/// The page of a run.
pub(super) fn link(ComparableRun { run, .. }: &ComparableRun) -> String {
    format!("/experiments/{}?run={}", run.id.experiment, run.id.number)
}

/// Outcomes of an invariant over several runs.
#[derive(Debug, Default)]
struct Counted {
    passed: u64,
    failed: u64,
    errored: u64,
    /// The newest run in which it failed.
    last: Option<RunId>,
}

impl Counted {
    /// Returns its instability: 1 when it fails every other time, 0 when it always has the same outcome.
    fn doubt(&self) -> f64 {
        let judged = self.passed + self.failed;
        if judged == 0 { 0.0 } else { 2.0 * precise(self.passed.min(self.failed)) / precise(judged) }
    }
}

/// Invariants that neither always pass nor always fail, the least sure first.
pub(super) async fn flakiest(app: &App, comparable: &[ComparableRun]) -> Result<Markup, ApiError> {
    let mut room = MOST_SCENARIOS;
    let mut runs = Vec::new();
    for ComparableRun { run, .. } in comparable.iter().rev() {
        let Some(left) = room.checked_sub(run.total) else { break };
        room = left;
        runs.push(run.id);
    }
    let place: BTreeMap<RunId, usize> = runs.iter().enumerate().map(|(place, run)| (*run, place)).collect();
    let mut counted: BTreeMap<String, Counted> = BTreeMap::new();
    for found in app.store.invariant_counts(&runs).await? {
        let one = counted.entry(found.name).or_default();
        match found.outcome.as_str() {
            "passed" => one.passed += found.count,
            "failed" => {
                one.failed += found.count;
                let is_newer = |last: RunId| place.get(&found.run) < place.get(&last);
                if one.last.is_none_or(is_newer) {
                    one.last = Some(found.run);
                }
            }
            _ => one.errored += found.count,
        }
    }
    let mut unsure: Vec<_> = counted.into_iter().filter(|(_, one)| one.doubt() > 0.0).collect();
    unsure.sort_by(|(_, one), (_, other)| other.doubt().total_cmp(&one.doubt()));
    Ok(table(&unsure, runs.len()))
}

fn row(name: &str, one: &Counted) -> Markup {
    html! {
        tr {
            th scope="row" { (untrusted_html::line(name, 80)) }
            td.number { (count(one.passed)) }
            td.number { (count(one.failed)) }
            td.number { (count(one.errored)) }
            td.number { (percent(precise(one.passed) / precise(one.passed + one.failed))) }
            td { @if let Some(run) = one.last {
                a href={ "/experiments/" (run.experiment) "?run=" (run.number) "#grid" } { "this run" }
            } }
        }
    }
}

fn table(unsure: &[(String, Counted)], runs: usize) -> Markup {
    let rows = html! { @for (name, one) in unsure.iter().take(LISTED) { (row(name, one)) } };
    html! {
        section aria-labelledby="flaky" {
            h2 #flaky { "Flakiest invariants" }
            @if unsure.is_empty() {
                p.quiet { "Over the last " (count_noun(runs as u64, "run")) ", each invariant always passed or always failed." }
            } @else {
                (tables::table("Flakiest invariants", "", &HEADS, &rows))
                p.quiet { "Over the last " (count_noun(runs as u64, "run")) "." }
            }
        }
    }
}
