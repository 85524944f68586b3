//! Reading lines of baselines, with and without their reports.

use std::collections::BTreeMap;

use scenario::baseline::{BaselineName, BaselineSize};
use scenario::report::{Report, read};
use sea_query::{Expr, ExprTrait as _, Order, Query, SelectStatement};
use serde_json::Value as Json;

use super::{BaselineLine, NewBaseline};
use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::experiments::Experiment;
use crate::reading::report;
use crate::runs::Run;
use crate::tables::Baselines;
use crate::time::timestamp;
use crate::{json, number};

/// The columns of a line, without its report. The first four are its key.
pub(super) const COLUMNS: [Baselines; 15] = [
    Baselines::Owner,
    Baselines::Name,
    Baselines::Branch,
    Baselines::SpecId,
    Baselines::Digest,
    Baselines::Experiment,
    Baselines::Run,
    Baselines::Cells,
    Baselines::Replicas,
    Baselines::Passed,
    Baselines::Verdict,
    Baselines::SavedAt,
    Baselines::SavedBy,
    Baselines::Reason,
    Baselines::Overridden,
];

row! {
    /// A line of a baseline.
    pub(super) LineRow {
        owner: String,
        name: String,
        branch: String,
        spec_id: String,
        digest: Option<String>,
        experiment: String,
        run: i64,
        cells: i64,
        replicas: i64,
        passed: i64,
        verdict: String,
        saved_at: i64,
        saved_by: String,
        reason: String,
        overridden: String,
    }
}

row! {
    /// The report of a line.
    ReportRow { report: String }
}

impl LineRow {
    pub(super) fn read(self) -> Result<BaselineLine, StoreError> {
        let branch = Some(self.branch.as_str()).filter(|branch| !branch.is_empty());
        Ok(BaselineLine {
            name: BaselineName::new(&self.name, branch).map_err(StoreError::damaged)?,
            owner: self.owner,
            spec_id: self.spec_id,
            digest: self.digest,
            experiment: self.experiment,
            run: number::read(self.run)?,
            size: BaselineSize { cells: number::read(self.cells)?, replicas: number::read(self.replicas)? },
            passed: number::read(self.passed)?,
            verdict: json::read(&self.verdict)?,
            saved_at: timestamp(self.saved_at)?,
            saved_by: self.saved_by,
            reason: self.reason,
            overridden: json::read(&self.overridden)?,
        })
    }
}

impl Store {
    /// The lines of all baselines, or of one and its branches; of one owner only, if one is named. They come sorted, those of
    /// a baseline before those of its branches.
    pub async fn baselines(&self, owner: Option<&str>, name: Option<&str>) -> Result<Vec<BaselineLine>, StoreError> {
        let rows: Vec<LineRow> = self.db.fetch_all(&lines(owner, name)).await?;
        rows.into_iter().map(LineRow::read).collect()
    }

    /// The lines of a baseline. Those that a branch does not have are the baseline's own.
    pub async fn baseline(&self, owner: &str, name: &BaselineName) -> Result<Vec<BaselineLine>, StoreError> {
        let found = self.baselines(Some(owner), Some(name.name())).await?;
        let is_meant = |line: &BaselineLine| line.name.branch().is_none() || line.name == *name;
        let by_spec: BTreeMap<_, _> =
            found.into_iter().filter(is_meant).map(|line| (line.spec_id.clone(), line)).collect();
        Ok(by_spec.into_values().collect())
    }

    /// The report of a line, as it was kept.
    pub async fn baseline_report(&self, line: &BaselineLine) -> Result<Report, StoreError> {
        let select = Query::select()
            .column(Baselines::Report)
            .from(Baselines::Table)
            .and_where(Expr::col(Baselines::Owner).eq(line.owner.as_str()))
            .and_where(Expr::col(Baselines::Name).eq(line.name.name()))
            .and_where(Expr::col(Baselines::Branch).eq(line.name.branch().unwrap_or_default()))
            .and_where(Expr::col(Baselines::SpecId).eq(line.spec_id.as_str()))
            .to_owned();
        let found = self.db.fetch_optional::<ReportRow>(&select).await?;
        let gone = || StoreError::NotFound(format!("`{}` has no run of `{}` any more", line.name, line.spec_id));
        let value: Json = json::read(&found.ok_or_else(gone)?.report)?;
        read(value).map_err(StoreError::damaged)
    }
}

/// The query for lines of baselines, sorted.
pub(super) fn lines(owner: Option<&str>, name: Option<&str>) -> SelectStatement {
    let mut select = Query::select();
    select
        .columns(COLUMNS)
        .from(Baselines::Table)
        .and_where_option(owner.map(|owner| Expr::col(Baselines::Owner).eq(owner)))
        .and_where_option(name.map(|name| Expr::col(Baselines::Name).eq(name)));
    for column in &COLUMNS[..4] {
        select.order_by(*column, Order::Asc);
    }
    select
}

/// Reads what is kept of a run when it becomes a line of a baseline.
pub async fn baseline_candidate(store: &Store, experiment: &Experiment, run: &Run) -> Result<NewBaseline, StoreError> {
    Ok(NewBaseline {
        report: report(store, experiment, run).await?,
        digest: Some(run.digest.clone()),
        is_whole: store.has_whole_plan(experiment, run.total).await?,
    })
}
