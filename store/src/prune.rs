//! Removing what nobody needs after some time, besides experiments.

use std::collections::HashSet;

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, Order, Query};

use crate::Store;
use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::number;
use crate::snapshots::{BUNDLES, bundle_key};
use crate::tables::{ApiKeys, Deliveries, Idempotency, Sandboxes, ScoreRequests, Snapshots, Traces, Workers};
use crate::time::millis;

/// Limits of retention. Traces of runs are removed with their experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prune {
    /// Replies to requests, messages and sandboxes that ended before this time, and workers that were not heard of since
    /// then.
    pub before: Timestamp,
    /// Traces of no run that are older than this.
    pub traces_before: Timestamp,
    /// But of such traces, so many of each owner stay at most.
    pub traces_of_owner: u64,
    /// And so many of each sandbox.
    pub traces_of_sandbox: u64,
}

/// Counts of removed things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pruned {
    /// Replies to requests.
    pub replies: u64,
    /// Messages.
    pub deliveries: u64,
    /// Sandboxes that ended.
    pub sandboxes: u64,
    /// Workers.
    pub workers: u64,
    /// Traces.
    pub traces: u64,
}

row! {
    /// A holder of traces.
    HolderRow { holder: String }
}

row! {
    /// The number of a trace.
    NumberRow { number: i64 }
}

row! {
    /// A bundle that is used.
    DigestRow { digest: String }
}

impl Store {
    /// Removes what nobody needs any more.
    pub async fn prune(&self, prune: Prune) -> Result<Pruned, StoreError> {
        let before = millis(prune.before);
        let mut tx = self.db.begin().await?;
        let replies = Query::delete()
            .from_table(Idempotency::Table)
            .and_where(Expr::col(Idempotency::CreatedAt).lt(before))
            .and_where(Expr::col(Idempotency::BusyUntil).lt(before))
            .to_owned();
        let replies = tx.execute(&replies).await?;
        let deliveries = Query::delete()
            .from_table(Deliveries::Table)
            .and_where(Expr::col(Deliveries::EndedAt).lt(before))
            .to_owned();
        let deliveries = tx.execute(&deliveries).await?;
        let requests = Query::delete()
            .from_table(ScoreRequests::Table)
            .and_where(Expr::col(ScoreRequests::State).ne("waiting"))
            .and_where(Expr::col(ScoreRequests::CreatedAt).lt(before))
            .to_owned();
        tx.execute(&requests).await?;
        let sandboxes =
            Query::delete().from_table(Sandboxes::Table).and_where(Expr::col(Sandboxes::EndedAt).lt(before)).to_owned();
        let sandboxes = tx.execute(&sandboxes).await?;
        let keys = Query::delete()
            .from_table(ApiKeys::Table)
            .and_where(Expr::col(ApiKeys::Sandbox).is_not_null())
            .and_where(Expr::col(ApiKeys::RevokedAt).lt(before))
            .to_owned();
        tx.execute(&keys).await?;
        let workers =
            Query::delete().from_table(Workers::Table).and_where(Expr::col(Workers::SeenAt).lt(before)).to_owned();
        let workers = tx.execute(&workers).await?;
        tx.commit().await?;
        let traces = self.prune_traces(prune).await?;
        Ok(Pruned { replies, deliveries, sandboxes, workers, traces })
    }

    async fn prune_traces(&self, prune: Prune) -> Result<u64, StoreError> {
        let old = Query::delete()
            .from_table(Traces::Table)
            .and_where(Expr::col(Traces::Run).is_null())
            .and_where(Expr::col(Traces::At).lt(millis(prune.traces_before)))
            .to_owned();
        let mut removed = self.db.execute(&old).await?;
        removed += self.trim_traces(Traces::Sandbox, prune.traces_of_sandbox).await?;
        removed += self.trim_traces(Traces::Owner, prune.traces_of_owner).await?;
        Ok(removed)
    }

    /// Removes the oldest traces of no run, so that no holder has more than this many.
    async fn trim_traces(&self, holder: Traces, most: u64) -> Result<u64, StoreError> {
        let many = Query::select()
            .expr_as(Expr::col(holder), "holder")
            .from(Traces::Table)
            .and_where(Expr::col(Traces::Run).is_null())
            .and_where(Expr::col(holder).is_not_null())
            .group_by_col(holder)
            .and_having(Expr::col(Traces::Number).count().gt(number::kept(most)))
            .to_owned();
        let mut removed = 0;
        for HolderRow { holder: name } in self.db.fetch_all(&many).await? {
            let last = Query::select()
                .column(Traces::Number)
                .from(Traces::Table)
                .and_where(Expr::col(Traces::Run).is_null())
                .and_where(Expr::col(holder).eq(name.as_str()))
                .order_by(Traces::Number, Order::Desc)
                .offset(number::limit(most))
                .limit(1)
                .to_owned();
            let Some(NumberRow { number }) = self.db.fetch_optional(&last).await? else { continue };
            let delete = Query::delete()
                .from_table(Traces::Table)
                .and_where(Expr::col(Traces::Run).is_null())
                .and_where(Expr::col(holder).eq(name))
                .and_where(Expr::col(Traces::Number).lte(number))
                .to_owned();
            removed += self.db.execute(&delete).await?;
        }
        Ok(removed)
    }

    /// Removes bundles of agents that no snapshot uses and that are older than this; how many. Who adds a snapshot looks for
    /// its bundle while it holds the same lock.
    pub async fn prune_bundles(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.require_own_artifacts().await?;
        let mut tx = self.db.begin().await?;
        tx.lock(BUNDLES).await?;
        let used = used_bundles(&mut tx).await?;
        let mut removed = 0;
        for bundle in self.artifacts.list(BUNDLES).await? {
            if bundle.modified < before && !used.contains(&bundle.key) {
                // A server takes the lock from who says nothing for some seconds, and removing many takes longer.
                tx.lock(BUNDLES).await?;
                self.artifacts.delete(&bundle.key).await?;
                removed += 1;
            }
        }
        tx.commit().await?;
        Ok(removed)
    }
}

async fn used_bundles(tx: &mut Tx) -> Result<HashSet<String>, StoreError> {
    let select = Query::select().distinct().column(Snapshots::Digest).from(Snapshots::Table).to_owned();
    let rows: Vec<DigestRow> = tx.fetch_all(&select).await?;
    Ok(rows.into_iter().map(|row| bundle_key(&row.digest)).collect())
}
