//! Removing what is old.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, Order, Query, SelectStatement};

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::ids::ExperimentId;
use crate::number;
use crate::runs::RunState;
use crate::tables::{Blobs, Experiments, Runs, SpecFiles, SpecVersions, Specs};
use crate::time::millis;

/// What is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Garbage {
    /// Experiments that were submitted before this time.
    pub before: Timestamp,
    /// But never the newest ones, of which so many stay.
    pub keep: u64,
}

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Removed {
    /// Experiments.
    pub experiments: u64,
    /// Versions of specs that no experiment uses.
    pub specs: u64,
}

row! {
    /// An experiment.
    IdRow { id: String }
}

row! {
    /// An experiment, and the spec by which a run of it was judged.
    DigestRow { experiment: String, digest: String }
}

row! {
    /// A version of a spec.
    SpecRow { digest: String }
}

impl Store {
    /// The experiments that [`Store::collect`] would remove: old ones that have ended.
    pub async fn garbage(&self, garbage: Garbage) -> Result<Vec<ExperimentId>, StoreError> {
        let newest = Query::select()
            .column(Experiments::Id)
            .from(Experiments::Table)
            .order_by(Experiments::CreatedAt, Order::Desc)
            .order_by(Experiments::Id, Order::Desc)
            .limit(number::limit(garbage.keep))
            .to_owned();
        let old = Query::select()
            .column(Experiments::Id)
            .from(Experiments::Table)
            .and_where(Expr::col(Experiments::CreatedAt).lt(millis(garbage.before)))
            .and_where(Expr::col(Experiments::Id).not_in_subquery(newest))
            .and_where(Expr::col(Experiments::Id).not_in_subquery(open()))
            .to_owned();
        let rows: Vec<IdRow> = self.db.fetch_all(&old).await?;
        rows.into_iter().map(|row| row.id.parse().map_err(StoreError::damaged)).collect()
    }

    /// Removes experiments with all that belongs to them unless they were begun again meanwhile, specs that nothing uses any more, and files without a row.
    pub async fn collect(&self, experiments: &[ExperimentId]) -> Result<Removed, StoreError> {
        let mut removed = Removed::default();
        for id in experiments {
            let delete = Query::delete()
                .from_table(Experiments::Table)
                .and_where(Expr::col(Experiments::Id).eq(id.to_string()))
                .and_where(Expr::col(Experiments::Id).not_in_subquery(open()))
                .to_owned();
            removed.experiments += self.db.execute(&delete).await?;
        }
        removed.specs = self.remove_unused_specs().await?;
        self.remove_files_without_rows().await?;
        self.db.shrink().await?;
        Ok(removed)
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

    /// The digests of all versions of specs that are kept, whether anything uses them or not.
    pub async fn kept_specs(&self) -> Result<Vec<String>, StoreError> {
        let select = Query::select()
            .column(SpecVersions::Digest)
            .from(SpecVersions::Table)
            .order_by(SpecVersions::SpecId, Order::Asc)
            .order_by(SpecVersions::Version, Order::Asc)
            .to_owned();
        let rows: Vec<SpecRow> = self.db.fetch_all(&select).await?;
        Ok(rows.into_iter().map(|row| row.digest).collect())
    }

    /// Where the large evidence of an experiment is; nothing is there when it has none.
    #[must_use]
    pub fn evidence_folder(&self, experiment: ExperimentId) -> PathBuf {
        self.bodies.experiment(experiment)
    }

    /// Specs that no experiment and no run uses, and contents that no spec uses.
    async fn remove_unused_specs(&self) -> Result<u64, StoreError> {
        let by_experiments = || Query::select().column(Experiments::Digest).from(Experiments::Table).to_owned();
        let by_runs = || Query::select().column(Runs::Digest).from(Runs::Table).to_owned();
        let mut tx = self.db.begin().await?;
        let versions = Query::delete()
            .from_table(SpecVersions::Table)
            .and_where(Expr::col(SpecVersions::Digest).not_in_subquery(by_experiments()))
            .and_where(Expr::col(SpecVersions::Digest).not_in_subquery(by_runs()))
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

    /// The experiments that have a folder of evidence and are not kept.
    pub async fn orphans(&self) -> Result<Vec<ExperimentId>, StoreError> {
        let select = Query::select().column(Experiments::Id).from(Experiments::Table).to_owned();
        // Listed before the rows are read: a folder that is made meanwhile is not in the list.
        let folders = self.bodies.experiments()?;
        let rows: Vec<IdRow> = self.db.fetch_all(&select).await?;
        let kept: HashSet<String> = rows.into_iter().map(|row| row.id).collect();
        Ok(folders.into_iter().filter(|experiment| !kept.contains(&experiment.to_string())).collect())
    }

    async fn remove_files_without_rows(&self) -> Result<(), StoreError> {
        for experiment in self.orphans().await? {
            let folder = self.bodies.experiment(experiment);
            match tokio::fs::remove_dir_all(&folder).await {
                // Somebody else removes what is old at the same time.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                done => done.map_err(StoreError::files("remove", folder))?,
            }
        }
        Ok(())
    }
}

/// Experiments with a run that has not ended.
fn open() -> SelectStatement {
    Query::select()
        .column(Runs::Experiment)
        .from(Runs::Table)
        .and_where(Expr::col(Runs::State).eq(RunState::Open.word()))
        .to_owned()
}
