//! The matrix of a contract: a row for each rule, a column for each world, and in each field how the rule stands there.

use maud::{Markup, html};
use scenario::score::{CellStatus, ContractCell, ContractScore, ContractVerdict};

use super::Shown;
use crate::web::untrusted_html;

/// The length at which names are cut.
const NAME: usize = 60;
/// The length at which reasons are cut.
const REASON: usize = 300;

/// The contract of a run; nothing when it has none.
pub(super) fn section(shown: &Shown) -> Markup {
    let Some(contract) = &shown.score().contract else { return html! {} };
    html! {
        section aria-labelledby="contract" {
            h2 #contract { "Contract " (untrusted_html::line(&contract.name, NAME)) }
            (sentence(contract))
            (matrix(shown, contract))
            (outcomes(contract))
            (reasons(shown, contract))
        }
    }
}

/// The verdict, in one sentence.
pub(super) fn sentence(contract: &ContractScore) -> Markup {
    let word = match contract.verdict {
        ContractVerdict::Pass => "Kept",
        ContractVerdict::Fail => "Broken",
        ContractVerdict::Error => "Could not be judged",
        ContractVerdict::Pending => "Not ended",
    };
    html! {
        p { strong { (word) } ": " (contract.why()) ". Resilience score " strong { (contract.score_text()) } " of 100." }
    }
}

fn matrix(shown: &Shown, contract: &ContractScore) -> Markup {
    let matrix = contract.matrix();
    html! {
        div.scroll tabindex="0" role="region" aria-label="Rules by world" {
            table.contract {
                thead { tr {
                    th scope="col" { "Rule" }
                    th scope="col" { "Severity" }
                    @for world in &matrix.worlds { th scope="col" { (untrusted_html::line(world, NAME)) } }
                } }
                tbody { @for row in &matrix.rules { tr {
                    th scope="row" { (untrusted_html::line(row.invariant, NAME)) }
                    td { (row.severity) }
                    @for cell in &row.cells { (field(shown, *cell)) }
                } } }
            }
        }
    }
}

/// The status of a rule in a world, and a link to the run that shows it.
fn field(shown: &Shown, cell: Option<&ContractCell>) -> Markup {
    let Some(cell) = cell else { return html! { td {} } };
    let held = if cell.trials > 1 { format!(" {}/{}", cell.held, cell.trials) } else { String::new() };
    let word = format!("{}{held}", cell.status.word());
    html! {
        td class=(class(cell.status)) {
            @match cell.shown_by.as_ref().or(cell.scenarios.first()) {
                Some(scenario) => { a href=(shown.link(scenario.as_str())) { (word) } },
                None => { (word) },
            }
            @if let Some(points) = cell.difference_text() {
                " " span.difference title="Runs in which it held, less those in the world without faults" { (points) }
            }
        }
    }
}

const fn class(status: CellStatus) -> &'static str {
    match status {
        CellStatus::Pass => "pass",
        CellStatus::Fail => "fail",
        CellStatus::Vacuous | CellStatus::Inconclusive => "flaky",
        CellStatus::Error => "error",
        CellStatus::Skipped | CellStatus::Pending => "waiting",
    }
}

/// The outcomes of worlds with faults: a bar with a part for each, from good to bad, and each of them in words.
fn outcomes(contract: &ContractScore) -> Markup {
    if contract.outcomes.is_empty() {
        return html! {};
    }
    let mut sorted: Vec<_> = contract.outcomes.iter().collect();
    sorted.sort_by_key(|one| one.outcome);
    html! {
        h3 { "What faults came to" }
        p { (contract.outcome_counts().words()) "." }
        p.outcomes { @for one in &sorted {
            span class=(format!("outcome {}", one.outcome.word())) { (one.outcome.word()) }
        } }
        ul { @for one in &contract.outcomes { li {
            (untrusted_html::line(&one.world(), NAME)) ": " (one.outcome.word())
            @if !one.lost.is_empty() { ", lost " (untrusted_html::line(&one.lost.join(", "), REASON)) }
        } } }
    }
}

/// The reasons why rules do not hold, or prove nothing.
fn reasons(shown: &Shown, contract: &ContractScore) -> Markup {
    let is_told = |cell: &&ContractCell| !cell.reason.is_empty() && cell.status != CellStatus::Skipped;
    let told: Vec<_> = contract.cells.iter().filter(is_told).collect();
    html! {
        @if !told.is_empty() { ul { @for cell in told { li {
            strong { (cell.status.word()) } " "
            @match cell.shown_by.as_ref().or(cell.scenarios.first()) {
                Some(scenario) => { a href=(shown.link(scenario.as_str())) { (untrusted_html::line(&cell.invariant, NAME)) } },
                None => { (untrusted_html::line(&cell.invariant, NAME)) },
            }
            " in " (untrusted_html::line(&cell.world(), NAME)) ": " (untrusted_html::line(&cell.reason, REASON))
        } } } }
    }
}
