//! Writing down what is to be run.

use jiff::Timestamp;
use scenario::plan::Scenario;
use sea_query::{Expr, ExprTrait as _, Order, Query};

use super::{NewRun, RunKind, RunState};
use crate::Store;
use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::experiments::lock_experiment;
use crate::ids::{ExperimentId, Lane, RunId};
use crate::specs::require_spec;
use crate::tables::{Jobs, Runs, Scenarios};
use crate::time::millis;
use crate::wakeups::Wakeup;
use crate::{json, number};

/// The number of rows written with one statement.
const AT_ONCE: usize = 500;

row! {
    /// The number of a run.
    NumberRow { number: i64 }
}

impl Store {
    /// Keeps another run of an experiment, with a job for each of its scenarios; its number is the next one.
    pub async fn submit_again(
        &self,
        experiment: ExperimentId,
        digest: &str,
        run: &NewRun,
        now: Timestamp,
    ) -> Result<RunId, StoreError> {
        let mut tx = self.db.begin().await?;
        let id = next_run(&mut tx, experiment).await?;
        insert_run(&mut tx, id, RunKind::Acted, digest, run, now).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// Begins a run of an experiment, by the spec that it was submitted with. Refused while another run of it is open.
    pub async fn begin_run(&self, experiment: ExperimentId, run: &NewRun, now: Timestamp) -> Result<RunId, StoreError> {
        let mut tx = self.db.begin().await?;
        let digest = lock_experiment(&mut tx, experiment).await?;
        require_ended(&mut tx, experiment).await?;
        let id = next_run(&mut tx, experiment).await?;
        insert_run(&mut tx, id, RunKind::Acted, &digest, run, now).await?;
        tx.commit().await?;
        Ok(id)
    }
}

/// The name of an experiment's next run, which nobody else gets before the end of the transaction.
pub(crate) async fn next_run(tx: &mut Tx, experiment: ExperimentId) -> Result<RunId, StoreError> {
    lock_experiment(tx, experiment).await?;
    let last = Query::select()
        .column(Runs::Number)
        .from(Runs::Table)
        .and_where(Expr::col(Runs::Experiment).eq(experiment.to_string()))
        .order_by(Runs::Number, Order::Desc)
        .limit(1)
        .to_owned();
    let last: i64 = tx.fetch_optional::<NumberRow>(&last).await?.map_or(0, |row| row.number);
    Ok(RunId { experiment, number: number::read(last + 1)? })
}

/// Refuses an experiment of which a run has not ended.
async fn require_ended(tx: &mut Tx, experiment: ExperimentId) -> Result<(), StoreError> {
    let open = Query::select()
        .column(Runs::Number)
        .from(Runs::Table)
        .and_where(Expr::col(Runs::Experiment).eq(experiment.to_string()))
        .and_where(Expr::col(Runs::State).eq(RunState::Open.word()))
        .limit(1)
        .to_owned();
    match tx.fetch_optional::<NumberRow>(&open).await? {
        Some(row) => Err(StoreError::Conflict(format!("run {} of `{experiment}` has not ended", row.number))),
        None => Ok(()),
    }
}

/// Writes a run, its scenarios and its jobs.
pub(crate) async fn insert_run(
    tx: &mut Tx,
    id: RunId,
    kind: RunKind,
    digest: &str,
    run: &NewRun,
    now: Timestamp,
) -> Result<(), StoreError> {
    if run.jobs.is_empty() {
        return Err(StoreError::Conflict(format!("the run {id} has no scenario, so it would never end")));
    }
    insert_run_row(tx, id, kind, digest, run.lane, run.jobs.len(), now).await?;
    let scenarios: Vec<_> = run.jobs.iter().map(|job| &job.scenario).collect();
    insert_scenarios(tx, id, &scenarios).await?;
    for jobs in run.jobs.chunks(AT_ONCE) {
        let mut insert = Query::insert()
            .into_table(Jobs::Table)
            .columns([
                Jobs::Id,
                Jobs::Experiment,
                Jobs::Run,
                Jobs::Scenario,
                Jobs::State,
                Jobs::Lane,
                Jobs::Priority,
                Jobs::ReadyAt,
                Jobs::CpuMilli,
                Jobs::Memory,
                Jobs::AtOnce,
                Jobs::Epoch,
                Jobs::Failures,
                Jobs::Cancelled,
            ])
            .to_owned();
        for job in jobs {
            insert.values_panic([
                job.id.to_string().into(),
                id.experiment.to_string().into(),
                number::kept(id.number).into(),
                job.scenario.id.as_str().into(),
                "queued".into(),
                run.lane.to_string().into(),
                run.priority.into(),
                millis(now).into(),
                number::kept(job.demand.cpu_milli).into(),
                number::kept(job.demand.memory).into(),
                job.at_once.map(number::kept).into(),
                0_i64.into(),
                0_i64.into(),
                false.into(),
            ]);
        }
        tx.execute(&insert).await?;
    }
    tx.tell(Wakeup::Jobs(run.lane)).await
}

/// Writes the row of a run.
pub(crate) async fn insert_run_row(
    tx: &mut Tx,
    id: RunId,
    kind: RunKind,
    digest: &str,
    lane: Lane,
    total: usize,
    now: Timestamp,
) -> Result<(), StoreError> {
    require_spec(tx, digest).await?;
    let insert = Query::insert()
        .into_table(Runs::Table)
        .columns([
            Runs::Experiment,
            Runs::Number,
            Runs::Kind,
            Runs::Digest,
            Runs::State,
            Runs::Lane,
            Runs::Total,
            Runs::Ended,
            Runs::CreatedAt,
        ])
        .values_panic([
            id.experiment.to_string().into(),
            number::kept(id.number).into(),
            kind.to_string().into(),
            digest.into(),
            RunState::Open.word().into(),
            lane.to_string().into(),
            number::kept(total).into(),
            0_i64.into(),
            millis(now).into(),
        ])
        .to_owned();
    tx.execute(&insert).await?;
    Ok(())
}

/// Writes what is planned.
pub(crate) async fn insert_scenarios(tx: &mut Tx, id: RunId, scenarios: &[&Scenario]) -> Result<(), StoreError> {
    for (first, chunk) in scenarios.chunks(AT_ONCE).enumerate() {
        let mut insert = Query::insert()
            .into_table(Scenarios::Table)
            .columns([Scenarios::Experiment, Scenarios::Run, Scenarios::Id, Scenarios::Position, Scenarios::Plan])
            .to_owned();
        for (index, scenario) in chunk.iter().enumerate() {
            insert.values_panic([
                id.experiment.to_string().into(),
                number::kept(id.number).into(),
                scenario.id.as_str().into(),
                number::kept(first * AT_ONCE + index).into(),
                json::text(scenario)?.into(),
            ]);
        }
        tx.execute(&insert).await?;
    }
    Ok(())
}
