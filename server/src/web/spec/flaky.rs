//! A board of cells and invariants over the last runs: it shows what flips although nothing was changed.

use axum::extract::State;
use maud::{Markup, html};
use scenario::flaky::{FlakyLine, FlakyTable, RunHead, Square, SquareOutcome};
use serde::Deserialize;

use crate::api::flaky::flaky_table;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{At, QueryParams};
use crate::web::badges::Mark;
use crate::web::error_page::escaped;
use crate::web::layout::{Frame, Tab};
use crate::web::session::Visitor;
use crate::web::untrusted_html;

/// The most lines of a board.
const LISTED: usize = 200;
/// The numbers of runs that can be asked for.
const CHOICES: [u64; 4] = [10, 20, 50, 100];

/// Selects runs and lines.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct BoardQuery {
    last: Option<u64>,
    /// 1 when lines that are not flaky are shown too.
    all: Option<u8>,
}

/// The board of a spec.
pub(super) async fn board(
    State(app): State<App>,
    visitor: Visitor,
    At(id): At<String>,
    QueryParams(query): QueryParams<BoardQuery>,
) -> Result<Markup, ApiError> {
    let table = flaky_table(&app, &visitor.caller, &id, query.last).await?;
    let shows_all = query.all == Some(1);
    let lines: Vec<_> = table.lines.iter().filter(|line| shows_all || line.is_flaky()).collect();
    let place = format!("/specs/{}", escaped(&id));
    let body = html! {
        nav.crumbs aria-label="Where this is" {
            a href="/specs" { "Specs" } " / " a href=(place) { (untrusted_html::line(&id, 100)) } " / " span { "Flaky" }
        }
        h1 { "Flaky" }
        p.lead { "What flips between runs of the same text and seed, or between replicas of one run." }
        p.facts {
            @for last in CHOICES {
                a href={ (place) "/flaky?last=" (last) @if shows_all { "&all=1" } } { "last " (last) " runs" }
            }
            @if shows_all { a href={ (place) "/flaky" } { "only what is flaky" } }
            @else { a href={ (place) "/flaky?all=1" } { "everything" } }
            a href={ "/v1/specs/" (escaped(&id)) "/flaky" } { "As JSON" }
        }
        @if table.runs.is_empty() {
            div.empty { p { "No experiment has run all of this spec and ended yet." } }
        } @else {
            p class={ "notice " (if table.flaky().next().is_some() { "unsure" } else { "good" }) } role="status" { (table.summary()) }
            @if !lines.is_empty() { (grid(&table, &lines)) }
            @if lines.len() > LISTED { p.quiet { "and " (lines.len() - LISTED) " more" } }
        }
    };
    let title = format!("{id} · flaky");
    Ok(Frame { title: &title, tab: Tab::Specs, visitor: Some(&visitor) }.around(&body))
}

fn grid(table: &FlakyTable, lines: &[&FlakyLine]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Cells and invariants over the last runs" {
            table.grid.wide {
                thead { tr {
                    th scope="col" { "Cell and invariant" }
                    @for head in &table.runs { th scope="col" { (column(head)) } }
                    th scope="col" { "How often, since when, and why" }
                } }
                tbody { @for line in lines.iter().take(LISTED) { tr {
                    th scope="row" { (untrusted_html::line(&line.place(), 80)) }
                    @for (square, head) in line.squares.iter().zip(&table.runs) { td { (field(square.as_ref(), head)) } }
                    td.why {
                        @if line.is_flaky() { (untrusted_html::short_prose(&table.explained(line), 400)) }
                        @else { span.quiet { "steady" } }
                    }
                } } }
            }
        }
    }
}

/// The day of a run, which leads to it, and the version of its spec.
fn column(head: &RunHead) -> Markup {
    let when = head.ended_at.to_string();
    let words = format!("{} of {}", head.shown_version(), when.get(..16).unwrap_or(&when).replace('T', " "));
    html! {
        a href={ "/experiments/" (head.experiment_id) "?run=" (head.run) } title=(words) aria-label=(words) {
            (when.get(5..10).unwrap_or_default())
        }
        br; span.quiet { "v" (head.version) }
    }
}

/// A square, which leads to a scenario that shows it.
fn field(square: Option<&Square>, head: &RunHead) -> Markup {
    let Some(square) = square else { return html! { span.quiet title="not there" { "·" } } };
    let mark = match square.outcome() {
        SquareOutcome::Clean => Mark::Pass,
        SquareOutcome::Mixed => Mark::Flaky,
        SquareOutcome::Failed => Mark::Fail,
        SquareOutcome::Error => Mark::Error,
    };
    let errors = if square.errors > 0 { format!(", {} not judged", square.errors) } else { String::new() };
    let words = format!("{} of {} passed{errors}", square.passed, square.passed + square.failed);
    let scenario = square.shown_by.as_ref().map(|id| format!("/scenarios/{id}")).unwrap_or_default();
    html! {
        a class={ "sign " (mark.class()) } href={ "/experiments/" (head.experiment_id) (scenario) "?run=" (head.run) }
            title=(words) aria-label={ (mark.word()) ": " (words) } { (mark.sign()) }
    }
}
