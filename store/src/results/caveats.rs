//! Caveats about the results of a run.

use scenario::result::Caveat;
use sea_query::{Expr, ExprTrait as _, Order, Query};

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::ids::RunId;
use crate::tables::Scenarios;
use crate::{json, number};

row! {
    /// The caveats of a scenario.
    CaveatsRow { caveats: String }
}

impl Store {
    /// The caveats of all scenarios of a run, in the order of the plan.
    pub async fn caveats(&self, run: RunId) -> Result<Vec<Caveat>, StoreError> {
        let select = Query::select()
            .column(Scenarios::Caveats)
            .from(Scenarios::Table)
            .and_where(Expr::col(Scenarios::Experiment).eq(run.experiment.to_string()))
            .and_where(Expr::col(Scenarios::Run).eq(number::kept(run.number)))
            .and_where(Expr::col(Scenarios::Caveats).is_not_null())
            .and_where(Expr::col(Scenarios::Caveats).ne("[]"))
            .order_by(Scenarios::Position, Order::Asc)
            .to_owned();
        let rows: Vec<CaveatsRow> = self.db.fetch_all(&select).await?;
        let lists = rows.iter().map(|row| json::read::<Vec<Caveat>>(&row.caveats));
        Ok(lists.collect::<Result<Vec<_>, _>>()?.concat())
    }
}
