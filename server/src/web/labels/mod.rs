//! Blind labelling of judged outputs: the judge's score of an output is shown once the person has labelled it.

mod item;
mod outputs;
mod table;

use axum::Router;
use axum::extract::{Form, State};
use axum::response::Redirect;
use axum::routing::{get, post};
use maud::{Markup, html};
use serde::Deserialize;

use super::layout::{Frame, Tab};
use super::session::Visitor;
use super::untrusted_html;
use crate::api::experiments::{find, require_run};
use crate::api::labels::write::{Wanted, person, write_label};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{At, QueryParams};

use outputs::Shown;

/// The run, the person, and the output that was labelled last.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LabelPageQuery {
    run: Option<u32>,
    by: String,
    scenario: String,
    invariant: String,
}

/// The fields of the form.
#[derive(Debug, Deserialize)]
struct LabelForm {
    token: String,
    run: u32,
    scenario: String,
    invariant: String,
    label: String,
    #[serde(default)]
    by: String,
    #[serde(default)]
    note: String,
}

/// The routes.
pub(super) fn routes() -> Router<App> {
    Router::new().route("/experiments/{id}/labels", get(page)).route("/experiments/{id}/labels", post(keep))
}

async fn page(
    State(app): State<App>,
    visitor: Visitor,
    At(id): At<String>,
    QueryParams(query): QueryParams<LabelPageQuery>,
) -> Result<Markup, ApiError> {
    let experiment = find(&app, &visitor.caller, &id).await?;
    let run = require_run(&app, &experiment, query.run).await?;
    let by = person(&visitor.caller, &query.by)?;
    let last = (query.scenario, query.invariant);
    let shown = Shown::read(&app, &run, by, last).await?;
    let body = html! {
        h1 { "Label outputs" }
        p.lead {
            "Say whether each output meets its criteria. What the judge said is shown afterwards, so that it cannot sway you. "
            a href={ "/experiments/" (experiment.id) "?run=" (run.id.number) } { (untrusted_html::line(experiment.title(), 120)) }
        }
        (shown.content(&visitor, &experiment))
    };
    let title = format!("Label outputs · {}", experiment.title());
    Ok(Frame { title: &title, tab: Tab::Experiments, visitor: Some(&visitor) }.around(&body))
}

/// Keeps a label, and shows the next output.
async fn keep(
    State(app): State<App>,
    visitor: Visitor,
    At(id): At<String>,
    Form(form): Form<LabelForm>,
) -> Result<Redirect, ApiError> {
    visitor.require_submit()?;
    visitor.require_token(&form.token)?;
    let experiment = find(&app, &visitor.caller, &id).await?;
    let run = require_run(&app, &experiment, Some(form.run)).await?;
    let LabelForm { scenario, invariant, label, by, note, .. } = form;
    let wanted = Wanted { scenario: scenario.clone(), invariant: invariant.clone(), label, by: by.clone(), note };
    write_label(&app, &visitor.caller, (&experiment, &run), wanted).await?;
    let [scenario, invariant, by] = [&scenario, &invariant, &by].map(|text| encoded(text));
    let query = format!("run={}&by={by}&scenario={scenario}&invariant={invariant}", run.id.number);
    Ok(Redirect::to(&format!("/experiments/{}/labels?{query}", experiment.id)))
}

/// A text as a value of a query.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let byte = |byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(byte).collect()
}
