//! Scores that are requested after a run: rules are applied to the stored evidence.

mod rule;

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::try_join_all;
use scenario::evidence::Evidence;
use scenario::spec::Spec;
use store::{NewScore, RunId, ScoreRequest, StoreError, StoredScenario};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::Shared;
use crate::heartbeat::later;
use crate::notice::Notice;
use rule::{Judged, Rule};

/// Looking for requests, and computing scores, as things that are tried again.
const CLAIMING: &str = "looking for requests for scores";
const SCORING: &str = "scoring a run";
/// Length of the lease on a request.
const LEASE: Duration = Duration::from_secs(30 * 60);
/// Number of attempts at a request.
const ATTEMPTS: u32 = 5;
/// Pause before a request is tried again.
const PAUSE: Duration = Duration::from_secs(10);
/// Number of scenarios that are scored at once: a model takes its time.
const AT_ONCE: usize = 4;
/// Time limit for giving a request back.
const FAREWELL: Duration = Duration::from_secs(5);

/// A task that computes scores; it ends with this.
#[derive(Debug)]
pub(crate) struct Scoring {
    task: JoinHandle<()>,
    cancel: CancellationToken,
}

impl Scoring {
    /// Begins to look for requests.
    pub(crate) fn start(shared: Arc<Shared>) -> Self {
        let cancel = CancellationToken::new();
        let task = tokio::spawn(work(shared, cancel.clone()));
        Self { task, cancel }
    }

    /// Ends it. What it was doing is given back.
    pub(crate) async fn end(mut self) {
        self.cancel.cancel();
        let _ = tokio::time::timeout(FAREWELL, &mut self.task).await;
    }
}

impl Drop for Scoring {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn work(shared: Arc<Shared>, cancel: CancellationToken) {
    let mut observer = shared.retries.observe(CLAIMING);
    loop {
        let now = shared.clock.now();
        let claimed = shared.store.claim_score_request(now, later(now, LEASE)).await;
        match claimed {
            Ok(Some(request)) => {
                observer.succeeded();
                answer(&shared, &request, &cancel).await;
            }
            Ok(None) => observer.succeeded(),
            Err(error) => {
                observer.failed(error);
            }
        }
        let pause = tokio::time::sleep(shared.config.poll * 5);
        if cancel.run_until_cancelled(pause).await.is_none() {
            return;
        }
    }
}

/// Computes the scores of a request, and stores the outcome.
async fn answer(shared: &Shared, request: &ScoreRequest, cancel: &CancellationToken) {
    let scored = cancel.run_until_cancelled(score(shared, request)).await;
    let now = shared.clock.now();
    let ended = match scored {
        None => shared.store.retry_score_request(request, "the worker ended", now).await,
        Some(Ok(())) => shared.store.end_score_request(request, None).await,
        Some(Err(error)) if request.attempts < ATTEMPTS => {
            shared.retries.observe(SCORING).failed(format_args!("{}: {error}", request.run));
            shared.store.retry_score_request(request, &error.to_string(), later(now, PAUSE)).await
        }
        Some(Err(error)) => {
            let message = format!("{} could not be scored: {error}", request.run);
            shared.observer.tell(Notice::Problem(message));
            shared.store.end_score_request(request, Some(&error.to_string())).await
        }
    };
    if let Err(error) = ended {
        tracing::warn!(%error, "what came of a request for scores was not written down");
    }
}

async fn score(shared: &Shared, request: &ScoreRequest) -> Result<(), StoreError> {
    let digest = shared.store.run(request.run).await?.digest;
    let content = shared.store.spec(&digest).await?;
    let spec = store::read_spec(&content).map_err(StoreError::from)?;
    let mut rules = Vec::new();
    for id in &request.rules {
        // One that was removed meanwhile says nothing.
        if let Some(rule) = shared.store.score_rule(id).await? {
            rules.push((id.clone(), Rule::read(&rule.new.kind, &rule.new.config)));
        }
    }
    let scenarios = shared.store.scenarios(request.run).await?;
    for some in scenarios.chunks(AT_ONCE) {
        let mut scoring = Vec::new();
        for stored in some {
            scoring.push(of_scenario(shared, request.run, &spec, &rules, stored).boxed());
        }
        let scores = try_join_all(scoring).await?.concat();
        shared.store.keep_scores(&scores, shared.clock.now()).await?;
    }
    Ok(())
}

/// Scores one scenario by all rules.
async fn of_scenario(
    shared: &Shared,
    run: RunId,
    spec: &Spec,
    rules: &[(String, Rule)],
    stored: &StoredScenario,
) -> Result<Vec<NewScore>, StoreError> {
    let evidence = match stored.source {
        Some((job, attempt)) => shared.store.evidence(job, attempt).await?,
        None => None,
    };
    let mut scores = Vec::new();
    for (id, rule) in rules {
        let Judged { score, passed, message } = match &evidence {
            Some(evidence) => rule.judge(&shared.config.machine, spec, stored, evidence).await,
            None => Judged::not_possible("there is no evidence of this scenario"),
        };
        let (rule, scenario) = (id.clone(), stored.scenario.id.to_string());
        scores.push(NewScore { rule, run, scenario, trace: None, score, passed, message });
    }
    Ok(scores)
}

/// Returns the agent's standard output, which is the text that rules judge.
fn output(evidence: &Evidence) -> String {
    evidence.agent.stdout.text()
}
