//! Ending a run early, and taking over one that was left.

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, Query};

use super::finish::count_ended;
use super::{Kept, Summarise};
use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::ids::{Lane, RunId};
use crate::number;
use crate::runs::RunState;
use crate::tables::{Jobs, Runs};
use crate::wakeups::Wakeup;

row! {
    /// The state of a job.
    StateRow { state: String }
}

impl Store {
    /// Asks for a run to be ended: jobs that wait are not done any more, and holders of the others are told at their next
    /// heartbeat. Whether the run has ended by this.
    pub async fn cancel(
        &self,
        run: RunId,
        reason: &str,
        now: Timestamp,
        summarise: Summarise<'_>,
    ) -> Result<Kept, StoreError> {
        let mut tx = self.db.begin().await?;
        let note = Query::update()
            .table(Runs::Table)
            .value(Runs::Reason, reason)
            .and_where(Expr::col(Runs::Experiment).eq(run.experiment.to_string()))
            .and_where(Expr::col(Runs::Number).eq(number::kept(run.number)))
            .and_where(Expr::col(Runs::State).eq(RunState::Open.word()))
            .to_owned();
        if tx.execute(&note).await? == 0 {
            return Ok(Kept::Stale);
        }
        // One statement for both kinds of jobs: with two, one that is claimed or put back meanwhile would slip through.
        let ended = Expr::case(Expr::col(Jobs::State).eq("queued"), "cancelled").finally(Expr::col(Jobs::State));
        let jobs = Query::update()
            .table(Jobs::Table)
            .value(Jobs::Cancelled, true)
            .value(Jobs::State, ended)
            .and_where(Expr::col(Jobs::Experiment).eq(run.experiment.to_string()))
            .and_where(Expr::col(Jobs::Run).eq(number::kept(run.number)))
            .and_where(Expr::col(Jobs::State).is_in(["queued", "running"]))
            .returning(Query::returning().columns([Jobs::State]))
            .to_owned();
        let jobs: Vec<StateRow> = tx.fetch_all(&jobs).await?;
        let waiting = jobs.iter().filter(|job| job.state == "cancelled").count() as u64;
        let kept = count_ended(&mut tx, run, waiting, now, summarise).await?;
        tx.tell(Wakeup::Cancelled(run.experiment)).await?;
        tx.commit().await?;
        Ok(kept)
    }

    /// Moves a run that has not ended, and its jobs, to another lane; whether it was still in the lane that it is thought
    /// to be in.
    pub async fn adopt(&self, run: RunId, from: Lane, to: Lane) -> Result<bool, StoreError> {
        let mut tx = self.db.begin().await?;
        let update = Query::update()
            .table(Runs::Table)
            .value(Runs::Lane, to.to_string())
            .and_where(Expr::col(Runs::Experiment).eq(run.experiment.to_string()))
            .and_where(Expr::col(Runs::Number).eq(number::kept(run.number)))
            .and_where(Expr::col(Runs::State).eq(RunState::Open.word()))
            .and_where(Expr::col(Runs::Lane).eq(from.to_string()))
            .to_owned();
        if tx.execute(&update).await? == 0 {
            return Ok(false);
        }
        let jobs = Query::update()
            .table(Jobs::Table)
            .value(Jobs::Lane, to.to_string())
            .and_where(Expr::col(Jobs::Experiment).eq(run.experiment.to_string()))
            .and_where(Expr::col(Jobs::Run).eq(number::kept(run.number)))
            .to_owned();
        tx.execute(&jobs).await?;
        tx.tell(Wakeup::Jobs(to)).await?;
        tx.commit().await?;
        Ok(true)
    }
}
