//! The scenarios of a run as a table: the numbers from which those of the run are made.

use maud::{Markup, html};
use scenario::report::Row;
use scenario::score::Status;
use store::StoredScenario;

use super::Shown;
use super::grid::{cell_name, status};
use crate::web::foreign;
use crate::web::marks::Mark;
use crate::web::numbers::{count, duration, money, score as two_digits};

/// The table of a part of a run.
pub(super) fn section(shown: &Shown) -> Markup {
    html! {
        section aria-labelledby="scenarios" {
            h2 #scenarios { "Scenarios" }
            div.scroll tabindex="0" role="region" aria-label="Scenarios" {
                table.wide {
                    thead { tr {
                        th scope="col" { "Status" }
                        th scope="col" { "Scenario" }
                        th scope="col" { "Cell" }
                        th.number scope="col" { "Composite" }
                        th.number scope="col" { "Took" }
                        th.number scope="col" { "Tools" }
                        th.number scope="col" { "Tokens" }
                        th.number scope="col" { "Cost" }
                        th scope="col" { "Why" }
                    } }
                    tbody { @for stored in &shown.part { (row(shown, stored)) } }
                }
            }
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
            th.once scope="row" { a href=(link) { (scenario.id) } }
            td.once { (cell_name(stored)) " " span.quiet { "r" (scenario.replica) } }
            @match &stored.result {
                Some(result) => {
                    td.number { a href={ (link) "#invariants" } { (two_digits(result.composite)) } }
                    td.number { a href={ (link) "#story" } { (duration(result.wall_ms)) } }
                    td.number { @if result.tool_calls > 0 { a href={ (link) "#story" } { (count(result.tool_calls)) } } @else { "–" } }
                    td.number { @if result.usage.tokens() > 0 { a href={ (link) "#use" } { (count(result.usage.tokens())) } } @else { "–" } }
                    td.number { @match result.usage.cost() { Some(cost) if cost > 0.0 => a href={ (link) "#use" } { (money(cost)) }, _ => "–" } }
                    td.why { @if mark != Mark::Pass { (reason(result.clone(), &link)) } }
                }
                None => { td.number { "–" } td.number { "–" } td.number { "–" } td.number { "–" } td.number { "–" } td {} }
            }
        }
    }
}

/// The first thing that kept a scenario from passing.
fn reason(result: scenario::result::ScenarioResult, link: &str) -> Markup {
    let reasons = Row { status: Status::Fail, result }.reasons();
    html! {
        @if let Some((what, found)) = reasons.first() {
            a href={ (link) "#why" } { (foreign::line(what, 60)) } " " (foreign::line(found, 140))
            @if reasons.len() > 1 { span.quiet { " and " (reasons.len() - 1) " more" } }
        }
    }
}
