//! How a spec went over time, and which of its invariants are least sure.

use std::collections::BTreeMap;

use maud::{Markup, html};
use store::{Past, RunId, RunNumbers};

use crate::app::App;
use crate::error::ApiError;
use crate::web::chart::{Point, trend};
use crate::web::foreign;
use crate::web::numbers::{count, counted, duration, money, percent, precise, score as two_digits};
use crate::web::tables::{self, Head};

/// How many scenarios are looked at to say which invariants are least sure.
const MOST_SCENARIOS: u64 = 5000;
/// How many invariants are listed.
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
pub(super) fn section(past: &[Past]) -> Markup {
    if past.is_empty() {
        return html! { p.quiet { "No experiment has run all of this spec and ended yet, so there is no trend." } };
    }
    html! {
        section aria-labelledby="trends" {
            h2 #trends { "Trends" }
            p.quiet { "Of runs with all scenarios of their plan; those that repeat what failed, or were filtered, are left out." }
            div.trends {
                (trend("Pass rate", &points(past, |run| run.pass_rate()), percent, Some(1.0)))
                (trend("Composite", &points(past, |run| Some(run.composite)), two_digits, Some(1.0)))
                (trend("Cost", &points(past, |run| Some(run.cost_usd)), money, None))
                (trend("Time of a scenario", &points(past, |run| Some(precise(run.wall_ms))), milliseconds, None))
            }
        }
    }
}

fn points(past: &[Past], value: impl Fn(&RunNumbers) -> Option<f64>) -> Vec<Point> {
    let point = |past: &Past| {
        let run = past.run.as_ref()?;
        let when = past.experiment.created_at.to_string();
        let label = when.get(..16).unwrap_or(&when).replace('T', " ");
        Some(Point {
            value: value(run)?,
            label,
            link: format!("/experiments/{}?run={}", run.id.experiment, run.id.number),
        })
    };
    past.iter().filter_map(point).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was a whole number before")]
fn milliseconds(time: f64) -> String {
    duration(time.max(0.0) as u64)
}

/// How an invariant was judged over several runs.
#[derive(Debug, Default)]
struct Counted {
    passed: u64,
    failed: u64,
    errored: u64,
    /// The newest run in which it failed.
    last: Option<RunId>,
}

impl Counted {
    /// How little is known before it is judged: 1 when it fails every other time, 0 when it always does the same.
    fn doubt(&self) -> f64 {
        let judged = self.passed + self.failed;
        if judged == 0 { 0.0 } else { 2.0 * precise(self.passed.min(self.failed)) / precise(judged) }
    }
}

/// Invariants that neither always pass nor always fail, the least sure first.
pub(super) async fn flakiest(app: &App, past: &[Past]) -> Result<Markup, ApiError> {
    let mut room = MOST_SCENARIOS;
    let mut runs = Vec::new();
    for run in past.iter().rev().filter_map(|past| past.run.as_ref()) {
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
            th scope="row" { (foreign::line(name, 80)) }
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
                p.quiet { "Over the last " (counted(runs as u64, "run")) ", each invariant always passed or always failed." }
            } @else {
                (tables::table("Flakiest invariants", "", &HEADS, &rows))
                p.quiet { "Over the last " (counted(runs as u64, "run")) "." }
            }
        }
    }
}
