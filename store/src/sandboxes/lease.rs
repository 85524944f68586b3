//! Holding sandboxes: claiming them, renewing the lease, and ending them.

use jiff::Timestamp;
use sea_query::{Cond, Expr, ExprTrait as _, LockBehavior, LockType, Order, Query, UpdateStatement};
use serde_json::Value as Json;

use super::write::{end, end_unwanted, ending};
use super::{HeldSandbox, SandboxClaim, SandboxLease, SandboxState};
use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::queue::Beat;
use crate::tables::Sandboxes;
use crate::time::millis;
use crate::wakeups::Wakeup;
use crate::{json, number};

row! {
    /// A sandbox that was claimed.
    ClaimedRow { id: String, epoch: i64, secrets: Option<Vec<u8>> }
}

row! {
    /// The state of a sandbox that its worker asks for at each heartbeat.
    BeatRow { wanted: bool, expires_at: i64 }
}

impl SandboxLease {
    /// True while a row is still held under this lease.
    fn holds(&self) -> Cond {
        Cond::all()
            .add(Expr::col(Sandboxes::Id).eq(self.sandbox.as_str()))
            .add(Expr::col(Sandboxes::Epoch).eq(i64::from(self.epoch)))
            .add(Expr::col(Sandboxes::Token).eq(self.token.as_str()))
    }
}

impl Store {
    /// Takes the first sandbox that waits for a worker and that there is room for.
    pub async fn claim_sandbox(&self, claim: &SandboxClaim) -> Result<Option<HeldSandbox>, StoreError> {
        let mut tx = self.db.begin().await?;
        let row: Option<ClaimedRow> = tx.fetch_optional(&take(claim)).await?;
        tx.commit().await?;
        let Some(row) = row else { return Ok(None) };
        let missing = || StoreError::Damaged(format!("the sandbox `{}` was removed", row.id));
        let mut sandbox = self.sandbox(&row.id).await?.ok_or_else(missing)?;
        sandbox.new.secrets = row.secrets;
        let lease = SandboxLease { sandbox: row.id, epoch: number::read(row.epoch)?, token: claim.token.clone() };
        Ok(Some(HeldSandbox { lease, sandbox }))
    }

    /// Writes down that a sandbox can be used, and what is in it; whether the lease still holds.
    pub async fn sandbox_ready(&self, lease: &SandboxLease, services: &Json) -> Result<bool, StoreError> {
        let update = Query::update()
            .table(Sandboxes::Table)
            .value(Sandboxes::State, SandboxState::Ready.word())
            .value(Sandboxes::Services, json::text(services)?)
            .cond_where(lease.holds())
            .to_owned();
        Ok(self.db.execute(&update).await? > 0)
    }

    /// Renews a lease.
    pub async fn heartbeat_sandbox(
        &self,
        lease: &SandboxLease,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Beat, StoreError> {
        let update = Query::update()
            .table(Sandboxes::Table)
            .value(Sandboxes::LeaseUntil, millis(until))
            .cond_where(lease.holds())
            .returning(Query::returning().columns([Sandboxes::Wanted, Sandboxes::ExpiresAt]))
            .to_owned();
        let mut tx = self.db.begin().await?;
        let row: Option<BeatRow> = tx.fetch_optional(&update).await?;
        tx.commit().await?;
        Ok(match row {
            Some(row) if row.wanted && row.expires_at > millis(now) => Beat::Held,
            Some(_) => Beat::Cancelled,
            None => Beat::Lost,
        })
    }

    /// Gives a sandbox back that was not made, for another worker; whether the lease still held. One that nobody wants any
    /// more ends.
    pub async fn release_sandbox(&self, lease: &SandboxLease, now: Timestamp) -> Result<bool, StoreError> {
        let update = Query::update()
            .table(Sandboxes::Table)
            .value(Sandboxes::Worker, Option::<String>::None)
            .value(Sandboxes::Token, Option::<String>::None)
            .value(Sandboxes::LeaseUntil, Option::<i64>::None)
            .cond_where(lease.holds())
            .and_where(Expr::col(Sandboxes::State).eq(SandboxState::Creating.word()))
            .to_owned();
        let mut tx = self.db.begin().await?;
        let released = tx.execute(&update).await? > 0;
        if released {
            end_unwanted(&mut tx, &lease.sandbox, now).await?;
        }
        tx.tell(Wakeup::Sandboxes).await?;
        tx.commit().await?;
        Ok(released)
    }

    /// Ends a sandbox, with the reason when it could not be made or is broken; whether the lease still held. Keys that were
    /// for it only allow nothing any more, and its secrets are gone.
    pub async fn end_sandbox(
        &self,
        lease: &SandboxLease,
        error: Option<&str>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let state = if error.is_some() { SandboxState::Error } else { SandboxState::Stopped };
        let mut ending = ending(state, error, now);
        ending.cond_where(lease.holds());
        let mut tx = self.db.begin().await?;
        let ended = end(&mut tx, &ending, now).await?;
        tx.commit().await?;
        Ok(!ended.is_empty())
    }
}

/// Takes the first sandbox that waits, and that there is room for.
fn take(claim: &SandboxClaim) -> UpdateStatement {
    let fits = claim.room.map(|room| {
        Expr::col(Sandboxes::CpuMilli)
            .lte(number::kept(room.cpu_milli))
            .and(Expr::col(Sandboxes::Memory).lte(number::kept(room.memory)))
    });
    let first = Query::select()
        .column(Sandboxes::Id)
        .from(Sandboxes::Table)
        .and_where(Expr::col(Sandboxes::State).eq(SandboxState::Creating.word()))
        .and_where(Expr::col(Sandboxes::Worker).is_null())
        .and_where(Expr::col(Sandboxes::Wanted).eq(true))
        .and_where(Expr::col(Sandboxes::ExpiresAt).gt(millis(claim.now)))
        .and_where_option(fits)
        .order_by(Sandboxes::CreatedAt, Order::Asc)
        .order_by(Sandboxes::Id, Order::Asc)
        .limit(1)
        .lock_with_behavior(LockType::Update, LockBehavior::SkipLocked)
        .to_owned();
    Query::update()
        .table(Sandboxes::Table)
        .value(Sandboxes::Epoch, Expr::col(Sandboxes::Epoch).add(1))
        .value(Sandboxes::Worker, claim.worker.to_string())
        .value(Sandboxes::Token, claim.token.as_str())
        .value(Sandboxes::LeaseUntil, millis(claim.until))
        .and_where(Expr::col(Sandboxes::Id).eq(Expr::SubQuery(None, Box::new(first.into()))))
        .returning(Query::returning().columns([Sandboxes::Id, Sandboxes::Epoch, Sandboxes::Secrets]))
        .to_owned()
}
