//! The grid of failures: a row for each cell, a column for each invariant, and in each field a sign for each replica.
//! Chaos cells are groups of columns, so that a row has one task in all its worlds.

use indexmap::{IndexMap, IndexSet};
use maud::{Markup, html};
use scenario::plan::parameter_text;
use scenario::result::{RowStatus, ScenarioResult};
use scenario::score::Cell;
use scenario::untrusted;
use store::{RunState, StoredScenario};

use super::Shown;
use super::choice::{chips, pager};
use crate::web::badges::{Mark, is_ending};
use crate::web::numbers::percent;
use crate::web::untrusted_html;

/// The signs that a reader may not know.
const LEGEND: [Mark; 8] =
    [Mark::Pass, Mark::Fail, Mark::Flaky, Mark::Error, Mark::Inconclusive, Mark::Running, Mark::Waiting, Mark::NotRun];

/// The number of replicas on a line: the same in every column, so that each has its place.
const LINE: usize = 10;
/// The most characters of a parameter that are shown.
const PARAMETER: usize = 60;

/// The replicas of one cell.
type Replicas<'a> = Vec<&'a StoredScenario>;

/// The replicas of the cells that have the same parameters, by their chaos cell.
type Worlds<'a> = IndexMap<&'a str, Replicas<'a>>;

/// The grid of a part of a run.
pub(super) fn section(shown: &Shown) -> Markup {
    let mut rows: IndexMap<Vec<String>, Worlds<'_>> = IndexMap::new();
    for stored in &shown.part {
        let row = rows.entry(own_parameters(stored)).or_default();
        row.entry(stored.scenario.chaos.as_str()).or_default().push(stored);
    }
    let worlds: IndexSet<&str> = rows.values().flat_map(|row| row.keys().copied()).collect();
    html! {
        section aria-labelledby="grid" {
            h2 #grid { "What fails where" }
            (chips(shown, "grid"))
            p.legend { @for mark in used(shown) { (mark.badge()) " " } }
            div.scroll tabindex="0" role="region" aria-label="Invariants by cell" {
                table.grid {
                    (head(shown, &worlds))
                    tbody { @for (parameters, row) in &rows { tr {
                        th scope="row" { (cell(parameters)) }
                        @for world in &worlds { (group(shown, parameters, world, row.get(world))) }
                    } } }
                }
            }
            (pager(shown, "grid"))
        }
    }
}

/// The signs that stand in the grid.
fn used(shown: &Shown) -> impl Iterator<Item = Mark> {
    let of = |stored: &StoredScenario| {
        let judged: Vec<_> = shown.invariants.iter().map(|name| judged(shown, stored, name)).collect();
        judged.into_iter().chain([status(shown, stored), ruled(shown, stored)])
    };
    let used: Vec<_> = shown.part.iter().flat_map(of).collect();
    LEGEND.into_iter().filter(move |mark| used.contains(mark))
}

/// The names of the columns, below those of chaos cells where there are any.
fn head(shown: &Shown, worlds: &IndexSet<&str>) -> Markup {
    let has_chaos = worlds.iter().any(|world| !world.is_empty());
    html! {
        thead {
            @if has_chaos { tr {
                th scope="col" rowspan="2" { "Cell" }
                @for world in worlds {
                    th.world scope="colgroup" colspan=(columns(shown)) { "chaos " (untrusted_html::line(world, PARAMETER)) }
                }
            } }
            tr {
                @if !has_chaos { th scope="col" { "Cell" } }
                @for _ in worlds {
                    th.number scope="col" { "Pass rate" }
                    th scope="col" { "Scenario" }
                    @for name in &shown.invariants { th scope="col" { (untrusted_html::line(name, 40)) } }
                    th scope="col" { "Rules and limits" }
                }
            }
        }
    }
}

/// Counts the columns of a chaos cell.
fn columns(shown: &Shown) -> usize {
    shown.invariants.len() + 3
}

/// The fields of a cell in one world; empty ones where the part has none of it.
fn group(shown: &Shown, parameters: &[String], world: &str, replicas: Option<&Replicas<'_>>) -> Markup {
    let Some(replicas) = replicas else { return html! { @for _ in 0..columns(shown) { td {} } } };
    let id = replicas.first().map(|stored| stored.scenario.cell.as_str());
    let scored = shown.score().cells.iter().find(|cell| Some(cell.id.as_str()) == id);
    let chaos = if world.is_empty() { String::new() } else { format!("chaos={world} ") };
    let name = format!("{chaos}{}", parameters.join(" "));
    let class = if replicas.len() < LINE { "replicas few" } else { "replicas" };
    html! {
        td.number { (rate(scored)) }
        td { div class=(class) { @for stored in replicas {
            (sign(shown, stored, &name, "scenario", status(shown, stored), ""))
        } } }
        @for (index, invariant) in shown.invariants.iter().enumerate() {
            td { div class=(class) { @for stored in replicas {
                (sign(shown, stored, &name, invariant, judged(shown, stored, invariant), &format!("#invariant-{index}")))
            } } }
        }
        td { div class=(class) { @for stored in replicas {
            (sign(shown, stored, &name, "rules and limits", ruled(shown, stored), "#why"))
        } } }
    }
}

/// A cell without its chaos cell: what tells it from others, each shortened by itself; a spec without a matrix has
/// none.
fn own_parameters(stored: &StoredScenario) -> Vec<String> {
    let pairs = pairs_of(stored);
    if pairs.is_empty() { vec!["all".to_owned()] } else { pairs }
}

/// Labels that identify a cell in its world: its parameters, its rule of the contract, and its prompt.
fn pairs_of(stored: &StoredScenario) -> Vec<String> {
    let scenario = &stored.scenario;
    let pairs = scenario.parameters.iter().map(|(name, value)| format!("{name}={}", parameter_text(value)));
    let purpose = scenario.purpose.label();
    let prompt = scenario.prompt.map(|index| format!("prompt={index}"));
    pairs.chain(purpose).chain(prompt).map(|pair| untrusted::line(&pair, PARAMETER)).collect()
}

/// The chaos cell and the parameters of a cell; the only cell of a spec without a matrix has none.
pub(super) fn parameters(stored: &StoredScenario) -> Vec<String> {
    let chaos = &stored.scenario.chaos;
    if chaos.is_empty() {
        return own_parameters(stored);
    }
    std::iter::once(untrusted::line(&format!("chaos={chaos}"), PARAMETER)).chain(pairs_of(stored)).collect()
}

/// The parameters of a cell, one below the other.
pub(super) fn cell(parameters: &[String]) -> Markup {
    html! { div.cell { @for parameter in parameters { div title=(parameter) { (parameter) } } } }
}

fn rate(cell: Option<&Cell>) -> Markup {
    let Some((cell, rate)) = cell.and_then(|cell| Some((cell, cell.pass_rate?))) else { return html! { "–" } };
    html! {
        (percent(rate))
        @if let Some(range) = &cell.interval { br; span.quiet { (percent(range.low)) "–" (percent(range.high)) } }
    }
}

/// A sign that leads to the scenario, and to the place there that says more.
fn sign(shown: &Shown, stored: &StoredScenario, cell: &str, what: &str, mark: Mark, place: &str) -> Markup {
    let scenario = &stored.scenario;
    let words = format!("{}, {cell}, replica {}: {}", untrusted::line(what, 60), scenario.replica, mark.word());
    html! {
        a class={ "sign " (mark.class()) } href={ (shown.link(scenario.id.as_str())) (place) }
            title=(words) aria-label=(words) { (mark.sign()) }
    }
}

/// Returns the mark of a scenario. One that ended after the numbers were computed has its own status.
pub(super) fn status(shown: &Shown, stored: &StoredScenario) -> Mark {
    let Some(result) = &stored.result else { return unended(shown, stored) };
    match shown.score().statuses.get(&stored.scenario.id) {
        Some(status) => Mark::of_result(*status, result),
        None => Mark::of_row(result),
    }
}

fn unended(shown: &Shown, stored: &StoredScenario) -> Mark {
    match shown.run.state {
        RunState::Open if shown.running.contains(stored.scenario.id.as_str()) => Mark::Running,
        RunState::Open if !is_ending(&shown.run) => Mark::Waiting,
        RunState::Open | RunState::Finished | RunState::Cancelled => Mark::NotRun,
    }
}

fn judged(shown: &Shown, stored: &StoredScenario, invariant: &str) -> Mark {
    let Some(result) = &stored.result else { return unended(shown, stored) };
    let found = result.invariants.iter().find(|one| one.name == invariant);
    found.map_or(Mark::NotRun, |one| Mark::of_outcome(one.verdict.outcome))
}

/// Returns a pass when `forbidden` rules were kept, no limit fired and nothing else failed the scenario.
fn ruled(shown: &Shown, stored: &StoredScenario) -> Mark {
    let Some(result) = &stored.result else { return unended(shown, stored) };
    if result.status == RowStatus::Error && result.invariants.is_empty() {
        return Mark::Error;
    }
    if breaks_rules(result) { Mark::Fail } else { Mark::Pass }
}

fn breaks_rules(result: &ScenarioResult) -> bool {
    result.forbidden.iter().any(|rule| rule.violated) || !result.limits.is_empty() || !result.offences.is_empty()
}
