//! Reading runs.

use sea_query::{Expr, ExprTrait as _, Func, Order, Query, SelectStatement};

use super::{Run, RunState};
use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::ids::{ExperimentId, RunId};
use crate::tables::Runs;
use crate::time::timestamp;
use crate::{json, number};

row! {
    /// A run.
    RunRow {
        experiment: String,
        number: i64,
        kind: String,
        digest: String,
        state: String,
        lane: String,
        total: i64,
        ended: i64,
        reason: Option<String>,
        verdict: Option<String>,
        score: Option<String>,
        created_at: i64,
        ended_at: Option<i64>,
    }
}

impl RunRow {
    fn read(self) -> Result<Run, StoreError> {
        Ok(Run {
            id: RunId {
                experiment: self.experiment.parse().map_err(StoreError::damaged)?,
                number: number::read(self.number)?,
            },
            kind: self.kind.parse()?,
            digest: self.digest,
            state: self.state.parse()?,
            lane: self.lane.parse().map_err(StoreError::damaged)?,
            total: number::read(self.total)?,
            ended: number::read(self.ended)?,
            reason: self.reason,
            verdict: self.verdict.as_deref().map(json::read).transpose()?,
            score: self.score.as_deref().map(json::read).transpose()?,
            created_at: timestamp(self.created_at)?,
            ended_at: self.ended_at.map(timestamp).transpose()?,
        })
    }
}

impl Store {
    /// A run.
    pub async fn run(&self, id: RunId) -> Result<Run, StoreError> {
        let row: Option<RunRow> = self.db.fetch_optional(&of(&mut select(), id)).await?;
        let RunId { experiment, number } = id;
        row.ok_or_else(|| StoreError::NotFound(format!("the experiment `{experiment}` has no run {number}")))?.read()
    }

    /// All runs of an experiment, newest first.
    pub async fn runs(&self, experiment: ExperimentId) -> Result<Vec<Run>, StoreError> {
        let select = select()
            .and_where(Expr::col(Runs::Experiment).eq(experiment.to_string()))
            .order_by(Runs::Number, Order::Desc)
            .to_owned();
        let rows: Vec<RunRow> = self.db.fetch_all(&select).await?;
        rows.into_iter().map(RunRow::read).collect()
    }

    /// The newest run of an experiment; `None` when it was not run yet.
    pub async fn newest_run(&self, experiment: ExperimentId) -> Result<Option<Run>, StoreError> {
        let select = select()
            .and_where(Expr::col(Runs::Experiment).eq(experiment.to_string()))
            .order_by(Runs::Number, Order::Desc)
            .limit(1)
            .to_owned();
        self.db.fetch_optional::<RunRow>(&select).await?.map(RunRow::read).transpose()
    }

    /// The newest run of each of these experiments that was run.
    pub async fn newest_runs(&self, experiments: &[ExperimentId]) -> Result<Vec<Run>, StoreError> {
        const NEWER: &str = "newer";
        let newest = Query::select()
            .expr(Func::max(Expr::col((NEWER, Runs::Number))))
            .from_as(Runs::Table, NEWER)
            .and_where(Expr::col((NEWER, Runs::Experiment)).equals((Runs::Table, Runs::Experiment)))
            .to_owned();
        let select = select()
            .and_where(Expr::col(Runs::Experiment).is_in(experiments.iter().map(ToString::to_string)))
            .and_where(Expr::col(Runs::Number).eq(Expr::SubQuery(None, Box::new(newest.into()))))
            .to_owned();
        let rows: Vec<RunRow> = self.db.fetch_all(&select).await?;
        rows.into_iter().map(RunRow::read).collect()
    }

    /// Runs that have not ended, oldest first.
    pub async fn open_runs(&self) -> Result<Vec<Run>, StoreError> {
        let select = select()
            .and_where(Expr::col(Runs::State).eq(RunState::Open.word()))
            .order_by(Runs::CreatedAt, Order::Asc)
            .to_owned();
        let rows: Vec<RunRow> = self.db.fetch_all(&select).await?;
        rows.into_iter().map(RunRow::read).collect()
    }
}

/// Only this run.
fn of(select: &mut SelectStatement, id: RunId) -> SelectStatement {
    select
        .and_where(Expr::col(Runs::Experiment).eq(id.experiment.to_string()))
        .and_where(Expr::col(Runs::Number).eq(number::kept(id.number)))
        .to_owned()
}

fn select() -> SelectStatement {
    Query::select()
        .columns([
            Runs::Experiment,
            Runs::Number,
            Runs::Kind,
            Runs::Digest,
            Runs::State,
            Runs::Lane,
            Runs::Total,
            Runs::Ended,
            Runs::Reason,
            Runs::Verdict,
            Runs::Score,
            Runs::CreatedAt,
            Runs::EndedAt,
        ])
        .from(Runs::Table)
        .to_owned()
}
