//! Holding a job: renewing the lease, giving it back, and finding those whose holders are gone.

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, Order, Query, SelectStatement, UpdateStatement};

use super::{Beat, Failure, Held, Kept, Lease};
use crate::Store;
use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::ids::RunId;
use crate::tables::{Attempts, Jobs, Scenarios};
use crate::time::millis;
use crate::wakeups::Wakeup;
use crate::{json, number};
use scenario::Demand;

row! {
    /// The cancellation of a job.
    BeatRow { cancelled: bool }
}

row! {
    /// The lane of a job that was returned to the queue.
    BackRow { lane: String }
}

row! {
    /// A job that is being done.
    HeldRow {
        id: String,
        experiment: String,
        run: i64,
        lane: String,
        plan: String,
        worker: String,
        token: String,
        epoch: i64,
        failures: i64,
        cpu_milli: i64,
        memory: i64,
    }
}

impl HeldRow {
    fn read(self) -> Result<Held, StoreError> {
        Ok(Held {
            lease: Lease {
                job: self.id.parse().map_err(StoreError::damaged)?,
                epoch: number::read(self.epoch)?,
                token: self.token,
            },
            run: RunId {
                experiment: self.experiment.parse().map_err(StoreError::damaged)?,
                number: number::read(self.run)?,
            },
            lane: self.lane.parse().map_err(StoreError::damaged)?,
            scenario: json::read(&self.plan)?,
            worker: self.worker.parse()?,
            failures: number::read(self.failures)?,
            demand: Demand { cpu_milli: number::read(self.cpu_milli)?, memory: number::read(self.memory)? },
        })
    }
}

impl Store {
    /// Renews a lease.
    pub async fn heartbeat(&self, lease: &Lease, until: Timestamp) -> Result<Beat, StoreError> {
        let update = Query::update()
            .table(Jobs::Table)
            .value(Jobs::LeaseUntil, millis(until))
            .cond_where(lease.holds())
            .returning(Query::returning().columns([Jobs::Cancelled]))
            .to_owned();
        let mut tx = self.db.begin().await?;
        let row: Option<BeatRow> = tx.fetch_optional(&update).await?;
        tx.commit().await?;
        Ok(match row {
            Some(BeatRow { cancelled: false }) => Beat::Held,
            Some(BeatRow { cancelled: true }) => Beat::Cancelled,
            None => Beat::Lost,
        })
    }

    /// Every job that is being done, by whomever.
    pub async fn held(&self) -> Result<Vec<Held>, StoreError> {
        self.read_held(&running()).await
    }

    /// Jobs whose leases were not renewed in time.
    pub async fn expired(&self, now: Timestamp) -> Result<Vec<Held>, StoreError> {
        let select = running().and_where(Expr::col((Jobs::Table, Jobs::LeaseUntil)).lt(millis(now))).to_owned();
        self.read_held(&select).await
    }

    async fn read_held(&self, select: &SelectStatement) -> Result<Vec<Held>, StoreError> {
        let rows: Vec<HeldRow> = self.db.fetch_all(select).await?;
        rows.into_iter().map(HeldRow::read).collect()
    }

    /// Ends an attempt that we failed, and puts its job back into the queue for another one.
    pub async fn retry(
        &self,
        lease: &Lease,
        failure: Failure,
        message: &str,
        ready_at: Timestamp,
        now: Timestamp,
    ) -> Result<Kept, StoreError> {
        let again = back()
            .value(Jobs::Failures, Expr::col(Jobs::Failures).add(1))
            .value(Jobs::ReadyAt, millis(ready_at))
            .to_owned();
        let outcome = match failure {
            Failure::Infrastructure => "infrastructure",
            Failure::Provider => "provider",
            Failure::Lost => "lost",
        };
        self.put_back(lease, again, outcome, message, now).await
    }

    /// Ends an attempt that was given up for no fault of its own, and puts its job back into the queue.
    pub async fn release(&self, lease: &Lease, message: &str, now: Timestamp) -> Result<Kept, StoreError> {
        self.put_back(lease, back(), "released", message, now).await
    }

    async fn put_back(
        &self,
        lease: &Lease,
        mut update: UpdateStatement,
        outcome: &str,
        message: &str,
        now: Timestamp,
    ) -> Result<Kept, StoreError> {
        update
            .cond_where(lease.holds())
            .and_where(Expr::col(Jobs::Cancelled).eq(false))
            .returning(Query::returning().columns([Jobs::Lane]));
        let mut tx = self.db.begin().await?;
        let Some(BackRow { lane }) = tx.fetch_optional(&update).await? else { return Ok(Kept::Stale) };
        end_attempt(&mut tx, lease, outcome, Some(message), now).await?;
        tx.tell(Wakeup::Jobs(lane.parse().map_err(StoreError::damaged)?)).await?;
        tx.commit().await?;
        Ok(Kept::Kept)
    }
}

/// Puts a job back into the queue.
fn back() -> UpdateStatement {
    Query::update()
        .table(Jobs::Table)
        .value(Jobs::State, "queued")
        .value(Jobs::Worker, Option::<String>::None)
        .value(Jobs::Token, Option::<String>::None)
        .value(Jobs::LeaseUntil, Option::<i64>::None)
        .to_owned()
}

/// Writes down how an attempt ended.
pub(super) async fn end_attempt(
    tx: &mut Tx,
    lease: &Lease,
    outcome: &str,
    message: Option<&str>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let update = Query::update()
        .table(Attempts::Table)
        .value(Attempts::Outcome, outcome)
        .value(Attempts::Message, message.map(ToOwned::to_owned))
        .value(Attempts::EndedAt, millis(now))
        .and_where(Expr::col(Attempts::Job).eq(lease.job.to_string()))
        .and_where(Expr::col(Attempts::Number).eq(i64::from(lease.epoch)))
        .to_owned();
    tx.execute(&update).await?;
    Ok(())
}

fn running() -> SelectStatement {
    let same = |job: Jobs, scenario: Scenarios| Expr::col((Jobs::Table, job)).equals((Scenarios::Table, scenario));
    Query::select()
        .columns([
            (Jobs::Table, Jobs::Id),
            (Jobs::Table, Jobs::Experiment),
            (Jobs::Table, Jobs::Run),
            (Jobs::Table, Jobs::Lane),
            (Jobs::Table, Jobs::Worker),
            (Jobs::Table, Jobs::Token),
            (Jobs::Table, Jobs::Epoch),
            (Jobs::Table, Jobs::Failures),
            (Jobs::Table, Jobs::CpuMilli),
            (Jobs::Table, Jobs::Memory),
        ])
        .column((Scenarios::Table, Scenarios::Plan))
        .from(Jobs::Table)
        .inner_join(
            Scenarios::Table,
            same(Jobs::Experiment, Scenarios::Experiment)
                .and(same(Jobs::Run, Scenarios::Run))
                .and(same(Jobs::Scenario, Scenarios::Id)),
        )
        .and_where(Expr::col((Jobs::Table, Jobs::State)).eq("running"))
        .order_by((Jobs::Table, Jobs::Id), Order::Asc)
        .to_owned()
}
