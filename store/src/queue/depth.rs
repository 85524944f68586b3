//! Queue depth.

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, Order, Query};

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::ids::Lane;
use crate::number;
use crate::tables::{Experiments, Jobs};
use crate::time::timestamp;

/// The queue depth of a lane.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueueDepth {
    /// The number of queued jobs.
    pub queued: u64,
    /// The number of running jobs.
    pub running: u64,
    /// Since when the first of those that wait could be done.
    pub oldest: Option<Timestamp>,
    /// The same for each spec, by owner and id.
    pub specs: Vec<SpecDepth>,
}

/// The queue depth of a spec.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpecDepth {
    /// Whose.
    pub owner: String,
    /// Its id.
    pub spec_id: String,
    /// The number of queued jobs.
    pub queued: u64,
    /// The number of running jobs.
    pub running: u64,
}

row! {
    /// The number of jobs of a spec in a state.
    DepthRow { owner: String, spec_id: String, state: String, jobs: i64, oldest: i64 }
}

impl Store {
    /// The queue depth of a lane.
    pub async fn queue_depth(&self, lane: Lane) -> Result<QueueDepth, StoreError> {
        let (owner, spec_id) = ((Experiments::Table, Experiments::Owner), (Experiments::Table, Experiments::SpecId));
        let select = Query::select()
            .columns([owner, spec_id])
            .column((Jobs::Table, Jobs::State))
            .expr_as(Expr::col((Jobs::Table, Jobs::Id)).count(), "jobs")
            .expr_as(Expr::col((Jobs::Table, Jobs::ReadyAt)).min(), "oldest")
            .from(Jobs::Table)
            .inner_join(
                Experiments::Table,
                Expr::col((Experiments::Table, Experiments::Id)).equals((Jobs::Table, Jobs::Experiment)),
            )
            .and_where(Expr::col((Jobs::Table, Jobs::State)).is_in(["queued", "running"]))
            .and_where(Expr::col((Jobs::Table, Jobs::Lane)).eq(lane.to_string()))
            .group_by_columns([owner, spec_id])
            .group_by_col((Jobs::Table, Jobs::State))
            .order_by(owner, Order::Asc)
            .order_by(spec_id, Order::Asc)
            .to_owned();
        let mut depth = QueueDepth::default();
        for row in self.db.fetch_all::<DepthRow>(&select).await? {
            depth.add(row)?;
        }
        Ok(depth)
    }
}

impl QueueDepth {
    /// Counts jobs; rows of one spec follow each other.
    fn add(&mut self, row: DepthRow) -> Result<(), StoreError> {
        let jobs: u64 = number::read(row.jobs)?;
        if !self.specs.last().is_some_and(|last| last.owner == row.owner && last.spec_id == row.spec_id) {
            self.specs.push(SpecDepth { owner: row.owner, spec_id: row.spec_id, ..SpecDepth::default() });
        }
        let Some(spec) = self.specs.last_mut() else { return Ok(()) };
        if row.state == "queued" {
            self.queued += jobs;
            spec.queued += jobs;
            let oldest = timestamp(row.oldest)?;
            self.oldest = Some(self.oldest.map_or(oldest, |first| first.min(oldest)));
        } else {
            self.running += jobs;
            spec.running += jobs;
        }
        Ok(())
    }
}
