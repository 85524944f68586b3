//! Two experiments side by side, with the same verdict as `touchstone compare`.

mod changed;
mod findings;
mod form;
mod numbers;
mod side;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::StatusCode;
use maud::{Markup, html};
use scenario::regression::RunComparison;
use serde::Deserialize;

use super::layout::{Frame, Tab};
use super::session::Visitor;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::QueryParams;
use form::{Form, Problem};
use side::Side;

/// Which two. What stands before is the baseline.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct CompareQuery {
    a: String,
    b: String,
}

/// The routes.
pub(super) fn routes() -> Router<App> {
    Router::new().route("/compare", get(compare))
}

async fn compare(
    State(app): State<App>,
    visitor: Visitor,
    QueryParams(query): QueryParams<CompareQuery>,
) -> Result<Response, ApiError> {
    let asks = !query.a.trim().is_empty() && !query.b.trim().is_empty();
    let mut form = Form::new(&app, &visitor, query).await?;
    if !asks {
        let lead = html! { p.lead { "Two experiments that have ended: what was before, and what is now." } };
        return Ok(page(&visitor, &html! { (lead) (form.show()) }).into_response());
    }
    // Both are looked for, so that both fields are marked at once.
    let before = Side::find(&app, &visitor, form.query.a.trim()).await;
    let now = Side::find(&app, &visitor, form.query.b.trim()).await;
    match (before, now) {
        (Ok(before), Ok(now)) => {
            let body = html! { (form.show()) (content(&app, &before, &now).await?) };
            Ok(page(&visitor, &body).into_response())
        }
        (before, now) => {
            let mut status = StatusCode::OK;
            for (found, problem) in [(before.err(), &mut form.before), (now.err(), &mut form.now)] {
                let Some(error) = found else { continue };
                status = error.status();
                *problem = Some(Problem::of(error)?);
            }
            Ok((status, page(&visitor, &form.show())).into_response())
        }
    }
}

fn page(visitor: &Visitor, body: &Markup) -> Markup {
    let body = html! { h1 { "Compare" } (body) };
    Frame { title: "Compare", tab: Tab::Compare, visitor: Some(visitor) }.around(&body)
}

async fn content(app: &App, before: &Side, now: &Side) -> Result<Markup, ApiError> {
    if before.run.id == now.run.id {
        return Ok(html! { p.notice role="status" { "Both are the same run, so there is nothing to compare." } });
    }
    let (earlier, later) = (before.report(app).await?, now.report(app).await?);
    let comparison =
        RunComparison::of(before.experiment.title(), std::slice::from_ref(&earlier), std::slice::from_ref(&later));
    Ok(html! {
        (findings::section(&comparison, (before, &earlier), (now, &later)))
        (numbers::section(before, now))
        (changed::section((before, &earlier), (now, &later)))
    })
}
