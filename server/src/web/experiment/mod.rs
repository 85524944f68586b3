//! One experiment: whether it passed, what failed where, and how it goes on while it is run.

mod actions;
mod grid;
mod scenarios;
mod spec_file;
mod summary;

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use scenario::score::ExperimentScore;
use serde::Deserialize;
use store::{Experiment, HistoryFilter, Page, Past, Run, RunKind, RunState, StoredScenario};

use super::foreign;
use super::layout::{Frame, Tab};
use super::live::follow;
use super::marks::run_badge;
use super::numbers::{ago, time};
use super::refusal::escaped;
use super::session::Visitor;
use crate::api::experiments::{find, find_run, require_run};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, At};
use crate::results::{Made, Standing};

pub(super) use spec_file::Taken;

/// How many scenarios a page has.
pub(super) const PART: u64 = 200;
/// How many earlier experiments are offered to compare with.
const OTHERS: u64 = 20;
/// How many runs are offered.
const RUNS: u32 = 20;

/// Which run, and which part of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ExperimentQuery {
    run: Option<u32>,
    from: u64,
}

/// What a page shows of a run.
#[derive(Debug)]
struct Shown {
    experiment: Experiment,
    run: Run,
    /// Its numbers, which may be a little older than the scenarios.
    standing: Arc<Made<Standing>>,
    /// The names of invariants, in the order of the spec.
    invariants: Vec<String>,
    /// A part of the scenarios, in the order of the plan.
    part: Vec<StoredScenario>,
    /// Where the part begins.
    from: u64,
    /// The ids of those that are being run.
    running: BTreeSet<String>,
}

/// The routes.
pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/experiments/{id}", get(page))
        .route("/experiments/{id}/part", get(part))
        .route("/experiments/{id}/live", get(live))
        .route("/experiments/{id}/spec", get(spec_file::spec_file))
        .route("/experiments/{id}/cancel", post(actions::cancel))
        .route("/experiments/{id}/rerun", post(actions::rerun))
}

async fn page(
    State(app): State<App>,
    visitor: Visitor,
    At(id): At<String>,
    Asked(query): Asked<ExperimentQuery>,
) -> Result<Response, ApiError> {
    let experiment = find(&app, &visitor.caller, &id).await?;
    let run = find_run(&app, &experiment, query.run).await?;
    let tags = app.store.tags_of(&experiment.spec.digest).await?;
    let head = head(&app, &experiment, run.as_ref(), &tags);
    let body = match run {
        None => html! {
            (head)
            div.empty { p { "It was not run yet: " code { "POST /v1/experiments/" (experiment.id) "/run" } " begins." } }
        },
        Some(run) => {
            let others = others(&app, &visitor, &experiment).await?;
            let shown = Shown::read(&app, experiment.clone(), run, query.from).await?;
            let place = format!("/experiments/{}", experiment.id);
            let part = format!("{place}/part?run={}&from={}", shown.run.id.number, shown.from);
            let is_open = shown.run.state == RunState::Open;
            html! {
                (head)
                div #live data-live=[is_open.then(|| format!("{place}/live?run={}", shown.run.id.number))]
                    data-part=[is_open.then_some(part)] { (shown.content()) }
                (actions::section(&visitor, &shown.experiment, &shown.run, &others))
            }
        }
    };
    let title = format!("{} · experiment", experiment.title());
    Ok(Frame { title: &title, tab: Tab::Experiments, visitor: Some(&visitor) }.around(&body).into_response())
}

/// What changes on the page while a run goes on.
async fn part(
    State(app): State<App>,
    visitor: Visitor,
    At(id): At<String>,
    Asked(query): Asked<ExperimentQuery>,
) -> Result<Markup, ApiError> {
    let experiment = find(&app, &visitor.caller, &id).await?;
    let run = require_run(&app, &experiment, query.run).await?;
    Ok(Shown::read(&app, experiment, run, query.from).await?.content())
}

/// Tells when there is something new about a run.
async fn live(
    State(app): State<App>,
    visitor: Visitor,
    At(id): At<String>,
    Asked(query): Asked<ExperimentQuery>,
) -> Result<Response, ApiError> {
    let experiment = find(&app, &visitor.caller, &id).await?;
    let run = require_run(&app, &experiment, query.run).await?;
    follow(app, run, None)
}

impl Shown {
    async fn read(app: &App, experiment: Experiment, run: Run, from: u64) -> Result<Self, ApiError> {
        let part = app.store.scenarios_from(run.id, from, PART).await?;
        let standing = app.standings.of(app, &experiment, &run).await?;
        let unended = part.iter().filter(|stored| stored.result.is_none()).map(|stored| stored.scenario.id.as_str());
        let running = match run.state {
            RunState::Open => app.store.running_of(run.id, unended).await?,
            RunState::Finished | RunState::Cancelled => BTreeSet::new(),
        };
        // A spec that cannot be read any more has left its verdicts.
        let invariants = standing.thing.invariants.clone().unwrap_or_else(|| named(&part));
        Ok(Self { experiment, run, standing, invariants, part, from, running })
    }

    fn content(&self) -> Markup {
        html! {
            (summary::tiles(&self.run, self.score()))
            (grid::section(self))
            (scenarios::section(self))
        }
    }

    fn score(&self) -> &ExperimentScore {
        &self.standing.thing.score
    }

    /// Where a scenario's page is.
    fn link(&self, scenario: &str) -> String {
        format!("/experiments/{}/scenarios/{scenario}?run={}", self.experiment.id, self.run.id.number)
    }
}

fn named(part: &[StoredScenario]) -> Vec<String> {
    let results = part.iter().filter_map(|stored| stored.result.as_ref());
    results.map(|result| result.invariants.iter().map(|one| one.name.clone()).collect()).next().unwrap_or_default()
}

fn head(app: &App, experiment: &Experiment, run: Option<&Run>, tags: &[String]) -> Markup {
    let spec = &experiment.spec;
    html! {
        nav.crumbs aria-label="Where this is" { a href="/experiments" { "Experiments" } " / " span { (experiment.id) } }
        div.head {
            h1 { (foreign::line(experiment.title(), 120)) }
            @if let Some(run) = run { (run_badge(run.state, run.verdict)) }
        }
        p.facts {
            span { "Spec "
                a href={ "/specs/" (escaped(&spec.spec_id)) "?version=" (spec.version) } {
                    (foreign::line(&spec.spec_id, 80)) " v" (spec.version)
                }
            }
            span { "Submitted " (ago(experiment.created_at, app.clock.now())) ", " (time(experiment.created_at)) }
            span { "Seed " code { (experiment.seed) } }
            @if !experiment.owner.is_empty() { span { "Owner " (foreign::line(&experiment.owner, 64)) } }
            @for tag in tags { a.tag href={ "/experiments?tag=" (escaped(tag)) } { (foreign::line(tag, 40)) } }
            @if let Some(of) = &experiment.settings.rerun_of { span { "Repeats " (foreign::line(of, 80)) } }
        }
        @if let Some(run) = run { (runs(experiment, run)) }
    }
}

/// The runs of an experiment that has several, and what is special about this one.
fn runs(experiment: &Experiment, run: &Run) -> Markup {
    let number = run.id.number;
    html! {
        @if let RunKind::Rescored { of } = run.kind {
            p.notice { "This run judged the evidence of run " (of) " again." }
        }
        @if let Some(reason) = &run.reason { p.notice { "It was ended early: " (foreign::short_prose(reason, 300)) } }
        @if number > 1 {
            p.facts { "Runs: "
                @for other in (1..=number).rev().take(RUNS as usize) {
                    a href={ "/experiments/" (experiment.id) "?run=" (other) }
                        aria-current=[(other == number).then_some("true")] { (other) } " "
                }
            }
        }
    }
}

/// Earlier and later experiments of the same spec.
async fn others(app: &App, visitor: &Visitor, experiment: &Experiment) -> Result<Vec<Past>, ApiError> {
    let filter = HistoryFilter {
        owner: visitor.caller.sees(),
        spec_id: Some(&experiment.spec.spec_id),
        ..HistoryFilter::default()
    };
    let listed = app.store.history(filter, Page { after: None, most: OTHERS }).await?;
    Ok(listed.items.into_iter().filter(|past| past.experiment.id != experiment.id).collect())
}
