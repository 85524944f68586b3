//! The scenarios of a run as a table: the numbers from which those of the run are made.

use maud::{Markup, html};
use scenario::report::Row;
use scenario::result::ScenarioResult;
use scenario::score::Status;
use store::StoredScenario;

use super::Shown;
use super::choice::{chips, pager};
use super::grid::{cell, parameters, status};
use crate::web::badges::Mark;
use crate::web::numbers::{count, duration, money, score as two_digits};
use crate::web::tables::{Head, table};
use crate::web::untrusted_html;

/// The columns of scenarios.
const HEADS: [Head<'_>; 9] = [
    Head::Text("Status"),
    Head::Text("Scenario"),
    Head::Text("Cell"),
    Head::Text("Why"),
    Head::Number("Composite"),
    Head::Number("Took"),
    Head::Number("Tools"),
    Head::Number("Tokens"),
    Head::Number("Cost"),
];

/// The table of a part of a run.
pub(super) fn section(shown: &Shown) -> Markup {
    html! {
        section aria-labelledby="scenarios" {
            h2 #scenarios { "Scenarios" }
            (chips(shown, "scenarios"))
            (table("Scenarios", "wide", &HEADS, &html! { @for stored in &shown.part { (row(shown, stored)) } }))
            (pager(shown, "scenarios"))
        }
    }
}

fn row(shown: &Shown, stored: &StoredScenario) -> Markup {
    let scenario = &stored.scenario;
    let link = shown.link(scenario.id.as_str());
    let mark = status(shown, stored);
    html! {
        tr {
            td { (mark.badge()) }
            th.scenario scope="row" { a href=(link) { (scenario.id) } }
            td { (cell(&parameters(stored))) }
            @match &stored.result {
                Some(result) => {
                    td.why { @if mark != Mark::Pass { (reason(result.clone(), &link)) } }
                    (numbers(result, &link))
                }
                None => { td {} @for _ in 0..5 { td.number { "–" } } }
            }
        }
    }
}

/// The numbers of a scenario; those that say nothing are left out.
fn numbers(result: &ScenarioResult, link: &str) -> Markup {
    let usage = &result.usage;
    let tools = (result.tool_calls > 0).then(|| count(result.tool_calls));
    let tokens = (usage.tokens() > 0).then(|| count(usage.tokens()));
    let cost = usage.cost().filter(|cost| *cost > 0.0).map(money);
    let all = [
        ("#invariants", result.is_judged().then(|| two_digits(result.composite))),
        ("#story", Some(duration(result.wall_ms))),
        ("#story", tools),
        ("#use", tokens),
        ("#use", cost),
    ];
    html! {
        @for (place, number) in all {
            td.number { @match number { Some(number) => a href={ (link) (place) } { (number) }, None => "–" } }
        }
    }
}

/// The first thing that kept a scenario from passing.
fn reason(result: ScenarioResult, link: &str) -> Markup {
    let reasons = Row { status: Status::Fail, tolerated: false, quarantined: false, result }.reasons();
    html! {
        @if let Some((what, found)) = reasons.first() {
            a href={ (link) "#why" } { (untrusted_html::short_prose(what, 60)) } " " (untrusted_html::short_prose(found, 140))
            @if reasons.len() > 1 { span.quiet { " and " (reasons.len() - 1) " more" } }
        }
    }
}
