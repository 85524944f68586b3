//! The end of a job, and of its run: evidence, verdicts and score become visible together, or not at all.

use jiff::Timestamp;
use scenario::score::{ContractScore, Outcome};
use sea_query::{Expr, ExprTrait as _, LockType, Query};

use super::lease::end_attempt;
use super::{Completion, Kept, Lease, Summarise};
use crate::Store;
use crate::approvals::withdraw_approvals;
use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::evidence::{Body, Place};
use crate::experiments::owner_of;
use crate::ids::RunId;
use crate::run_ends::note_run_end;
use crate::runs::RunState;
use crate::tables::{Jobs, Runs};
use crate::time::millis;
use crate::traces::{NewTrace, insert_traces};
use crate::wakeups::Wakeup;
use crate::{json, number, results};

row! {
    /// The progress of a run.
    CountRow { total: i64, ended: i64 }
}

row! {
    /// Whose job has ended.
    EndedRow { experiment: String, run: i64, scenario: String }
}

impl EndedRow {
    /// Refuses what belongs to another run or scenario than the job does.
    fn require(&self, lease: &Lease, run: RunId, scenario: Option<&str>) -> Result<(), StoreError> {
        let same_run = self.experiment == run.experiment.to_string() && self.run == number::kept(run.number);
        if same_run && scenario.is_none_or(|scenario| scenario == self.scenario) {
            return Ok(());
        }
        let Self { experiment, run: number, scenario: own } = self;
        Err(StoreError::Conflict(format!(
            "the job `{}` is for `{own}` in run {number} of `{experiment}`, not for `{}` in {run}",
            lease.job,
            scenario.unwrap_or(own)
        )))
    }
}

row! {
    /// A count of jobs.
    JobsRow { jobs: i64 }
}

impl Store {
    /// Keeps what came of a job. When the lease does not hold any more, nothing is changed.
    pub async fn complete(
        &self,
        lease: &Lease,
        run: RunId,
        completion: Completion<'_>,
        summarise: Summarise<'_>,
    ) -> Result<Kept, StoreError> {
        let place = (run, completion.result.scenario.id.as_str(), lease.epoch);
        let body = match completion.evidence {
            Some(evidence) => Some(Body::prepare(self, lease, place, json::text(evidence)?).await?),
            None => None,
        };
        let kept = self.complete_with(lease, place, &completion, body.as_ref(), summarise).await;
        if let (Ok(Kept::Stale) | Err(_), Some(body)) = (&kept, body) {
            body.discard(&self.artifacts).await;
        }
        kept
    }

    async fn complete_with(
        &self,
        lease: &Lease,
        place: Place<'_>,
        completion: &Completion<'_>,
        body: Option<&Body>,
        summarise: Summarise<'_>,
    ) -> Result<Kept, StoreError> {
        let (run, scenario, _) = place;
        let mut tx = self.db.begin().await?;
        lock_run(&mut tx, run).await?;
        let Some(ended) = end_job(&mut tx, lease, "done").await? else { return Ok(Kept::Stale) };
        ended.require(lease, run, Some(scenario))?;
        let outcome = if body.is_some() { "judged" } else { "infrastructure" };
        let message = completion.result.error.as_ref().map(ToString::to_string);
        end_attempt(&mut tx, lease, outcome, message.as_deref(), completion.at).await?;
        if let Some(body) = body {
            body.keep(&self.artifacts, &mut tx, lease, place).await?;
        }
        let source = body.map(|_| (lease.job, lease.epoch));
        results::write(&mut tx, run, completion.result, source, completion.at).await?;
        write_traces(&mut tx, run, scenario, completion.traces).await?;
        let kept = count_ended(&mut tx, run, 1, completion.at, summarise).await?;
        tx.commit().await?;
        Ok(kept)
    }

    /// Ends a job that is not wanted any more; its scenario has no result.
    pub async fn give_up(
        &self,
        lease: &Lease,
        run: RunId,
        message: &str,
        now: Timestamp,
        summarise: Summarise<'_>,
    ) -> Result<Kept, StoreError> {
        let mut tx = self.db.begin().await?;
        lock_run(&mut tx, run).await?;
        let Some(ended) = end_job(&mut tx, lease, "cancelled").await? else { return Ok(Kept::Stale) };
        ended.require(lease, run, None)?;
        end_attempt(&mut tx, lease, "cancelled", Some(message), now).await?;
        let kept = count_ended(&mut tx, run, 1, now, summarise).await?;
        tx.commit().await?;
        Ok(kept)
    }
}

/// Locks the row of a run. Who changes a run and its jobs begins with this, so that no two wait for each other: cancelling
/// a run goes from the run to its jobs, and the end of a job from the job to its run.
async fn lock_run(tx: &mut Tx, run: RunId) -> Result<(), StoreError> {
    let select = Query::select()
        .column(Runs::Number)
        .from(Runs::Table)
        .and_where(Expr::col(Runs::Experiment).eq(run.experiment.to_string()))
        .and_where(Expr::col(Runs::Number).eq(number::kept(run.number)))
        .lock(LockType::NoKeyUpdate)
        .to_owned();
    tx.execute(&select).await?;
    Ok(())
}

/// Writes down what the agent did in a scenario, as the experiment's owner's.
async fn write_traces(tx: &mut Tx, run: RunId, scenario: &str, traces: &[NewTrace]) -> Result<(), StoreError> {
    if traces.is_empty() {
        return Ok(());
    }
    let owner = owner_of(tx, run.experiment).await?;
    let own = |trace: &NewTrace| NewTrace {
        owner: owner.clone(),
        run: Some(run),
        scenario: Some(scenario.to_owned()),
        ..trace.clone()
    };
    insert_traces(tx, &traces.iter().map(own).collect::<Vec<_>>()).await
}

/// Ends a job, if the lease still holds.
async fn end_job(tx: &mut Tx, lease: &Lease, state: &str) -> Result<Option<EndedRow>, StoreError> {
    let update = Query::update()
        .table(Jobs::Table)
        .value(Jobs::State, state)
        .value(Jobs::Token, Option::<String>::None)
        .value(Jobs::LeaseUntil, Option::<i64>::None)
        .cond_where(lease.holds())
        .returning(Query::returning().columns([Jobs::Experiment, Jobs::Run, Jobs::Scenario]))
        .to_owned();
    tx.fetch_optional(&update).await
}

/// Counts jobs that ended; the last one ends the run. The row of the run is locked, so there is one last one.
pub(super) async fn count_ended(
    tx: &mut Tx,
    run: RunId,
    jobs: u64,
    now: Timestamp,
    summarise: Summarise<'_>,
) -> Result<Kept, StoreError> {
    let update = Query::update()
        .table(Runs::Table)
        .value(Runs::Ended, Expr::col(Runs::Ended).add(number::kept(jobs)))
        .and_where(Expr::col(Runs::Experiment).eq(run.experiment.to_string()))
        .and_where(Expr::col(Runs::Number).eq(number::kept(run.number)))
        .returning(Query::returning().columns([Runs::Total, Runs::Ended]))
        .to_owned();
    let missing = || StoreError::Damaged(format!("there is no run {run}"));
    let count: CountRow = tx.fetch_optional(&update).await?.ok_or_else(missing)?;
    tx.tell(Wakeup::Experiment(run.experiment)).await?;
    if count.ended < count.total {
        return Ok(Kept::Kept);
    }
    close(tx, run, now, summarise).await?;
    Ok(Kept::RunEnded)
}

async fn close(tx: &mut Tx, run: RunId, now: Timestamp, summarise: Summarise<'_>) -> Result<(), StoreError> {
    let cancelled = Query::select()
        .expr_as(Expr::col(Jobs::Id).count(), "jobs")
        .from(Jobs::Table)
        .and_where(Expr::col(Jobs::Experiment).eq(run.experiment.to_string()))
        .and_where(Expr::col(Jobs::Run).eq(number::kept(run.number)))
        .and_where(Expr::col(Jobs::State).eq("cancelled"))
        .to_owned();
    let cancelled = tx.fetch_optional::<JobsRow>(&cancelled).await?.is_some_and(|row| row.jobs > 0);
    let state = if cancelled { RunState::Cancelled } else { RunState::Finished };
    let results = results::read_in(tx, run).await?;
    write_score(tx, run, state, &summarise(&results), now).await
}

/// Writes the numbers of a run that ended, and that it did.
pub(crate) async fn write_score(
    tx: &mut Tx,
    run: RunId,
    state: RunState,
    score: &scenario::score::ExperimentScore,
    now: Timestamp,
) -> Result<(), StoreError> {
    let resilience = score.contract.as_ref().and_then(|contract| contract.resilience_score);
    let outcomes = score.contract.as_ref().map(ContractScore::outcome_counts);
    let worlds = |outcome: Outcome| outcomes.map(|counts| number::kept(counts.of(outcome)));
    let update = Query::update()
        .table(Runs::Table)
        .value(Runs::State, state.word())
        .value(Runs::Ended, Expr::col(Runs::Total))
        .value(Runs::Verdict, json::text(&score.verdict)?)
        .value(Runs::Score, json::text(score)?)
        .value(Runs::Passed, number::kept(score.passed))
        .value(Runs::Failed, number::kept(score.failed))
        .value(Runs::Flaky, number::kept(score.flaky))
        .value(Runs::Errors, number::kept(score.errors))
        .value(Runs::Composite, number::fraction(score.metrics.mean_composite))
        .value(Runs::CostUsd, number::fraction(score.metrics.total_cost_usd))
        .value(Runs::WallMs, number::kept(score.metrics.mean_wall_ms))
        .value(Runs::Resilience, resilience.map(number::fraction))
        .value(Runs::Recovered, worlds(Outcome::Recovered))
        .value(Runs::Degraded, worlds(Outcome::Degraded))
        .value(Runs::Fabricated, worlds(Outcome::Fabricated))
        .value(Runs::Corrupted, worlds(Outcome::Corrupted))
        .value(Runs::EndedAt, millis(now))
        .and_where(Expr::col(Runs::Experiment).eq(run.experiment.to_string()))
        .and_where(Expr::col(Runs::Number).eq(number::kept(run.number)))
        .to_owned();
    tx.execute(&update).await?;
    withdraw_approvals(tx, run, now).await?;
    note_run_end(tx, run, now).await
}
