//! One scenario: its story in time, what was judged and why, and all that it left.

mod answers;
mod changes;
mod conversation;
mod event;
mod evidence_cache;
mod exchange;
mod faults;
mod head;
mod kill;
mod moment_filter;
mod moment_html;
mod output;
mod reproduce;
mod search;
mod siblings;
mod task;
mod timeline;
mod tool_contracts;
mod tools;
mod usage;
mod verdicts;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use http::HeaderMap;
use maud::{Markup, html};
use scenario::evidence::Evidence;
use scenario::plan::ScenarioId;
use scenario::report::Report;
use scenario::score::ExperimentScore;
use scenario::trace::TimedEvent;
use serde::Deserialize;
use store::{ApprovalFilter, ApprovalStatus, AttemptOutcome, RunState, StoreError, StoredEvent, spec_of};

use super::approvals::waiting_hint;
use super::badges::{Mark, is_ending};
use super::error_page::escaped;
use super::experiment::Taken;
use super::layout::{Frame, Tab};
use super::live::follow;
use super::session::Visitor;
use super::untrusted_html::{self, Marks};
use crate::api::experiments::details::{FoundScenario, report_alone};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{At, QueryParams};
use crate::results::{Made, ScenarioStatus, Standing};

use event::WorkerNames;
use task::AgentTask;

pub(crate) use evidence_cache::Stories;

/// The numbers of a run that goes on are made for the page of one scenario only when it has no more scenarios than
/// this.
const FEW: u64 = 200;
/// The most events of a scenario that are read.
const MOST_EVENTS: u64 = 2000;

/// Which run, which attempt, and which part of the story.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct ScenarioQuery {
    run: Option<u32>,
    attempt: Option<u32>,
    /// Only moments of this kind.
    kind: String,
    /// Only moments that have this text somewhere.
    text: String,
    /// Set to show successful DNS lookups too; hidden when empty.
    lookups: String,
    /// Only moments that a fault hit; all when it is empty.
    faulted: String,
    /// From which moment.
    from: usize,
}

/// The data of a scenario's page.
struct Shown {
    found: FoundScenario,
    query: ScenarioQuery,
    status: Mark,
    /// The report, once it was judged.
    report: Option<Report>,
    /// The evidence, or the reason why it is missing.
    evidence: Option<Arc<Evidence>>,
    missing: Option<String>,
    events: Vec<StoredEvent>,
    /// The names of the machines of workers.
    workers: WorkerNames,
    /// The agent's task; `None` when the spec cannot be read any more.
    task: Option<AgentTask>,
    /// The numbers of its run, which know the other scenarios; `None` while they take long to make.
    numbers: Option<Arc<Made<Standing>>>,
    /// The download form of its spec, when it is no file of the reader's.
    taken: Option<Taken>,
    /// The number of its calls that wait for a person.
    waiting: u64,
    /// The token of the form that kills its sessions, for who may and where there are any.
    kill_token: Option<String>,
    /// Where this server is for whoever asks.
    origin: Option<String>,
}

/// The routes.
pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/experiments/{id}/scenarios/{scenario}", get(page))
        .route("/experiments/{id}/scenarios/{scenario}/part", get(part))
        .route("/experiments/{id}/scenarios/{scenario}/live", get(live))
        .route("/experiments/{id}/scenarios/{scenario}/output/{stream}", get(output::file))
        .route("/experiments/{id}/scenarios/{scenario}/kill", post(kill::kill))
        .route("/experiments/{id}/scenarios/{scenario}/contract/{session}", get(tool_contracts::log))
}

async fn page(
    State(app): State<App>,
    visitor: Visitor,
    At((id, scenario)): At<(String, String)>,
    QueryParams(query): QueryParams<ScenarioQuery>,
    headers: HeaderMap,
) -> Result<Markup, ApiError> {
    let shown = Shown::read(&app, &visitor, &id, &scenario, query).await?;
    let shown = Shown { origin: reproduce::origin(&headers), ..shown };
    let title = format!("{scenario} · {}", shown.found.experiment.title());
    let goes_on = shown.goes_on();
    let body = html! {
        div #live data-live=[goes_on.then(|| shown.at("/live"))] data-part=[goes_on.then(|| shown.at("/part"))] {
            (shown.content())
        }
    };
    Ok(Frame { title: &title, tab: Tab::Experiments, visitor: Some(&visitor) }.around(&body))
}

/// Renders the part of the page that changes while the scenario runs.
async fn part(
    State(app): State<App>,
    visitor: Visitor,
    At((id, scenario)): At<(String, String)>,
    QueryParams(query): QueryParams<ScenarioQuery>,
) -> Result<Markup, ApiError> {
    let shown = Shown::read(&app, &visitor, &id, &scenario, query).await?;
    Ok(html! { div #live { (shown.content()) } })
}

/// Tells when there is something new about the scenario.
async fn live(
    State(app): State<App>,
    visitor: Visitor,
    At((id, scenario)): At<(String, String)>,
    QueryParams(query): QueryParams<ScenarioQuery>,
) -> Result<Response, ApiError> {
    let found = FoundScenario::find(&app, &visitor.caller, &id, &scenario, query.run).await?;
    follow(app, &visitor.caller, found.run, Some(scenario))
}

impl Shown {
    async fn read(
        app: &App,
        visitor: &Visitor,
        id: &str,
        scenario: &str,
        query: ScenarioQuery,
    ) -> Result<Self, ApiError> {
        let found = FoundScenario::find(app, &visitor.caller, id, scenario, query.run).await?;
        let source = found.attempt(query.attempt).ok();
        let (evidence, missing) = match source {
            Some((job, attempt)) => app.stories.of(app, job, attempt).await?,
            None => (None, None),
        };
        let mut events = app.store.scenario_events(found.acted, scenario, MOST_EVENTS).await?;
        // Before one is judged, the last attempt is what is of interest.
        let newest = || found.attempts.last().map(|attempt| attempt.number);
        if let Some(attempt) = source.map(|(_, attempt)| attempt).or_else(newest) {
            events.retain(|stored| stored.event.attempt == attempt);
        }
        let workers = WorkerNames::of(app, &events).await?;
        let report = match &found.stored.result {
            Some(result) => Some(report_alone(app, &found.experiment, &found.run, result.clone()).await?),
            None => None,
        };
        let is_uploaded = found.experiment.source == format!("{}.yaml", found.experiment.spec.spec_id);
        let taken = if is_uploaded { Some(Taken::of(app, &found.run.digest).await?) } else { None };
        let FoundScenario { experiment, run, stored, .. } = &found;
        let spec = match spec_of(&app.store, run).await {
            Ok(spec) => Some(spec),
            Err(StoreError::Unreadable(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let kill_token = kill::token(visitor, spec.as_ref());
        let task = spec.map(|spec| AgentTask::of(experiment, &spec, &stored.scenario, evidence.as_deref()));
        let waiting = waiting(app, &found).await?;
        let is_quick = run.score.is_some() || run.total <= FEW;
        let numbers = if is_quick { Some(app.standings.of(app, experiment, run).await?) } else { None };
        let score = numbers.as_ref().map(|numbers| &numbers.thing.score);
        let status = mark(&found, score);
        Ok(Self {
            found,
            query,
            status,
            report,
            evidence,
            missing,
            events,
            workers,
            task,
            numbers,
            taken,
            waiting,
            kill_token,
            origin: None,
        })
    }

    /// The marks of this attempt.
    fn marks(&self) -> Marks<'_> {
        Marks { key: self.evidence.as_ref().and_then(|evidence| evidence.marker_key.as_deref()) }
    }

    /// Returns the events in the form of a timeline.
    fn timed_events(&self) -> Vec<TimedEvent<'_>> {
        self.events.iter().map(|stored| TimedEvent::from(&stored.event)).collect()
    }

    /// True when the scenario can still change.
    fn goes_on(&self) -> bool {
        self.found.stored.result.is_none() && self.found.run.state == RunState::Open && self.status != Mark::NotRun
    }

    /// True when it was never started, and will not be.
    fn is_untouched(&self) -> bool {
        self.status == Mark::NotRun && self.events.is_empty() && self.found.attempts.is_empty()
    }

    /// Why there is no result.
    fn not_run(&self) -> &'static str {
        match (self.found.run.reason.is_some(), self.is_untouched()) {
            (true, true) => "It was not run: the experiment was ended early.",
            (true, false) => "It was stopped: the experiment was ended early.",
            (false, _) => "It was not run.",
        }
    }

    /// Where this scenario's page is.
    fn place(&self) -> String {
        self.below("")
    }

    /// Where something of this page is, as it was asked for.
    fn at(&self, what: &str) -> String {
        let ScenarioQuery { attempt, kind, text, lookups, faulted, from, .. } = &self.query;
        let attempt = attempt.map(|attempt| format!("&attempt={attempt}")).unwrap_or_default();
        let [kind, text, lookups, faulted] = [kind, text, lookups, faulted].map(|said| escaped(said));
        let said = format!("&kind={kind}&text={text}&lookups={lookups}&faulted={faulted}");
        format!("{}{said}&from={from}{attempt}", self.below(what))
    }

    fn below(&self, what: &str) -> String {
        let FoundScenario { experiment, run, stored, .. } = &self.found;
        format!("/experiments/{}/scenarios/{}{what}?run={}", experiment.id, stored.scenario.id, run.id.number)
    }

    /// Where all evidence of the attempt is that the page shows.
    fn evidence_link(&self) -> String {
        let attempt = self.query.attempt.or_else(|| self.found.stored.source.map(|(_, attempt)| attempt));
        let attempt = attempt.map(|attempt| format!("&attempt={attempt}")).unwrap_or_default();
        format!("{}/evidence?run={}{attempt}", self.api(), self.found.run.id.number)
    }

    /// Where another scenario of its run is.
    fn beside(&self, scenario: &ScenarioId) -> String {
        let FoundScenario { experiment, run, .. } = &self.found;
        format!("/experiments/{}/scenarios/{scenario}?run={}", experiment.id, run.id.number)
    }

    /// Where the API has this scenario.
    fn api(&self) -> String {
        let FoundScenario { experiment, stored, .. } = &self.found;
        format!("/v1/experiments/{}/scenarios/{}", experiment.id, stored.scenario.id)
    }

    fn content(&self) -> Markup {
        let row = self.report.as_ref().and_then(|report| report.rows.first());
        html! {
            (head::head(self))
            (waiting_hint(self.waiting))
            (kill::button(self))
            @if let Some(row) = row { (verdicts::caveats(row)) }
            (siblings::section(self))
            (task::section(self))
            @if let Some(missing) = &self.missing { p.notice.bad { (untrusted_html::text(missing)) } }
            @if let Some(row) = row {
                (verdicts::why(self, row))
                (verdicts::invariants(self, row))
                (verdicts::rules(self, row))
            }
            @if self.status == Mark::NotRun { p.notice { (self.not_run()) } }
            (faults::section(self))
            (tools::section(self))
            (tool_contracts::section(self))
            @if !self.is_untouched() { (timeline::section(self)) }
            @if let Some(evidence) = &self.evidence {
                (changes::section(self, evidence))
                (output::section(self, evidence))
            }
            @if !self.is_untouched() { (usage::section(self, row)) }
            @if let (Some(report), Some(row)) = (&self.report, row) { (reproduce::section(self, report, row)) }
        }
    }
}

/// The mark of a scenario as it stands.
fn mark(found: &FoundScenario, score: Option<&ExperimentScore>) -> Mark {
    match ScenarioStatus::of(&found.stored, &found.run, score) {
        ScenarioStatus::Ended(status) => match &found.stored.result {
            Some(result) => Mark::of_result(status, result),
            None => Mark::of_status(status),
        },
        ScenarioStatus::NotRun => Mark::NotRun,
        ScenarioStatus::Pending if found.attempts.iter().any(|attempt| attempt.outcome == AttemptOutcome::Running) => {
            Mark::Running
        }
        ScenarioStatus::Pending if is_ending(&found.run) => Mark::NotRun,
        ScenarioStatus::Pending => Mark::Waiting,
    }
}

/// Counts the calls of a scenario that wait for a person.
async fn waiting(app: &App, found: &FoundScenario) -> Result<u64, ApiError> {
    let FoundScenario { run, stored, .. } = found;
    if stored.result.is_some() {
        return Ok(0);
    }
    let (scenario, status) = (Some(stored.scenario.id.as_str()), Some(ApprovalStatus::Pending));
    let filter = ApprovalFilter { run: Some(run.id), scenario, status, now: app.clock.now(), owner: None };
    Ok(app.store.count_approvals(filter).await?)
}
