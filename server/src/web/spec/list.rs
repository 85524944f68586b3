//! The specs: the newest version of each, and how it went last.

use std::collections::HashMap;

use axum::extract::State;
use jiff::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use store::{Page, Past, RunState, StoredSpecVersion};

use crate::app::App;
use crate::error::ApiError;
use crate::extract::QueryParams;
use crate::web::badges::run_badge;
use crate::web::error_page::escaped;
use crate::web::history;
use crate::web::layout::{Frame, Tab};
use crate::web::numbers::{ago, percent};
use crate::web::session::Visitor;
use crate::web::tables::{Head, table};
use crate::web::untrusted_html;

/// The number of specs on a page.
const PART: u64 = 100;

/// The columns of specs.
const SPECS: [Head<'_>; 8] = [
    Head::Text("Spec"),
    Head::Text("Owner"),
    Head::Number("Version"),
    Head::Number("Kept"),
    Head::Text("Last status"),
    Head::Number("Pass rate"),
    Head::Number("Last run"),
    Head::Text("Experiments"),
];

/// Which part.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SpecsQuery {
    after: Option<String>,
}

/// The page.
pub(super) async fn list(
    State(app): State<App>,
    visitor: Visitor,
    QueryParams(query): QueryParams<SpecsQuery>,
) -> Result<Markup, ApiError> {
    let after = query.after.as_deref().filter(|after| !after.is_empty());
    let listed = app.store.spec_versions(visitor.caller.sees(), Page { after, most: PART }).await?;
    let specs: Vec<_> = listed.items.iter().map(name).collect();
    let newest = app.store.newest_of_specs(&specs).await?;
    let newest: HashMap<_, _> = newest.iter().map(|past| (of(past), past)).collect();
    let now = app.clock.now();
    let rows = html! { @for stored in &listed.items { (row(stored, newest.get(&name(stored)).copied(), now)) } };
    let body = html! {
        h1 { "Specs" }
        p.facts { a href="/coverage" { "Capability coverage" } }
        @if listed.items.is_empty() { div.empty { p { "No spec was submitted yet." } } } @else {
            (table("Specs", "", &SPECS, &rows))
            @if let Some(next) = &listed.next {
                nav.pager aria-label="Parts of the list" { a rel="next" href={ "/specs?after=" (next) } { "Next →" } }
            }
        }
    };
    Ok(Frame { title: "Specs", tab: Tab::Specs, visitor: Some(&visitor) }.around(&body))
}

/// The name of a spec: its owner and its id.
fn name(stored: &StoredSpecVersion) -> (&str, &str) {
    (&stored.owner, &stored.version.spec_id)
}

/// Which spec an experiment is of.
fn of(past: &Past) -> (&str, &str) {
    (&past.experiment.owner, &past.experiment.spec.spec_id)
}

fn row(stored: &StoredSpecVersion, newest: Option<&Past>, now: Timestamp) -> Markup {
    let id = escaped(&stored.version.spec_id);
    html! {
        tr {
            th scope="row" {
                a href={ "/specs/" (id) "?owner=" (escaped(&stored.owner)) } { (untrusted_html::line(&stored.version.spec_id, 100)) }
            }
            td { (history::owner(&stored.owner)) }
            td.number { (stored.version.version) }
            td.number { (ago(stored.created_at, now)) }
            (last(newest, now))
            td { a href={ "/experiments?spec=" (id) } { "history" } }
        }
    }
}

/// Renders a spec's newest experiment: its status, pass rate and time.
fn last(newest: Option<&Past>, now: Timestamp) -> Markup {
    let Some((past, run)) = newest.and_then(|past| Some((past, past.run.as_ref()?))) else {
        return html! { td { span.quiet { "not run yet" } } td.number { "–" } td.number { "–" } };
    };
    let place = format!("/experiments/{}?run={}", past.experiment.id, run.id.number);
    let rate = run.pass_rate().filter(|_| run.state != RunState::Open);
    html! {
        td { a.bare href=(place) { (run_badge(run.state, run.verdict)) } }
        td.number { @match rate { Some(rate) => a href={ (place) "#grid" } { (percent(rate)) }, None => "–" } }
        td.number { (ago(run.created_at, now)) }
    }
}
