//! Asking for sandboxes, and not wanting them any more.

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, Query, UpdateStatement};

use super::read::is_active;
use super::{NewSandbox, SandboxState};
use crate::Store;
use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::queue::WorkerId;
use crate::specs::require_spec;
use crate::tables::{ApiKeys, Sandboxes};
use crate::time::millis;
use crate::wakeups::Wakeup;
use crate::{json, number};

/// The error of a sandbox whose worker is gone.
const LOST: &str = "its worker was lost";

row! {
    /// A sandbox that ended.
    IdRow { id: String }
}

impl Store {
    /// Asks for a sandbox: the first worker that has room makes it.
    pub async fn ask_for_sandbox(&self, new: &NewSandbox, now: Timestamp) -> Result<(), StoreError> {
        let lifetime = number::kept(new.timeout.as_millis());
        let insert = Query::insert()
            .into_table(Sandboxes::Table)
            .columns([
                Sandboxes::Id,
                Sandboxes::Owner,
                Sandboxes::SpecId,
                Sandboxes::Digest,
                Sandboxes::State,
                Sandboxes::Wanted,
                Sandboxes::Epoch,
                Sandboxes::Metadata,
                Sandboxes::Services,
                Sandboxes::Secrets,
                Sandboxes::TimeoutMs,
                Sandboxes::CpuMilli,
                Sandboxes::Memory,
                Sandboxes::CreatedAt,
                Sandboxes::ExpiresAt,
            ])
            .values_panic([
                new.id.as_str().into(),
                new.owner.as_str().into(),
                new.spec_id.as_str().into(),
                new.digest.as_str().into(),
                SandboxState::Creating.word().into(),
                true.into(),
                0_i64.into(),
                json::text(&new.metadata)?.into(),
                "{}".into(),
                new.secrets.clone().into(),
                lifetime.into(),
                number::kept(new.demand.cpu_milli).into(),
                number::kept(new.demand.memory).into(),
                millis(now).into(),
                millis(now).saturating_add(lifetime).into(),
            ])
            .to_owned();
        let mut tx = self.db.begin().await?;
        require_spec(&mut tx, &new.digest).await?;
        tx.execute(&insert).await?;
        tx.tell(Wakeup::Sandboxes).await?;
        tx.commit().await
    }

    /// Says that nobody wants a sandbox any more; whether it had not ended. One that no worker has yet ends at once, the
    /// worker of another one is told at its next heartbeat.
    pub async fn unwant_sandbox(&self, id: &str, now: Timestamp) -> Result<bool, StoreError> {
        let mut tx = self.db.begin().await?;
        let unwanted = Query::update()
            .table(Sandboxes::Table)
            .value(Sandboxes::Wanted, false)
            .and_where(Expr::col(Sandboxes::Id).eq(id))
            .and_where(is_active())
            .to_owned();
        if tx.execute(&unwanted).await? == 0 {
            return Ok(false);
        }
        end_unwanted(&mut tx, id, now).await?;
        tx.tell(Wakeup::Sandboxes).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Ends sandboxes whose workers were not heard of in time, and those that no worker had room for before their time was
    /// over; which ones.
    pub async fn lose_sandboxes(&self, now: Timestamp) -> Result<Vec<String>, StoreError> {
        let mut tx = self.db.begin().await?;
        let mut lost = ending(SandboxState::Error, Some(LOST), now);
        lost.and_where(is_active()).and_where(Expr::col(Sandboxes::LeaseUntil).lt(millis(now)));
        let mut ended = end(&mut tx, &lost, now).await?;
        let mut late = ending(SandboxState::Error, Some("no worker had room for it in time"), now);
        late.and_where(is_active())
            .and_where(Expr::col(Sandboxes::Worker).is_null())
            .and_where(Expr::col(Sandboxes::ExpiresAt).lte(millis(now)));
        ended.extend(end(&mut tx, &late, now).await?);
        tx.commit().await?;
        Ok(ended)
    }
}

impl Store {
    /// Ends the sandboxes of a worker that is known to be gone; which ones.
    pub async fn lose_sandboxes_of(&self, worker: WorkerId, now: Timestamp) -> Result<Vec<String>, StoreError> {
        let mut tx = self.db.begin().await?;
        let mut lost = ending(SandboxState::Error, Some(LOST), now);
        lost.and_where(is_active()).and_where(Expr::col(Sandboxes::Worker).eq(worker.to_string()));
        let ended = end(&mut tx, &lost, now).await?;
        tx.commit().await?;
        Ok(ended)
    }
}

/// Ends a sandbox that nobody wants, and no worker has.
pub(super) async fn end_unwanted(tx: &mut Tx, id: &str, now: Timestamp) -> Result<(), StoreError> {
    let mut waiting = ending(SandboxState::Stopped, None, now);
    waiting
        .and_where(Expr::col(Sandboxes::Id).eq(id))
        .and_where(Expr::col(Sandboxes::Worker).is_null())
        .and_where(Expr::col(Sandboxes::Wanted).eq(false));
    end(tx, &waiting, now).await?;
    Ok(())
}

/// Builds the update that ends a sandbox; the caller adds which one.
pub(super) fn ending(state: SandboxState, error: Option<&str>, now: Timestamp) -> UpdateStatement {
    Query::update()
        .table(Sandboxes::Table)
        .value(Sandboxes::State, state.word())
        .value(Sandboxes::Error, error.map(ToOwned::to_owned))
        .value(Sandboxes::Secrets, Option::<Vec<u8>>::None)
        .value(Sandboxes::Token, Option::<String>::None)
        .value(Sandboxes::LeaseUntil, Option::<i64>::None)
        .value(Sandboxes::EndedAt, millis(now))
        .to_owned()
}

/// Ends sandboxes, and revokes the keys that were for them only; which ones.
pub(super) async fn end(tx: &mut Tx, ending: &UpdateStatement, now: Timestamp) -> Result<Vec<String>, StoreError> {
    let ending = ending.clone().returning(Query::returning().columns([Sandboxes::Id])).to_owned();
    let rows: Vec<IdRow> = tx.fetch_all(&ending).await?;
    let ended: Vec<String> = rows.into_iter().map(|row| row.id).collect();
    let revoke = Query::update()
        .table(ApiKeys::Table)
        .value(ApiKeys::RevokedAt, millis(now))
        .and_where(Expr::col(ApiKeys::Sandbox).is_in(ended.iter().map(String::as_str)))
        .and_where(Expr::col(ApiKeys::RevokedAt).is_null())
        .to_owned();
    if !ended.is_empty() {
        tx.execute(&revoke).await?;
    }
    Ok(ended)
}
