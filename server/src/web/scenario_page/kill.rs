//! The button that kills the sessions of a scenario under tool contracts while it is run.

use axum::extract::{Form, State};
use axum::response::Redirect;
use maud::{Markup, html};
use scenario::intervention::{KillReach, SessionChange};
use scenario::spec::Spec;

use super::{ScenarioQuery, Shown};
use crate::api::experiments::intervene::intervene;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{At, QueryParams};
use crate::web::session::Visitor;
use crate::web::sign_in::BareForm;

/// The token of the form, for who may press the button where the spec has sessions.
pub(super) fn token(visitor: &Visitor, spec: Option<&Spec>) -> Option<String> {
    let has_sessions = spec.is_some_and(|spec| spec.tool_contracts.is_some());
    (has_sessions && visitor.may_submit()).then(|| visitor.token.clone())
}

/// The button; nothing when nobody may press it, or there is no session.
pub(super) fn button(shown: &Shown) -> Markup {
    let token = shown.kill_token.as_ref().filter(|_| shown.goes_on());
    html! { @if let Some(token) = token {
        form.actions method="post" action=(shown.below("/kill")) {
            input type="hidden" name="token" value=(token);
            button type="submit" { "Kill the session" }
            span.quiet { "Every later tool call is refused. The agent itself goes on until it ends." }
        }
    } }
}

/// Kills all sessions of the scenario.
pub(super) async fn kill(
    State(app): State<App>,
    visitor: Visitor,
    At((id, scenario)): At<(String, String)>,
    QueryParams(query): QueryParams<ScenarioQuery>,
    Form(form): Form<BareForm>,
) -> Result<Redirect, ApiError> {
    visitor.require_submit()?;
    visitor.require_token(&form.token)?;
    let change = SessionChange::Kill { scope: KillReach::Workflow, reason: "on its page".to_owned() };
    intervene(&app, &visitor.caller, (&id, &scenario, query.run), None, change).await?;
    let run = query.run.map(|run| format!("?run={run}")).unwrap_or_default();
    Ok(Redirect::to(&format!("/experiments/{id}/scenarios/{scenario}{run}")))
}
