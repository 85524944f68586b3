//! What fails where: a row for each cell, a column for each invariant, and in each field a sign for each replica.

use indexmap::IndexMap;
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
const LEGEND: [Mark; 7] =
    [Mark::Pass, Mark::Fail, Mark::Flaky, Mark::Error, Mark::Running, Mark::Waiting, Mark::NotRun];

/// How many replicas stand on a line: the same in every column, so that each has its place.
const LINE: usize = 10;
/// How many characters of a parameter are shown.
const PARAMETER: usize = 60;

/// The replicas of one cell.
type Replicas<'a> = Vec<&'a StoredScenario>;

/// The grid of a part of a run.
pub(super) fn section(shown: &Shown) -> Markup {
    let mut cells: IndexMap<&str, Replicas<'_>> = IndexMap::new();
    for stored in &shown.part {
        cells.entry(stored.scenario.cell.as_str()).or_default().push(stored);
    }
    html! {
        section aria-labelledby="grid" {
            h2 #grid { "What fails where" }
            (chips(shown, "grid"))
            p.legend { @for mark in used(shown) { (mark.badge()) " " } }
            div.scroll tabindex="0" role="region" aria-label="Invariants by cell" {
                table.grid {
                    thead { tr {
                        th scope="col" { "Cell" }
                        th.number scope="col" { "Pass rate" }
                        th scope="col" { "Scenario" }
                        @for name in &shown.invariants { th scope="col" { (untrusted_html::line(name, 40)) } }
                        th scope="col" { "Rules and limits" }
                    } }
                    tbody { @for (id, replicas) in &cells { (row(shown, id, replicas)) } }
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

fn row(shown: &Shown, id: &str, replicas: &[&StoredScenario]) -> Markup {
    let scored = shown.score().cells.iter().find(|cell| cell.id.as_str() == id);
    let parameters = replicas.first().map(|stored| parameters(stored)).unwrap_or_default();
    let name = parameters.join(" ");
    let class = if replicas.len() < LINE { "replicas few" } else { "replicas" };
    html! {
        tr {
            th scope="row" { (cell(&parameters)) }
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
}

/// The parameters of a cell, each shortened by itself; the only cell of a spec without a matrix has none.
pub(super) fn parameters(stored: &StoredScenario) -> Vec<String> {
    let (parameters, chaos) = (&stored.scenario.parameters, &stored.scenario.chaos);
    if parameters.is_empty() && chaos.is_empty() {
        return vec!["all".to_owned()];
    }
    let pairs = parameters.iter().map(|(name, value)| format!("{name}={}", parameter_text(value)));
    let chaos = (!chaos.is_empty()).then(|| format!("chaos={chaos}"));
    chaos.into_iter().chain(pairs).map(|pair| untrusted::line(&pair, PARAMETER)).collect()
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

/// How a scenario stands. One that ended after the numbers were made stands as it ended.
pub(super) fn status(shown: &Shown, stored: &StoredScenario) -> Mark {
    let Some(result) = &stored.result else { return unended(shown, stored) };
    match shown.score().statuses.get(&stored.scenario.id) {
        Some(status) => Mark::of_status(*status),
        None => Mark::of_row(result.status),
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

/// Whether `forbidden` rules were kept, no limit fired and nothing else happened that fails a scenario.
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
