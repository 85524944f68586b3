//! The history of experiments: newest first, with filters, in parts.

mod known;
mod query;
mod table;

use std::collections::BTreeSet;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};
use store::{ComparableFilter, HistoryFilter, Page, Past};

use super::chart::sparkline;
use super::error_page::escaped;
use super::layout::{Frame, Tab};
use super::numbers::percent;
use super::session::Visitor;
use super::untrusted_html;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::QueryParams;

use known::Known;
use query::HistoryQuery;
pub(super) use table::owner;
use table::table;

/// The number of experiments on a page.
const PART: u64 = 50;
/// The number of specs of a page that are shown with their trends.
const SPECS: usize = 6;
/// The number of runs of a small trend.
const POINTS: u64 = 20;

/// The routes.
pub(super) fn routes() -> Router<App> {
    Router::new().route("/experiments", get(history))
}

async fn history(
    State(app): State<App>,
    visitor: Visitor,
    QueryParams(query): QueryParams<HistoryQuery>,
) -> Result<Markup, ApiError> {
    let wanted = query.read()?;
    let filter = HistoryFilter { owner: visitor.caller.sees(), ..wanted.filter() };
    let listed = app.store.history(filter, Page { after: wanted.after(), most: PART }).await?;
    let trends = trends(&app, &visitor, &listed.items).await?;
    let is_filtered = query.is_filtered();
    let known = Known::read(&app, &visitor).await?;
    let body = html! {
        h1 { "Experiments" }
        (query.form(&known))
        @if !trends.is_empty() { (strip(&trends)) }
        @if listed.items.is_empty() {
            div.empty {
                @if is_filtered {
                    p { "No experiment matches these filters." }
                    p { a href="/experiments" { "Show all" } }
                } @else {
                    p { "There is no experiment yet." }
                    @if visitor.may_submit() { p { a.button.primary href="/submit" { "Submit a spec" } } }
                }
            }
        } @else {
            (table(&listed.items, app.clock.now(), visitor.caller.sees().is_none()))
            nav.pager aria-label="Parts of the history" {
                @if wanted.after().is_some() { a href=(query.link(None)) { "← Newest" } }
                @if let Some(next) = &listed.next { a rel="next" href=(query.link(Some(next))) { "Older →" } }
            }
        }
    };
    Ok(Frame { title: "Experiments", tab: Tab::Experiments, visitor: Some(&visitor) }.around(&body))
}

/// The pass rates of the specs on a page, oldest first, of comparable runs.
async fn trends(app: &App, visitor: &Visitor, items: &[Past]) -> Result<Vec<(String, Vec<f64>)>, ApiError> {
    let (mut seen, mut trends) = (BTreeSet::new(), Vec::new());
    for past in items {
        let spec_id = past.experiment.spec.spec_id.as_str();
        if trends.len() >= SPECS || !seen.insert(spec_id) {
            continue;
        }
        let owner = visitor.caller.sees();
        let filter = ComparableFilter { owner, spec_id, before: None, since: None, most: POINTS };
        let runs = app.store.comparable_runs(filter).await?;
        let rates: Vec<f64> = runs.iter().rev().filter_map(|one| one.run.pass_rate()).collect();
        if !rates.is_empty() {
            trends.push((spec_id.to_owned(), rates));
        }
    }
    Ok(trends)
}

fn strip(trends: &[(String, Vec<f64>)]) -> Markup {
    html! {
        section aria-labelledby="trends" {
            h2.visually-hidden #trends { "Pass rates by spec" }
            ul.strip {
                @for (spec_id, rates) in trends {
                    li {
                        a href={ "/specs/" (escaped(spec_id)) } { (untrusted_html::line(spec_id, 40)) }
                        (sparkline(spec_id, rates))
                        span.number { (percent(rates.last().copied().unwrap_or_default())) }
                        a.quiet href={ "/specs/" (escaped(spec_id)) "/flaky" } { "flaky?" }
                    }
                }
            }
        }
    }
}
