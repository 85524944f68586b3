//! Removing what is old.

use std::collections::HashMap;

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, LockType, Order, Query, SelectStatement};

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::ids::ExperimentId;
use crate::number;
use crate::runs::RunState;
use crate::settings::insert_setting;
use crate::specs::SPECS;
use crate::tables::{Attempts, Blobs, Experiments, Jobs, Runs, Sandboxes, Snapshots, SpecFiles, SpecVersions, Specs};
use crate::time::millis;

/// The settings with experiments whose rows were removed and whose files may still be there begin with this.
const REMOVED: &str = "removed/";

/// Limits of what is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Garbage {
    /// Experiments that were submitted before this time.
    pub before: Timestamp,
    /// But never the newest ones, of which so many stay.
    pub keep: u64,
    /// The most bytes of evidence that stay: the oldest experiments are removed until no more are left.
    pub most_bytes: Option<u64>,
}

/// Disk usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Bytes of evidence.
    pub evidence: u64,
    /// Bytes of agents' bundles.
    pub bundles: u64,
}

/// Counts of removed things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Removed {
    /// Experiments.
    pub experiments: u64,
    /// Versions of specs that no experiment uses.
    pub specs: u64,
}

row! {
    /// An experiment, and the spec by which a run of it was judged.
    DigestRow { experiment: String, digest: String }
}

row! {
    /// A version of a spec.
    SpecRow { digest: String }
}

row! {
    /// The size of an experiment's evidence.
    SizeRow { experiment: String, bytes: i64 }
}

row! {
    /// An experiment, and when it was submitted.
    OldRow { id: String, created_at: i64 }
}

row! {
    /// The size of a bundle.
    BundleRow { size: i64 }
}

impl Store {
    /// The experiments that [`Store::collect`] would remove: old ones that have ended, and that nobody pinned; oldest first.
    pub async fn garbage(&self, garbage: Garbage) -> Result<Vec<ExperimentId>, StoreError> {
        let newest = Query::select()
            .column(Experiments::Id)
            .from(Experiments::Table)
            .order_by(Experiments::CreatedAt, Order::Desc)
            .order_by(Experiments::Id, Order::Desc)
            .limit(number::limit(garbage.keep))
            .to_owned();
        let old = garbage.most_bytes.is_none().then(|| Expr::col(Experiments::CreatedAt).lt(millis(garbage.before)));
        let candidates = Query::select()
            .columns([Experiments::Id, Experiments::CreatedAt])
            .from(Experiments::Table)
            .and_where_option(old)
            .and_where(Expr::col(Experiments::Pinned).eq(false))
            .and_where(Expr::col(Experiments::Id).not_in_subquery(newest))
            .and_where(Expr::col(Experiments::Id).not_in_subquery(open()))
            .order_by(Experiments::CreatedAt, Order::Asc)
            .order_by(Experiments::Id, Order::Asc)
            .to_owned();
        let candidates: Vec<OldRow> = self.db.fetch_all(&candidates).await?;
        let sizes = if garbage.most_bytes.is_some() { self.sizes().await? } else { HashMap::new() };
        let mut left: u64 = sizes.values().sum();
        let goes = |row: &OldRow| {
            let goes = row.created_at < millis(garbage.before) || garbage.most_bytes.is_some_and(|most| left > most);
            if goes {
                left -= sizes.get(&row.id).copied().unwrap_or(0);
            }
            goes
        };
        candidates.into_iter().filter(goes).map(|row| row.id.parse().map_err(StoreError::damaged)).collect()
    }

    /// Disk usage.
    pub async fn usage(&self) -> Result<Usage, StoreError> {
        // Snapshots with the same content have one bundle.
        let bundles = Query::select()
            .expr_as(Expr::col(Snapshots::Size).max(), Snapshots::Size)
            .from(Snapshots::Table)
            .group_by_col(Snapshots::Digest)
            .to_owned();
        let bundles: Vec<BundleRow> = self.db.fetch_all(&bundles).await?;
        let bundles = bundles.into_iter().map(|row| number::read::<u64>(row.size)).sum::<Result<_, _>>()?;
        Ok(Usage { evidence: self.sizes().await?.values().sum(), bundles })
    }

    /// Reads the size of each experiment's evidence.
    async fn sizes(&self) -> Result<HashMap<String, u64>, StoreError> {
        let bytes = Expr::col((Attempts::Table, Attempts::Size)).sum().cast_as("bigint");
        let select = Query::select()
            .column((Jobs::Table, Jobs::Experiment))
            .expr_as(bytes, "bytes")
            .from(Attempts::Table)
            .inner_join(Jobs::Table, Expr::col((Jobs::Table, Jobs::Id)).equals((Attempts::Table, Attempts::Job)))
            .and_where(Expr::col((Attempts::Table, Attempts::Size)).is_not_null())
            .group_by_col((Jobs::Table, Jobs::Experiment))
            .to_owned();
        let rows: Vec<SizeRow> = self.db.fetch_all(&select).await?;
        rows.into_iter().map(|row| Ok((row.experiment, number::read(row.bytes)?))).collect()
    }

    /// Removes experiments with all that belongs to them unless they were begun again meanwhile, and specs that nothing uses
    /// any more. Evidence of experiments that this database does not know stays.
    pub async fn collect(&self, experiments: &[ExperimentId]) -> Result<Removed, StoreError> {
        self.require_own_artifacts().await?;
        let mut removed = Removed::default();
        for id in experiments {
            removed.experiments += self.remove_rows(*id).await?;
        }
        removed.specs = self.remove_unused_specs().await?;
        self.remove_their_files().await?;
        self.db.shrink().await?;
        Ok(removed)
    }

    /// Removes an experiment unless it was begun again; how many were removed.
    async fn remove_rows(&self, id: ExperimentId) -> Result<u64, StoreError> {
        let lock = Query::select()
            .column(Experiments::Id)
            .from(Experiments::Table)
            .and_where(Expr::col(Experiments::Id).eq(id.to_string()))
            .lock(LockType::Update)
            .to_owned();
        let delete = Query::delete()
            .from_table(Experiments::Table)
            .and_where(Expr::col(Experiments::Id).eq(id.to_string()))
            .and_where(Expr::col(Experiments::Pinned).eq(false))
            .and_where(Expr::col(Experiments::Id).not_in_subquery(open()))
            .to_owned();
        let mut tx = self.db.begin().await?;
        // Who begins it again locks it too. Only a statement that comes after the lock sees what they did.
        tx.execute(&lock).await?;
        let removed = tx.execute(&delete).await?;
        if removed > 0 {
            // Its files go after its rows, also when this process does not live to see it.
            tx.execute(&insert_setting(&format!("{REMOVED}{id}"), "")).await?;
        }
        tx.commit().await?;
        Ok(removed)
    }

    /// Removes one experiment with all that belongs to it, unless it is pinned or a run of it is open; whether it was removed.
    pub async fn remove_experiment(&self, id: ExperimentId) -> Result<bool, StoreError> {
        self.require_own_artifacts().await?;
        if self.remove_rows(id).await? == 0 {
            return Ok(false);
        }
        self.remove_files(id).await?;
        Ok(true)
    }

    /// Which experiment uses which specs: the digests of all its runs, each once.
    pub async fn digests(&self) -> Result<Vec<(ExperimentId, String)>, StoreError> {
        let select = Query::select()
            .distinct()
            .columns([Runs::Experiment, Runs::Digest])
            .from(Runs::Table)
            .order_by(Runs::Experiment, Order::Asc)
            .order_by(Runs::Digest, Order::Asc)
            .to_owned();
        let rows: Vec<DigestRow> = self.db.fetch_all(&select).await?;
        rows.into_iter().map(|row| Ok((row.experiment.parse().map_err(StoreError::damaged)?, row.digest))).collect()
    }

    /// The digests of specs that sandboxes of people use.
    pub async fn sandbox_digests(&self) -> Result<Vec<String>, StoreError> {
        let select = Query::select().distinct().column(Sandboxes::Digest).from(Sandboxes::Table).to_owned();
        let rows: Vec<SpecRow> = self.db.fetch_all(&select).await?;
        Ok(rows.into_iter().map(|row| row.digest).collect())
    }

    /// The digests of all versions of specs that go when nothing uses them.
    pub async fn kept_specs(&self) -> Result<Vec<String>, StoreError> {
        let select = Query::select()
            .column(SpecVersions::Digest)
            .from(SpecVersions::Table)
            .and_where(is_dispensable())
            .order_by(SpecVersions::SpecId, Order::Asc)
            .order_by(SpecVersions::Version, Order::Asc)
            .to_owned();
        let rows: Vec<SpecRow> = self.db.fetch_all(&select).await?;
        Ok(rows.into_iter().map(|row| row.digest).collect())
    }

    /// Specs that no experiment, no run and no sandbox uses, and contents that no spec uses.
    async fn remove_unused_specs(&self) -> Result<u64, StoreError> {
        let by_experiments = || Query::select().column(Experiments::Digest).from(Experiments::Table).to_owned();
        let by_sandboxes = || Query::select().column(Sandboxes::Digest).from(Sandboxes::Table).to_owned();
        let by_runs = || Query::select().column(Runs::Digest).from(Runs::Table).to_owned();
        let mut tx = self.db.begin().await?;
        tx.lock(SPECS).await?;
        let versions = Query::delete()
            .from_table(SpecVersions::Table)
            .and_where(Expr::col(SpecVersions::Digest).not_in_subquery(by_experiments()))
            .and_where(Expr::col(SpecVersions::Digest).not_in_subquery(by_runs()))
            .and_where(Expr::col(SpecVersions::Digest).not_in_subquery(by_sandboxes()))
            .and_where(is_dispensable())
            .to_owned();
        let removed = tx.execute(&versions).await?;
        let specs = Query::delete()
            .from_table(Specs::Table)
            .and_where(
                Expr::col(Specs::Digest)
                    .not_in_subquery(Query::select().column(SpecVersions::Digest).from(SpecVersions::Table).to_owned()),
            )
            .and_where(Expr::col(Specs::Digest).not_in_subquery(by_experiments()))
            .and_where(Expr::col(Specs::Digest).not_in_subquery(by_runs()))
            .and_where(Expr::col(Specs::Digest).not_in_subquery(by_sandboxes()))
            .to_owned();
        tx.execute(&specs).await?;
        let blobs = Query::delete()
            .from_table(Blobs::Table)
            .and_where(
                Expr::col(Blobs::Digest)
                    .not_in_subquery(Query::select().column(SpecFiles::Blob).from(SpecFiles::Table).to_owned()),
            )
            .to_owned();
        tx.execute(&blobs).await?;
        tx.commit().await?;
        Ok(removed)
    }

    /// The experiments that this database does not know and whose evidence was not written to since a time.
    pub async fn orphans(&self, before: Timestamp) -> Result<Vec<ExperimentId>, StoreError> {
        let mut orphans = Vec::new();
        for experiment in self.unknown_experiments().await? {
            let written = self.artifacts.last_written(&experiment.to_string()).await?;
            if written.is_some_and(|written| written < before) {
                orphans.push(experiment);
            }
        }
        Ok(orphans)
    }

    /// Removes evidence of experiments that this database does not know and that was not written to since a time; of how
    /// many.
    pub async fn remove_orphans(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.require_own_artifacts().await?;
        let mut removed = 0;
        for experiment in self.orphans(before).await? {
            self.artifacts.delete_all(&experiment.to_string()).await?;
            removed += 1;
        }
        Ok(removed)
    }

    /// Removes the files of all experiments whose rows were removed, also by processes that did not get to it.
    async fn remove_their_files(&self) -> Result<(), StoreError> {
        for name in self.settings_like(REMOVED).await? {
            let id = name.trim_start_matches(REMOVED);
            self.remove_files(id.parse().map_err(StoreError::damaged)?).await?;
        }
        Ok(())
    }

    async fn remove_files(&self, id: ExperimentId) -> Result<(), StoreError> {
        self.artifacts.delete_all(&id.to_string()).await?;
        self.forget_setting(&format!("{REMOVED}{id}")).await
    }
}

/// True for versions of specs that are removed when nothing uses them. Uploaded ones stay until somebody removes them.
fn is_dispensable() -> Expr {
    Expr::col(SpecVersions::Owner).eq("")
}

/// Experiments with a run that has not ended.
fn open() -> SelectStatement {
    Query::select()
        .column(Runs::Experiment)
        .from(Runs::Table)
        .and_where(Expr::col(Runs::State).eq(RunState::Open.word()))
        .to_owned()
}
