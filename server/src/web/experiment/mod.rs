//! One experiment: whether it passed, what failed where, and how it goes on while it is run.

mod actions;
mod choice;
mod contract;
mod grid;
mod head;
mod judges;
mod mutations;
mod replays;
mod scenarios;
mod spec_file;
mod summary;
mod verdict;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use scenario::score::ExperimentScore;
use serde::Deserialize;
use store::{
    ApprovalFilter, ApprovalStatus, ComparableFilter, ComparableRun, Experiment, Run, RunId, RunState, StoredScenario,
};

use super::approvals::waiting_hint;
use super::certificate;
use super::layout::{Frame, Tab};
use super::live::follow;
use super::session::Visitor;
use crate::api::experiments::{find, find_run, require_run};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{At, QueryParams};
use crate::results::{Made, Standing};

use choice::{Choice, asked, within};
pub(super) use spec_file::Taken;

/// The number of scenarios on a page.
pub(super) const PART: u64 = 200;
/// The most earlier experiments that are offered to compare with.
const OTHERS: u64 = 20;

/// Which run, and which part of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ExperimentQuery {
    run: Option<u32>,
    /// Only scenarios that stand so.
    status: String,
    /// From which of them.
    from: u64,
}

/// The data of an experiment's page.
#[derive(Debug)]
struct Shown {
    experiment: Experiment,
    run: Run,
    /// Its numbers, which may be a little older than the scenarios.
    numbers: Arc<Made<Standing>>,
    /// The names of invariants, in the order of the spec.
    invariants: Vec<String>,
    /// Which scenarios are wanted.
    choice: Choice,
    /// A part of them, in the order of the plan.
    part: Vec<StoredScenario>,
    /// Where the part begins.
    from: u64,
    /// The ids of those that are being run.
    running: BTreeSet<String>,
    /// The number of its calls that wait for a person.
    waiting: u64,
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
    QueryParams(query): QueryParams<ExperimentQuery>,
) -> Result<Response, ApiError> {
    let experiment = find(&app, &visitor.caller, &id).await?;
    let run = find_run(&app, &experiment, query.run).await?;
    let tags = app.store.tags_of(&experiment.spec.digest).await?;
    let certificate = certificate::line(&app, &experiment.owner, &experiment.spec).await?;
    let facts = html! { (head::facts(&app, &experiment, &tags)) (certificate) };
    let body = match run {
        None => html! {
            (head::standing(&visitor, &experiment, None))
            (facts)
            div.empty { p { "It was not run yet: " code { "POST /v1/experiments/" (experiment.id) "/run" } " begins." } }
        },
        Some(run) => {
            let others = others(&app, &visitor, &experiment).await?;
            let shown = Shown::read(&app, experiment.clone(), run, &query).await?;
            let place = format!("/experiments/{}", experiment.id);
            let part = format!("{place}/part?run={}{}", shown.run.id.number, asked(shown.choice, shown.from));
            let is_open = shown.run.state == RunState::Open;
            html! {
                (shown.standing(&visitor))
                (facts)
                (head::runs(&experiment, &shown.run))
                (actions::toolbar(&visitor, &shown, &others))
                div #live data-live=[is_open.then(|| format!("{place}/live?run={}", shown.run.id.number))]
                    data-part=[is_open.then_some(part)] { (shown.content()) }
            }
        }
    };
    let title = format!("{} · experiment", experiment.title());
    Ok(Frame { title: &title, tab: Tab::Experiments, visitor: Some(&visitor) }.around(&body).into_response())
}

/// Renders the part of the page that changes while a run goes on.
async fn part(
    State(app): State<App>,
    visitor: Visitor,
    At(id): At<String>,
    QueryParams(query): QueryParams<ExperimentQuery>,
) -> Result<Markup, ApiError> {
    let experiment = find(&app, &visitor.caller, &id).await?;
    let run = require_run(&app, &experiment, query.run).await?;
    let shown = Shown::read(&app, experiment, run, &query).await?;
    Ok(html! {
        (shown.standing(&visitor))
        div #live { (shown.content()) }
    })
}

/// Tells when there is something new about a run.
async fn live(
    State(app): State<App>,
    visitor: Visitor,
    At(id): At<String>,
    QueryParams(query): QueryParams<ExperimentQuery>,
) -> Result<Response, ApiError> {
    let experiment = find(&app, &visitor.caller, &id).await?;
    let run = require_run(&app, &experiment, query.run).await?;
    follow(app, &visitor.caller, run, None)
}

impl Shown {
    async fn read(app: &App, experiment: Experiment, run: Run, query: &ExperimentQuery) -> Result<Self, ApiError> {
        let choice = Choice::read(query)?;
        let numbers = app.standings.of(app, &experiment, &run).await?;
        let score = &numbers.thing.score;
        let from = within(query.from, choice.count(&run, score));
        let part = choice.part(app, &run, score, from).await?;
        let unended = part.iter().filter(|stored| stored.result.is_none()).map(|stored| stored.scenario.id.as_str());
        let running = match run.state {
            RunState::Open => app.store.running_of(run.id, unended).await?,
            RunState::Finished | RunState::Cancelled => BTreeSet::new(),
        };
        let waiting = match run.state {
            RunState::Open => waiting(app, run.id).await?,
            RunState::Finished | RunState::Cancelled => 0,
        };
        // A spec that cannot be read any more has left its verdicts.
        let invariants = numbers.thing.invariants.clone().unwrap_or_else(|| named(&part));
        Ok(Self { experiment, run, numbers, invariants, choice, part, from, running, waiting })
    }

    /// The heading, and how the run stands.
    fn standing(&self, visitor: &Visitor) -> Markup {
        html! {
            div #standing {
                (head::standing(visitor, &self.experiment, Some(&self.run)))
                (waiting_hint(self.waiting))
                (verdict::sentence(self))
                (verdict::caveats(self))
            }
        }
    }

    fn content(&self) -> Markup {
        html! {
            (summary::tiles(self))
            (judges::section(self))
            (contract::section(self))
            (mutations::section(self))
            (replays::section(self))
            (mutations::overall(self))
            (grid::section(self))
            (scenarios::section(self))
        }
    }

    fn score(&self) -> &ExperimentScore {
        &self.numbers.thing.score
    }

    /// Where a part of a choice is, and a place in it.
    fn at(&self, choice: Choice, from: u64, place: &str) -> String {
        format!("/experiments/{}?run={}{}#{place}", self.experiment.id, self.run.id.number, asked(choice, from))
    }

    /// Where a scenario's page is.
    fn link(&self, scenario: &str) -> String {
        format!("/experiments/{}/scenarios/{scenario}?run={}", self.experiment.id, self.run.id.number)
    }
}

/// Counts the calls of a run that wait for a person.
async fn waiting(app: &App, run: RunId) -> Result<u64, ApiError> {
    let (run, status) = (Some(run), Some(ApprovalStatus::Pending));
    let filter = ApprovalFilter { run, status, now: app.clock.now(), ..ApprovalFilter::default() };
    Ok(app.store.count_approvals(filter).await?)
}

fn named(part: &[StoredScenario]) -> Vec<String> {
    let results = part.iter().filter_map(|stored| stored.result.as_ref());
    results.map(|result| result.invariants.iter().map(|one| one.name.clone()).collect()).next().unwrap_or_default()
}

/// Other experiments of the same spec that can be compared with this one, newest first, each with its newest run.
async fn others(app: &App, visitor: &Visitor, experiment: &Experiment) -> Result<Vec<ComparableRun>, ApiError> {
    let (owner, spec_id) = (visitor.caller.sees(), experiment.spec.spec_id.as_str());
    let filter = ComparableFilter { owner, spec_id, before: None, since: None, most: OTHERS };
    let mut runs = app.store.comparable_runs(filter).await?;
    let mut seen = HashSet::from([experiment.id]);
    runs.retain(|one| seen.insert(one.experiment.id));
    Ok(runs)
}
