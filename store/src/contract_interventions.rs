//! Interventions of operators in sessions under tool contracts of scenarios that are run.

use jiff::Timestamp;
use scenario::intervention::Intervention;
use sea_query::{Expr, ExprTrait as _, Order, Query};

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::ids::RunId;
use crate::tables::ContractInterventions;
use crate::time::millis;
use crate::{json, number};

row! {
    /// An intervention.
    InterventionRow { number: i64, body: String }
}

impl Store {
    /// Makes an intervention known to the worker that runs the scenario, now or later.
    pub async fn intervene(
        &self,
        run: RunId,
        scenario: &str,
        intervention: &Intervention,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let insert = Query::insert()
            .into_table(ContractInterventions::Table)
            .columns([
                ContractInterventions::Experiment,
                ContractInterventions::Run,
                ContractInterventions::Scenario,
                ContractInterventions::Body,
                ContractInterventions::CreatedAt,
            ])
            .values_panic([
                run.experiment.to_string().into(),
                number::kept(run.number).into(),
                scenario.into(),
                json::text(intervention)?.into(),
                millis(now).into(),
            ])
            .to_owned();
        self.db.execute(&insert).await?;
        Ok(())
    }

    /// The first intervention in a scenario after the one with this number, with its own number.
    pub async fn next_intervention(
        &self,
        run: RunId,
        scenario: &str,
        after: u64,
    ) -> Result<Option<(u64, Intervention)>, StoreError> {
        let select = Query::select()
            .columns([ContractInterventions::Number, ContractInterventions::Body])
            .from(ContractInterventions::Table)
            .and_where(Expr::col(ContractInterventions::Experiment).eq(run.experiment.to_string()))
            .and_where(Expr::col(ContractInterventions::Run).eq(number::kept(run.number)))
            .and_where(Expr::col(ContractInterventions::Scenario).eq(scenario))
            .and_where(Expr::col(ContractInterventions::Number).gt(number::kept(after)))
            .order_by(ContractInterventions::Number, Order::Asc)
            .limit(1)
            .to_owned();
        let found = self.db.fetch_optional::<InterventionRow>(&select).await?;
        found.map(|row| Ok((number::read(row.number)?, json::read(&row.body)?))).transpose()
    }
}
