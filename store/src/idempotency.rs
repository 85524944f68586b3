//! Requests that are answered once, however often they are sent.

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, LockType, OnConflict, Query, SelectStatement, UpdateStatement};

use crate::Store;
use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::experiments::{NewExperiment, submit_in};
use crate::ids::RunId;
use crate::number;
use crate::runs::NewRun;
use crate::tables::Idempotency;
use crate::time::millis;

/// The identity of a request, by which a repeated one is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Once<'a> {
    /// The sender.
    pub owner: &'a str,
    /// The key that the sender gives it.
    pub key: &'a str,
    /// A digest of the request: another digest is another request.
    pub fingerprint: &'a str,
}

/// The result of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submitted {
    /// It is kept now.
    Now(RunId),
    /// It was kept before; nothing was changed.
    Before(RunId),
    /// Another request has the same key; nothing was changed.
    Mismatch,
}

row! {
    /// A request.
    RequestRow {
        fingerprint: String,
        experiment: Option<String>,
        run: Option<i64>,
    }
}

impl RequestRow {
    /// Returns the result of the submission that this request made.
    fn submitted(&self, once: Once<'_>) -> Result<Submitted, StoreError> {
        Ok(match self.run()? {
            Some(run) if self.fingerprint == once.fingerprint => Submitted::Before(run),
            _ => Submitted::Mismatch,
        })
    }

    fn run(&self) -> Result<Option<RunId>, StoreError> {
        let (Some(experiment), Some(run)) = (&self.experiment, self.run) else { return Ok(None) };
        let experiment = experiment.parse().map_err(StoreError::damaged)?;
        Ok(Some(RunId { experiment, number: number::read(run)? }))
    }
}

impl Store {
    /// Returns the result of an earlier submission with this key; `None` when there was none.
    pub async fn submitted(&self, once: Once<'_>) -> Result<Option<Submitted>, StoreError> {
        let row: Option<RequestRow> = self.db.fetch_optional(&select(once)).await?;
        row.map(|row| row.submitted(once)).transpose()
    }

    /// Does the same as [`Store::submit`], once for each key: the request and what it makes are kept together or not at all.
    pub async fn submit_once(
        &self,
        once: Once<'_>,
        experiment: &NewExperiment,
        run: &NewRun,
        now: Timestamp,
    ) -> Result<Submitted, StoreError> {
        let mut tx = self.db.begin().await?;
        if !insert(&mut tx, once, now).await? {
            let row: Option<RequestRow> = tx.fetch_optional(&select(once)).await?;
            let row = row.ok_or_else(|| StoreError::Conflict(format!("`{}` is being removed", once.key)))?;
            return row.submitted(once);
        }
        let id = submit_in(&mut tx, experiment, run, now).await?;
        let note = update(once)
            .value(Idempotency::Experiment, id.experiment.to_string())
            .value(Idempotency::Run, number::kept(id.number))
            .to_owned();
        tx.execute(&note).await?;
        tx.commit().await?;
        Ok(Submitted::Now(id))
    }
}

/// Writes a request down, unless one with its key is; whether it was written. Of two at once, the second waits for the first.
async fn insert(tx: &mut Tx, once: Once<'_>, now: Timestamp) -> Result<bool, StoreError> {
    let insert = Query::insert()
        .into_table(Idempotency::Table)
        .columns([
            Idempotency::Owner,
            Idempotency::Key,
            Idempotency::Fingerprint,
            Idempotency::BusyUntil,
            Idempotency::CreatedAt,
        ])
        .values_panic([
            once.owner.into(),
            once.key.into(),
            once.fingerprint.into(),
            millis(now).into(),
            millis(now).into(),
        ])
        .on_conflict(OnConflict::columns([Idempotency::Owner, Idempotency::Key]).do_nothing().to_owned())
        .to_owned();
    Ok(tx.execute(&insert).await? > 0)
}

fn select(once: Once<'_>) -> SelectStatement {
    Query::select()
        .columns([Idempotency::Fingerprint, Idempotency::Experiment, Idempotency::Run])
        .from(Idempotency::Table)
        .and_where(Expr::col(Idempotency::Owner).eq(once.owner))
        .and_where(Expr::col(Idempotency::Key).eq(once.key))
        .lock(LockType::Update)
        .to_owned()
}

fn update(once: Once<'_>) -> UpdateStatement {
    Query::update()
        .table(Idempotency::Table)
        .and_where(Expr::col(Idempotency::Owner).eq(once.owner))
        .and_where(Expr::col(Idempotency::Key).eq(once.key))
        .and_where(Expr::col(Idempotency::Fingerprint).eq(once.fingerprint))
        .to_owned()
}
