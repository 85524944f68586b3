//! Outcomes of invariants over several runs.

use sea_query::{Cond, Expr, ExprTrait as _, Query};

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::ids::RunId;
use crate::number;
use crate::tables::Verdicts;

/// The count of one outcome of an invariant in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvariantCount {
    /// The run.
    pub run: RunId,
    /// The invariant.
    pub name: String,
    /// `passed`, `failed` or `errored`.
    pub outcome: String,
    /// The count.
    pub count: u64,
}

row! {
    /// A count.
    CountRow { experiment: String, run: i64, name: String, outcome: String, verdicts: i64 }
}

impl Store {
    /// Counts each outcome of the invariants of these runs.
    pub async fn invariant_counts(&self, runs: &[RunId]) -> Result<Vec<InvariantCount>, StoreError> {
        if runs.is_empty() {
            return Ok(Vec::new());
        }
        let of_run = |run: &RunId| {
            Cond::all()
                .add(Expr::col(Verdicts::Experiment).eq(run.experiment.to_string()))
                .add(Expr::col(Verdicts::Run).eq(number::kept(run.number)))
        };
        let columns = [Verdicts::Experiment, Verdicts::Run, Verdicts::Name, Verdicts::Outcome];
        let select = Query::select()
            .columns(columns)
            .expr_as(Expr::col(Verdicts::Name).count(), "verdicts")
            .from(Verdicts::Table)
            .cond_where(runs.iter().map(of_run).fold(Cond::any(), Cond::add))
            .group_by_columns(columns)
            .to_owned();
        let rows: Vec<CountRow> = self.db.fetch_all(&select).await?;
        rows.into_iter()
            .map(|row| {
                let experiment = row.experiment.parse().map_err(StoreError::damaged)?;
                Ok(InvariantCount {
                    run: RunId { experiment, number: number::read(row.run)? },
                    name: row.name,
                    outcome: row.outcome,
                    count: number::read(row.verdicts)?,
                })
            })
            .collect()
    }
}
