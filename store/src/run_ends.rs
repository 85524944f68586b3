//! Runs that ended, until somebody has looked at them. A row is written with the end of the run, so none is missed.

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, LockBehavior, LockType, OnConflict, Order, Query};

use crate::Store;
use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::ids::RunId;
use crate::number;
use crate::tables::RunEnds;
use crate::time::{millis, timestamp};

/// A run that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunEnd {
    /// The run.
    pub run: RunId,
    /// When it ended.
    pub ended_at: Timestamp,
}

row! {
    /// A run that ended.
    EndRow { experiment: String, run: i64, ended_at: i64 }
}

impl Store {
    /// The first run that ended and was not looked at. Nobody else gets it before `until`; whoever gets it after that may
    /// look at it a second time.
    pub async fn claim_run_end(&self, now: Timestamp, until: Timestamp) -> Result<Option<RunEnd>, StoreError> {
        let first = Query::select()
            .column(RunEnds::Number)
            .from(RunEnds::Table)
            .and_where(Expr::col(RunEnds::DueAt).lte(millis(now)))
            .order_by(RunEnds::DueAt, Order::Asc)
            .order_by(RunEnds::Number, Order::Asc)
            .limit(1)
            .lock_with_behavior(LockType::Update, LockBehavior::SkipLocked)
            .to_owned();
        let update = Query::update()
            .table(RunEnds::Table)
            .value(RunEnds::DueAt, millis(until))
            .and_where(Expr::col(RunEnds::Number).eq(Expr::SubQuery(None, Box::new(first.into()))))
            .returning(Query::returning().columns([RunEnds::Experiment, RunEnds::Run, RunEnds::EndedAt]))
            .to_owned();
        let mut tx = self.db.begin().await?;
        let row: Option<EndRow> = tx.fetch_optional(&update).await?;
        tx.commit().await?;
        let Some(row) = row else { return Ok(None) };
        let experiment = row.experiment.parse().map_err(StoreError::damaged)?;
        let run = RunId { experiment, number: number::read(row.run)? };
        Ok(Some(RunEnd { run, ended_at: timestamp(row.ended_at)? }))
    }

    /// Forgets the end of a run, which was looked at.
    pub async fn run_end_handled(&self, run: RunId) -> Result<(), StoreError> {
        let delete = Query::delete()
            .from_table(RunEnds::Table)
            .and_where(Expr::col(RunEnds::Experiment).eq(run.experiment.to_string()))
            .and_where(Expr::col(RunEnds::Run).eq(number::kept(run.number)))
            .to_owned();
        self.db.execute(&delete).await?;
        Ok(())
    }
}

/// Writes down that a run ended.
pub(crate) async fn note_run_end(tx: &mut Tx, run: RunId, now: Timestamp) -> Result<(), StoreError> {
    let insert = Query::insert()
        .into_table(RunEnds::Table)
        .columns([RunEnds::Experiment, RunEnds::Run, RunEnds::EndedAt, RunEnds::DueAt])
        .values_panic([
            run.experiment.to_string().into(),
            number::kept(run.number).into(),
            millis(now).into(),
            millis(now).into(),
        ])
        .on_conflict(OnConflict::columns([RunEnds::Experiment, RunEnds::Run]).do_nothing().to_owned())
        .to_owned();
    tx.execute(&insert).await?;
    Ok(())
}
