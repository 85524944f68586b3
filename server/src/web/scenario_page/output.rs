//! The agent's output: its beginning and its end, and all of it as a file.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use maud::{Markup, html};
use scenario::evidence::{Captured, Evidence, Invocation};
use scenario::untrusted;

use super::{ScenarioQuery, Shown};
use crate::api::experiments::details::FoundScenario;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{At, QueryParams};
use crate::web::ansi;
use crate::web::numbers::bytes;
use crate::web::session::Visitor;
use crate::web::untrusted_html::{beginning, ending};

/// The size limit of each end on a page in bytes.
const MOST: usize = 32 * 1024;

/// The agent's standard output.
pub(super) fn section(shown: &Shown, evidence: &Evidence) -> Markup {
    let agent = &evidence.agent;
    html! {
        section aria-labelledby="output" {
            h2 #output { "Output" }
            @if !evidence.invocations.is_empty() { (invocations(shown, &evidence.invocations)) }
            (stream(shown, "stdout", "Standard output", &agent.stdout))
            (stream(shown, "stderr", "Standard error", &agent.stderr))
        }
    }
}

/// The agent's output in each invocation, where its sandbox was reused.
fn invocations(shown: &Shown, invocations: &[Invocation]) -> Markup {
    let marks = shown.marks();
    html! {
        h3 { "Invocations " span.quiet { (invocations.len()) } }
        @for invocation in invocations {
            details {
                summary {
                    (untrusted::line(invocation.rule.as_deref().unwrap_or("the spec's own invariants"), 80))
                    @if let Some(prompt) = invocation.prompt { ", prompt " (u64::from(prompt) + 1) }
                    @match &invocation.agent {
                        Some(agent) => span.quiet {
                            " " (agent.exit.map_or_else(|| "stopped".to_owned(), |exit| exit.to_string()))
                            ", " (agent.wall_ms) " ms"
                        },
                        None => span.bad { " not invoked any more" },
                    }
                }
                @if let Some(agent) = &invocation.agent {
                    pre.output tabindex="0" { code { (ansi::coloured(ending(&agent.stdout.text(), MOST), marks)) } }
                }
            }
        }
    }
}

/// All that an agent printed, as a file that no browser shows.
pub(super) async fn file(
    State(app): State<App>,
    visitor: Visitor,
    At((id, scenario, stream)): At<(String, String, String)>,
    QueryParams(query): QueryParams<ScenarioQuery>,
) -> Result<Response, ApiError> {
    let found = FoundScenario::find(&app, &visitor.caller, &id, &scenario, query.run).await?;
    let output = app.shows.outputs().of(&app, &found.stored).await?;
    let text = match stream.as_str() {
        "stdout" => output.stdout.clone(),
        "stderr" => output.stderr.clone(),
        _ => return Err(ApiError::not_found("an agent prints to `stdout` and `stderr`")),
    };
    let name = format!("attachment; filename=\"{scenario}-{stream}.txt\"");
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8"), (CONTENT_DISPOSITION, name.as_str())], text).into_response())
}

fn stream(shown: &Shown, stream: &str, name: &str, captured: &Captured) -> Markup {
    let kept = captured.head.len() + captured.tail.as_ref().map_or(0, String::len);
    let size = kept as u64 + captured.dropped_bytes;
    let experiment = &shown.found.experiment;
    let (scenario, run) = (&shown.found.stored.scenario.id, shown.found.run.id.number);
    let place = format!("/experiments/{}/scenarios/{scenario}/output/{stream}?run={run}", experiment.id);
    html! {
        h3 { (name) " " span.quiet { (bytes(size)) } }
        @if size == 0 { p.quiet { "Nothing." } } @else {
            p {
                a download={ (scenario) "-" (stream) ".txt" } href=(place) { "Download " (stream) }
                @if captured.dropped_bytes > 0 {
                    span.quiet { " " (bytes(captured.dropped_bytes)) " in its middle were not kept" }
                }
            }
            (shortened(shown, captured, size))
        }
    }
}

/// Renders output, truncated from the middle when it is long.
fn shortened(shown: &Shown, captured: &Captured, size: u64) -> Markup {
    let marks = shown.marks();
    let part = |text: &str| html! { pre.output tabindex="0" { code { (ansi::coloured(text, marks)) } } };
    let (begin, rest) = beginning(&captured.head, MOST);
    let end = match &captured.tail {
        Some(tail) => ending(tail, MOST),
        None if rest <= MOST => return part(&captured.head),
        None => ending(&captured.head, MOST),
    };
    html! {
        (part(begin))
        p.quiet { (bytes(size.saturating_sub((begin.len() + end.len()) as u64))) " are left out here." }
        (part(end))
    }
}
