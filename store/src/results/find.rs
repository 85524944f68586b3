//! Finding scenarios of all experiments.

use jiff::Timestamp;
use scenario::result::RowStatus;
use sea_query::{Cond, Expr, ExprTrait as _, Func, Order, Query, SelectStatement};

use super::read::{read_found, select};
use super::{StoredScenario, word};
use crate::Store;
use crate::error::StoreError;
use crate::ids::{ExperimentId, RunId};
use crate::page::{Listed, Page};
use crate::tables::{Experiments, Runs, Scenarios};

/// A part of the list has at most so many scenarios.
const MOST: u64 = 500;

/// Which scenarios are wanted; `None` means any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScenarioFilter<'a> {
    /// Of whose experiments.
    pub owner: Option<&'a str>,
    /// Of which experiment.
    pub experiment: Option<ExperimentId>,
    /// With which id.
    pub scenario: Option<&'a str>,
    /// Their status, each by itself: `flaky` needs all replicas of a cell.
    pub status: Option<RowStatus>,
}

/// A scenario that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundScenario {
    /// Its run.
    pub run: RunId,
    /// Its place in the plan.
    pub position: u64,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The scenario.
    pub stored: StoredScenario,
}

impl Store {
    /// The scenarios of each experiment's newest run: newest experiments first, each in the order of its plan.
    pub async fn find_scenarios(
        &self,
        filter: ScenarioFilter<'_>,
        page: Page<'_>,
    ) -> Result<Listed<FoundScenario>, StoreError> {
        let page = Page { most: Ord::min(page.most, MOST), ..page };
        let mut snapshot = self.db.snapshot().await?;
        let found = read_found(&mut snapshot, &wanted(filter, page)?).await?;
        page.listed(found, |one| (one.run.experiment, one.position))
    }
}

/// Selects a page of the list.
fn wanted(filter: ScenarioFilter<'_>, page: Page<'_>) -> Result<SelectStatement, StoreError> {
    let mut select = newest();
    select
        .and_where_option(filter.owner.map(of_owner))
        .and_where_option(filter.experiment.map(|id| Expr::col(Scenarios::Experiment).eq(id.to_string())))
        .and_where_option(filter.scenario.map(|id| Expr::col(Scenarios::Id).eq(id)))
        .and_where_option(
            filter
                .status
                .map(|status| word(&status))
                .transpose()?
                .map(|status| Expr::col(Scenarios::Status).eq(status)),
        )
        .order_by(Scenarios::Experiment, Order::Desc)
        // There is one run of each, but so the order is that of an index.
        .order_by(Scenarios::Run, Order::Asc)
        .order_by(Scenarios::Position, Order::Asc)
        .limit(page.limit());
    if let Some((experiment, position)) = page.key::<(String, i64)>()? {
        let same = Cond::all()
            .add(Expr::col(Scenarios::Experiment).eq(experiment.as_str()))
            .add(Expr::col(Scenarios::Position).gt(position));
        // The first says to the database where to begin.
        select.and_where(Expr::col(Scenarios::Experiment).lte(experiment.as_str()));
        select.cond_where(Cond::any().add(Expr::col(Scenarios::Experiment).lt(experiment)).add(same));
    }
    Ok(select)
}

fn of_owner(owner: &str) -> Expr {
    let own = Query::select()
        .column(Experiments::Id)
        .from(Experiments::Table)
        .and_where(Expr::col(Experiments::Owner).eq(owner))
        .to_owned();
    Expr::col(Scenarios::Experiment).in_subquery(own)
}

/// The scenarios of newest runs.
fn newest() -> SelectStatement {
    let newest = Query::select()
        .expr(Func::max(Expr::col((Runs::Table, Runs::Number))))
        .from(Runs::Table)
        .and_where(Expr::col((Runs::Table, Runs::Experiment)).equals((Scenarios::Table, Scenarios::Experiment)))
        .to_owned();
    select().and_where(Expr::col(Scenarios::Run).eq(Expr::SubQuery(None, Box::new(newest.into())))).to_owned()
}

#[cfg(test)]
mod tests {
    use sea_query::SqliteQueryBuilder;

    use super::{ScenarioFilter, wanted};
    use crate::db::plan;
    use crate::page::Page;

    #[tokio::test]
    async fn a_part_of_the_list_is_read_in_the_order_of_an_index() {
        let first = Page { after: None, most: 10 };
        let listed = first.listed(vec![1; 11], |_| ("00000000-0000-0000-0000-000000000001", 3)).expect("a part");
        for after in [None, listed.next.as_deref()] {
            let wanted = wanted(ScenarioFilter::default(), Page { after, ..first }).expect("a query");
            let plan = plan(wanted.to_string(SqliteQueryBuilder)).await;
            assert!(plan.contains("USING INDEX scenarios_position") && !plan.contains("TEMP B-TREE"), "{plan}");
        }
    }
}
