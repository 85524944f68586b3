//! The sessions of a scenario under tool contracts: a lane for each, its findings, and what happened between them.

mod call;
mod findings;
mod lane;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use maud::{Markup, html};
use scenario::tool_session::{LaneNote, LaneOrigin, SessionLane, ToolSessions, contract_logs};

use super::{ScenarioQuery, Shown};
use crate::api::experiments::details::FoundScenario;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{At, QueryParams};
use crate::web::numbers::duration;
use crate::web::session::Visitor;
use crate::web::untrusted_html;

/// The most sessions that a page shows.
const MOST: usize = 20;
/// The most events between sessions that a page shows.
const MOST_EVENTS: usize = 100;

/// The sessions of the scenario; nothing when it has none.
pub(super) fn section(shown: &Shown) -> Markup {
    let result = shown.report.as_ref().and_then(|report| report.rows.first()).map(|row| &row.result);
    let sessions = ToolSessions::of(shown.evidence.as_deref(), result);
    html! { @if !sessions.is_empty() {
        section aria-labelledby="tool-contracts" {
            h2 #tool-contracts { "Tool contracts" }
            @for (index, lane) in sessions.lanes.iter().take(MOST).enumerate() { (session(shown, index, lane)) }
            @if sessions.lanes.len() > MOST { p.quiet { "The first " (MOST) " sessions are shown." } }
            @if !sessions.between.is_empty() { (between(shown, &sessions.between)) }
        }
    } }
}

fn session(shown: &Shown, index: usize, lane: &SessionLane) -> Markup {
    let name = format!("session-{index}");
    html! {
        article.lane aria-labelledby=(name) {
            header {
                h3 id=(name) { @if lane.session.is_empty() { "Invariant " } @else { "Session " } (lane.name()) }
                span.quiet { (lane.mode_words()) }
                @if matches!(lane.origin, LaneOrigin::Live(_)) {
                    a download href=(log_place(shown, index)) { "Download the records" }
                }
            }
            p {
                (lane.summary())
                @if let Some(parent) = &lane.parent { "; opened by " (untrusted_html::line(parent, 60)) }
                @if let Some(left_out) = lane.left_out_words() { "; " (left_out) }
                "."
            }
            (lane::bands(shown, index, lane))
            (findings::list(shown, index, lane))
        }
    }
}

/// Handoffs, and the end of several sessions at once.
fn between(shown: &Shown, events: &[LaneNote]) -> Markup {
    html! {
        h3 { "Between the sessions" }
        ul.plain { @for event in events.iter().take(MOST_EVENTS) {
            li {
                @if let Some(at) = event.at_ms { span.quiet { (duration(at)) } " " }
                (shown.marks().prose(&event.words))
            }
        } }
        @if events.len() > MOST_EVENTS { p.quiet { "The first " (MOST_EVENTS) " events are shown." } }
    }
}

fn log_place(shown: &Shown, index: usize) -> String {
    let attempt = shown.query.attempt.map(|attempt| format!("&attempt={attempt}")).unwrap_or_default();
    format!("{}{attempt}", shown.below(&format!("/contract/{}", index + 1)))
}

/// The records of a session, as a file that no browser shows.
pub(super) async fn log(
    State(app): State<App>,
    visitor: Visitor,
    At((id, scenario, session)): At<(String, String, usize)>,
    QueryParams(query): QueryParams<ScenarioQuery>,
) -> Result<Response, ApiError> {
    let found = FoundScenario::find(&app, &visitor.caller, &id, &scenario, query.run).await?;
    let (job, attempt) = found.attempt(query.attempt)?;
    let (evidence, _) = app.stories.of(&app, job, attempt).await?;
    let log = evidence.and_then(|evidence| contract_logs(&evidence).into_iter().nth(session.checked_sub(1)?));
    let log = log.ok_or_else(|| ApiError::not_found(format!("the scenario has no session {session}")))?;
    let name = format!("attachment; filename=\"{scenario}-{}\"", log.name);
    let headers = [(CONTENT_TYPE, "application/x-ndjson"), (CONTENT_DISPOSITION, name.as_str())];
    Ok((headers, log.lines).into_response())
}
