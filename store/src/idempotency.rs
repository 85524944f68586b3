//! Requests that are answered once, however often they are sent.

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, LockType, OnConflict, Query, SelectStatement, UpdateStatement};
use serde_json::Value as Json;

use crate::Store;
use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::experiments::{NewExperiment, submit_in};
use crate::ids::RunId;
use crate::runs::NewRun;
use crate::tables::Idempotency;
use crate::time::millis;
use crate::{json, number};

/// What says that two requests are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Once<'a> {
    /// Who sends it.
    pub owner: &'a str,
    /// The key that the sender gives it.
    pub key: &'a str,
    /// What the request says, in short: one that says something else is another request.
    pub fingerprint: &'a str,
}

/// A reply that was given.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// What it says.
    pub body: Json,
}

/// What to do with a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Begun {
    /// Do it.
    Fresh,
    /// It was done: this was the reply.
    Replay(Reply),
    /// Somebody is doing it.
    Busy,
    /// Another request has the same key.
    Mismatch,
}

/// What came of a submission.
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
        status: Option<i64>,
        reply: Option<String>,
        experiment: Option<String>,
        run: Option<i64>,
        busy_until: i64,
    }
}

impl RequestRow {
    fn reply(&self) -> Result<Option<Reply>, StoreError> {
        let (Some(status), Some(reply)) = (self.status, &self.reply) else { return Ok(None) };
        Ok(Some(Reply { status: number::read(status)?, body: json::read(reply)? }))
    }

    /// What came of the submission that this request was.
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
    /// Begins to do a request. Whoever began it has time until `until`; then somebody else may begin it again.
    pub async fn begin_idempotent(
        &self,
        once: Once<'_>,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Begun, StoreError> {
        let mut tx = self.db.begin().await?;
        let begun = if insert(&mut tx, once, now, until).await? {
            Begun::Fresh
        } else {
            match tx.fetch_optional::<RequestRow>(&select(once)).await? {
                Some(row) if row.fingerprint != once.fingerprint => Begun::Mismatch,
                Some(row) => match row.reply()? {
                    Some(reply) => Begun::Replay(reply),
                    None if row.busy_until > millis(now) => Begun::Busy,
                    None => {
                        tx.execute(update(once).value(Idempotency::BusyUntil, millis(until))).await?;
                        Begun::Fresh
                    }
                },
                // Whoever began it gave it up just now.
                None => Begun::Busy,
            }
        };
        tx.commit().await?;
        Ok(begun)
    }

    /// Keeps the reply to a request.
    pub async fn finish_idempotent(&self, once: Once<'_>, reply: &Reply) -> Result<(), StoreError> {
        let update = update(once)
            .value(Idempotency::Status, i64::from(reply.status))
            .value(Idempotency::Reply, json::text(&reply.body)?)
            .to_owned();
        self.db.execute(&update).await?;
        Ok(())
    }

    /// Gives a request up that has no reply, so that it can be sent again.
    pub async fn abandon_idempotent(&self, once: Once<'_>) -> Result<(), StoreError> {
        let delete = Query::delete()
            .from_table(Idempotency::Table)
            .and_where(Expr::col(Idempotency::Owner).eq(once.owner))
            .and_where(Expr::col(Idempotency::Key).eq(once.key))
            .and_where(Expr::col(Idempotency::Fingerprint).eq(once.fingerprint))
            .and_where(Expr::col(Idempotency::Status).is_null())
            .and_where(Expr::col(Idempotency::Run).is_null())
            .to_owned();
        self.db.execute(&delete).await?;
        Ok(())
    }

    /// What came of a submission that was made before with this key; `None` when there was none.
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
        if !insert(&mut tx, once, now, now).await? {
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
async fn insert(tx: &mut Tx, once: Once<'_>, now: Timestamp, until: Timestamp) -> Result<bool, StoreError> {
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
            millis(until).into(),
            millis(now).into(),
        ])
        .on_conflict(OnConflict::columns([Idempotency::Owner, Idempotency::Key]).do_nothing().to_owned())
        .to_owned();
    Ok(tx.execute(&insert).await? > 0)
}

fn select(once: Once<'_>) -> SelectStatement {
    Query::select()
        .columns([
            Idempotency::Fingerprint,
            Idempotency::Status,
            Idempotency::Reply,
            Idempotency::Experiment,
            Idempotency::Run,
            Idempotency::BusyUntil,
        ])
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
