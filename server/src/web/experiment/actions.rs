//! Actions on an experiment: cancel, rerun, compare, download.

use axum::extract::{Form, State};
use axum::response::Redirect;
use maud::{Markup, html};
use serde::Deserialize;
use store::{ComparableRun, Experiment, Run, RunState};

use super::Shown;
use crate::api::experiments::cancel::end_early;
use crate::api::experiments::find;
use crate::api::experiments::rerun::{RerunBody, run_again};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::At;
use crate::web::badges::Mark;
use crate::web::numbers::count;
use crate::web::session::Visitor;
use crate::web::sign_in::BareForm;
use crate::web::untrusted_html;

/// The fields of the form.
#[derive(Debug, Deserialize)]
pub(super) struct RerunForm {
    token: String,
    /// `failed` for those that did not pass.
    which: String,
    /// Of which run; of the newest one without it.
    run: Option<u32>,
}

/// Ends a run early.
pub(super) async fn cancel(
    State(app): State<App>,
    visitor: Visitor,
    At(id): At<String>,
    Form(form): Form<BareForm>,
) -> Result<Redirect, ApiError> {
    visitor.require_submit()?;
    visitor.require_token(&form.token)?;
    let experiment = find(&app, &visitor.caller, &id).await?;
    end_early(&app, &experiment, "cancelled on its page").await?;
    Ok(Redirect::to(&format!("/experiments/{}", experiment.id)))
}

/// Begins an experiment that repeats this one.
pub(super) async fn rerun(
    State(app): State<App>,
    visitor: Visitor,
    At(id): At<String>,
    Form(form): Form<RerunForm>,
) -> Result<Redirect, ApiError> {
    visitor.require_submit()?;
    visitor.require_token(&form.token)?;
    let experiment = find(&app, &visitor.caller, &id).await?;
    let body = RerunBody { failed_only: Some(form.which == "failed"), run: form.run, ..RerunBody::default() };
    let (begun, _) = run_again(&app, experiment, body).await?;
    Ok(Redirect::to(&format!("/experiments/{}", begun.experiment)))
}

/// All that can be done, for who may: below the heading, so that it is reached before what is below it.
pub(super) fn toolbar(visitor: &Visitor, shown: &Shown, others: &[ComparableRun]) -> Markup {
    html! {
        div.toolbar role="group" aria-label="What can be done with the experiment" {
            @if visitor.may_submit() && shown.run.state != RunState::Open { (repeat(visitor, shown)) }
            details.menu { summary.button { "Compare" } div.panel { (compare(&shown.experiment, others)) } }
            details.menu { summary.button { "Download" } div.panel { (downloads(&shown.experiment, &shown.run)) } }
        }
    }
}

fn repeat(visitor: &Visitor, shown: &Shown) -> Markup {
    let left = shown.run.total.saturating_sub(shown.score().passed as u64);
    html! {
        form.actions method="post" action={ "/experiments/" (shown.experiment.id) "/rerun" } {
            input type="hidden" name="token" value=(visitor.token);
            input type="hidden" name="run" value=(shown.run.id.number);
            button type="submit" name="which" value="all" { "Run all again" }
            @if left > 0 {
                button type="submit" name="which" value="failed" { "Run " (count(left)) " that did not pass again" }
            }
        }
    }
}

fn downloads(experiment: &Experiment, run: &Run) -> Markup {
    let place = format!("/v1/experiments/{}", experiment.id);
    let run = run.id.number;
    let files = [
        (".json", format!("?run={run}&format=json"), "Results as JSON"),
        (".xml", format!("?run={run}&format=junit"), "JUnit"),
        (".md", format!("?run={run}&format=markdown"), "Markdown"),
        ("-all.json", format!("/export?run={run}"), "Everything, with traces and scores"),
    ];
    html! {
        ul.plain {
            @for (file, query, words) in files {
                li { a download={ (experiment.id) (file) } href={ (place) (query) } { (words) } }
            }
            li { a href={ (place) "/events?run=" (run) } { "Events" } }
        }
    }
}

fn compare(experiment: &Experiment, others: &[ComparableRun]) -> Markup {
    html! {
        @if others.is_empty() { p.quiet { "No other experiment has run all of this spec and ended." } } @else {
            form.stack method="get" action="/compare" {
                input type="hidden" name="b" value=(experiment.id);
                label for="other" { "With an earlier one" }
                select #other name="a" {
                    @for other in others { option value=(other.experiment.id) { (named(other)) } }
                }
                button type="submit" { "Compare" }
            }
        }
        p.after { a href={ "/compare?b=" (experiment.id) } { "With any other…" } }
    }
}

fn named(ComparableRun { experiment, run, .. }: &ComparableRun) -> Markup {
    let when = experiment.created_at.to_string();
    let when = when.get(..16).unwrap_or(&when).replace('T', " ");
    html! { (when) ", " (untrusted_html::line(experiment.title(), 40)) ", " (Mark::of_run(run.state, run.verdict).word()) }
}
