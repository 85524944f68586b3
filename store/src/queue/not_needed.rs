//! Replicas that are not needed any more, because the bar of their cell is decided.
//!
//! Their jobs are dropped in the transaction that ends the job which decided it, so a decision cannot be lost. Jobs that are being
//! done go on. One of them that is put back afterwards is dropped by [`Store::drop_not_needed`].

use std::collections::HashMap;

use jiff::Timestamp;
use scenario::plan::{Scenario, ScenarioId};
use scenario::result::RowStatus;
use sea_query::{Expr, ExprTrait as _, Query};

use super::finish::{count_ended, lock_run};
use super::{Kept, Summarise};
use crate::Store;
use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::ids::RunId;
use crate::number;
use crate::results::unword;
use crate::tables::{Jobs, Scenarios};

row! {
    /// How a scenario ended.
    StatusRow { id: String, status: String }
}

row! {
    /// A scenario.
    ScenarioRow { scenario: String }
}

impl Store {
    /// Drops jobs that wait, of the cell of a scenario, when its bar is decided without them.
    pub async fn drop_not_needed(
        &self,
        run: RunId,
        scenario: &Scenario,
        now: Timestamp,
        summarise: Summarise<'_>,
    ) -> Result<Kept, StoreError> {
        if summarise.stopping_replicas(scenario).is_empty() {
            return Ok(Kept::Kept);
        }
        let mut tx = self.db.begin().await?;
        lock_run(&mut tx, run).await?;
        let dropped = drop_jobs(&mut tx, run, scenario, summarise).await?;
        if dropped == 0 {
            return Ok(Kept::Kept);
        }
        let kept = count_ended(&mut tx, run, dropped, now, summarise).await?;
        tx.commit().await?;
        Ok(kept)
    }

    /// The scenarios of a run that were not needed.
    pub async fn not_needed(&self, run: RunId) -> Result<Vec<String>, StoreError> {
        let select = Query::select()
            .column(Jobs::Scenario)
            .from(Jobs::Table)
            .and_where(Expr::col(Jobs::Experiment).eq(run.experiment.to_string()))
            .and_where(Expr::col(Jobs::Run).eq(number::kept(run.number)))
            .and_where(Expr::col(Jobs::State).eq(NOT_NEEDED))
            .to_owned();
        let rows: Vec<ScenarioRow> = self.db.fetch_all(&select).await?;
        Ok(rows.into_iter().map(|row| row.scenario).collect())
    }
}

/// The state of a job that was dropped.
const NOT_NEEDED: &str = "not_needed";

/// Drops jobs that wait and are not needed; how many those were. The row of the run is locked, so of two replicas that end at the same
/// time the second one sees the first.
pub(super) async fn drop_jobs(
    tx: &mut Tx,
    run: RunId,
    scenario: &Scenario,
    summarise: Summarise<'_>,
) -> Result<u64, StoreError> {
    let replicas = summarise.stopping_replicas(scenario);
    if replicas.is_empty() {
        return Ok(0);
    }
    let statuses = statuses(tx, run, &replicas).await?;
    let not_needed = summarise.not_needed(scenario, &statuses);
    if not_needed.is_empty() {
        return Ok(0);
    }
    let update = Query::update()
        .table(Jobs::Table)
        .value(Jobs::State, NOT_NEEDED)
        .and_where(Expr::col(Jobs::Experiment).eq(run.experiment.to_string()))
        .and_where(Expr::col(Jobs::Run).eq(number::kept(run.number)))
        .and_where(Expr::col(Jobs::Scenario).is_in(not_needed.into_iter().map(ScenarioId::as_str)))
        .and_where(Expr::col(Jobs::State).eq("queued"))
        .to_owned();
    tx.execute(&update).await
}

/// How these scenarios ended, those that have.
async fn statuses(
    tx: &mut Tx,
    run: RunId,
    scenarios: &[&ScenarioId],
) -> Result<HashMap<ScenarioId, RowStatus>, StoreError> {
    let select = Query::select()
        .columns([Scenarios::Id, Scenarios::Status])
        .from(Scenarios::Table)
        .and_where(Expr::col(Scenarios::Experiment).eq(run.experiment.to_string()))
        .and_where(Expr::col(Scenarios::Run).eq(number::kept(run.number)))
        .and_where(Expr::col(Scenarios::Id).is_in(scenarios.iter().map(|id| id.as_str())))
        .and_where(Expr::col(Scenarios::Status).is_not_null())
        .to_owned();
    let rows: Vec<StatusRow> = tx.fetch_all(&select).await?;
    let ended: HashMap<String, String> = rows.into_iter().map(|row| (row.id, row.status)).collect();
    let status = |id: &&ScenarioId| Some(((**id).clone(), ended.get(id.as_str())?));
    scenarios.iter().filter_map(status).map(|(id, status)| Ok((id, unword(status)?))).collect()
}
