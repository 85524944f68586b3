//! The runs of a spec that can be compared with each other.
//!
//! Trends, alerts and pages ask here, so that all of them count the same runs. A run counts when its agents acted, it ended by
//! itself, and it had all scenarios of its plan: scenarios that a filter chose, or that were chosen because they had failed, say
//! nothing about how often the spec passes. When its evidence was judged again, the newest judgement stands for it.

use std::cmp::Reverse;
use std::collections::HashMap;

use jiff::Timestamp;
use scenario::plan::{PlanOptions, expand};
use sea_query::{Expr, ExprTrait as _, Order, Query, SelectStatement};

use super::find::{NumbersRow, numbers_of, wanted};
use super::{HistoryFilter, RunNumbers};
use crate::Store;
use crate::error::StoreError;
use crate::experiments::{Experiment, ExperimentRow, Settings};
use crate::ids::{ExperimentId, RunId};
use crate::page::{Listed, Page};
use crate::reading::read_spec;
use crate::runs::{RunKind, RunState};
use crate::tables::{Experiments, Runs};
use crate::time::millis;

/// The number of parts of the history that are read to find enough runs.
const PARTS: usize = 8;
/// The fewest experiments that a part has.
const SMALLEST_PART: u64 = 25;
/// The number of plans that are made to know their sizes. Runs beyond them count as partial.
const PLANS: usize = 16;

/// Which comparable runs are wanted.
#[derive(Debug, Clone, Copy)]
pub struct ComparableFilter<'a> {
    /// Whose; `None` for everybody's.
    pub owner: Option<&'a str>,
    /// The spec's id.
    pub spec_id: &'a str,
    /// Only runs that ended before this one, which ended at this time.
    pub before: Option<(Timestamp, RunId)>,
    /// Only runs that ended at this time or later.
    pub since: Option<Timestamp>,
    /// The most runs to return.
    pub most: u64,
}

/// A run that can be compared with others of its spec.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparableRun {
    /// The experiment.
    pub experiment: Experiment,
    /// The numbers of its newest judgement.
    pub run: RunNumbers,
    /// The time at which it was submitted.
    pub created_at: Timestamp,
    /// The time at which its last scenario ended.
    pub ended_at: Timestamp,
}

impl Store {
    /// Runs of a spec that can be compared with each other, the newest end first.
    pub async fn comparable_runs(&self, filter: ComparableFilter<'_>) -> Result<Vec<ComparableRun>, StoreError> {
        let most = usize::try_from(filter.most).unwrap_or(usize::MAX);
        let (mut found, mut sizes, mut after) = (Vec::new(), PlanSizes::default(), None);
        for _ in 0..PARTS {
            let page = Page { after: after.as_deref(), most: Ord::max(filter.most, SMALLEST_PART) };
            let listed = self.acted_runs(filter, page).await?;
            for run in listed.items {
                if sizes.is_whole(self, &run.experiment, run.run.total).await? {
                    found.push(run);
                }
            }
            after = listed.next;
            if after.is_none() || found.len() >= most {
                break;
            }
        }
        found.sort_by_key(|run| Reverse((run.ended_at, run.run.id)));
        found.truncate(most);
        Ok(found)
    }

    /// True when a run with so many scenarios had all of its experiment's plan.
    pub async fn has_whole_plan(&self, experiment: &Experiment, total: u64) -> Result<bool, StoreError> {
        PlanSizes::default().is_whole(self, experiment, total).await
    }

    /// Runs in which agents acted and that ended by themselves, of a part of the experiments.
    async fn acted_runs(
        &self,
        filter: ComparableFilter<'_>,
        page: Page<'_>,
    ) -> Result<Listed<ComparableRun>, StoreError> {
        let mut snapshot = self.db.snapshot().await?;
        let rows: Vec<ExperimentRow> = snapshot.fetch_all(&experiments(filter, page)?).await?;
        let experiments = rows.into_iter().map(ExperimentRow::read).collect::<Result<Vec<_>, _>>()?;
        let Listed { items, next } = page.listed(experiments, |one| (millis(one.created_at), one.id))?;
        let mut runs: HashMap<ExperimentId, Vec<RunNumbers>> = HashMap::new();
        if !items.is_empty() {
            let ids: Vec<_> = items.iter().map(|experiment| experiment.id.to_string()).collect();
            for row in snapshot.fetch_all::<NumbersRow>(&finished_of(&ids)).await? {
                let run = row.read()?;
                runs.entry(run.id.experiment).or_default().push(run);
            }
        }
        let of = |experiment| comparable(experiment, &runs);
        let items = items.iter().flat_map(of).filter(|run| is_wanted(run, filter)).collect();
        Ok(Listed { items, next })
    }
}

/// Selects a page of the experiments that have a finished run, newest first.
fn experiments(filter: ComparableFilter<'_>, page: Page<'_>) -> Result<SelectStatement, StoreError> {
    const FINISHED: &str = "finished";
    let history = HistoryFilter { owner: filter.owner, spec_id: Some(filter.spec_id), ..HistoryFilter::default() };
    let before = filter.before.map(|(time, _)| Expr::col((FINISHED, Runs::EndedAt)).lte(millis(time)));
    let finished = Query::select()
        .column((FINISHED, Runs::Number))
        .from_as(Runs::Table, FINISHED)
        .and_where(Expr::col((FINISHED, Runs::Experiment)).equals((Experiments::Table, Experiments::Id)))
        .and_where(Expr::col((FINISHED, Runs::State)).eq(RunState::Finished.word()))
        .and_where_option(before)
        .to_owned();
    Ok(wanted(history, page)?.and_where(Expr::exists(finished)).to_owned())
}

/// Selects the numbers of all finished runs of these experiments, newest first.
fn finished_of(experiments: &[String]) -> SelectStatement {
    numbers_of(experiments)
        .and_where(Expr::col(Runs::State).eq(RunState::Finished.word()))
        .order_by(Runs::Number, Order::Desc)
        .to_owned()
}

/// The runs of an experiment in which agents acted, each with its newest judgement. Runs are given newest first.
fn comparable(experiment: &Experiment, runs: &HashMap<ExperimentId, Vec<RunNumbers>>) -> Vec<ComparableRun> {
    let runs = runs.get(&experiment.id).map(Vec::as_slice).unwrap_or_default();
    let acted = runs.iter().filter(|run| run.kind == RunKind::Acted);
    let run = |acted: &RunNumbers| {
        let newest = runs.iter().find(|run| acted_in(run, runs) == acted.id.number)?;
        let (created_at, ended_at) = (acted.created_at, acted.ended_at?);
        Some(ComparableRun { experiment: experiment.clone(), run: newest.clone(), created_at, ended_at })
    };
    acted.filter_map(run).collect()
}

/// The number of the run whose evidence a run judges: its own, unless it judges that of an earlier one again.
fn acted_in(run: &RunNumbers, runs: &[RunNumbers]) -> u32 {
    match run.kind {
        RunKind::Acted => run.id.number,
        // An earlier run has a lower number, so this ends.
        RunKind::Rescored { of } => {
            runs.iter().find(|one| one.id.number == of).map_or(of, |earlier| acted_in(earlier, runs))
        }
    }
}

/// True when a run ended in the period of the filter.
fn is_wanted(run: &ComparableRun, filter: ComparableFilter<'_>) -> bool {
    filter.before.is_none_or(|before| (run.ended_at, run.run.id) < before)
        && filter.since.is_none_or(|since| run.ended_at >= since)
}

/// The sizes of plans, by what the plans are made from; `None` for one that cannot be made any more.
#[derive(Debug, Default)]
struct PlanSizes(HashMap<String, Option<u64>>);

impl PlanSizes {
    /// True when a run with so many scenarios had all of its plan. The plan is expanded again only where a filter may have
    /// applied.
    async fn is_whole(&mut self, store: &Store, experiment: &Experiment, total: u64) -> Result<bool, StoreError> {
        let Settings { filter, rerun_of, .. } = &experiment.settings;
        if filter.is_empty() && rerun_of.is_none() {
            return Ok(true);
        }
        Ok(self.size(store, experiment).await?.is_some_and(|size| total >= size))
    }

    async fn size(&mut self, store: &Store, experiment: &Experiment) -> Result<Option<u64>, StoreError> {
        let Settings { parameters, replicas, .. } = &experiment.settings;
        let key = format!("{} {replicas:?} {parameters:?}", experiment.spec.digest);
        if let Some(known) = self.0.get(&key) {
            return Ok(*known);
        }
        if self.0.len() >= PLANS {
            return Ok(None);
        }
        let size = plan_size(store, experiment).await?;
        self.0.insert(key, size);
        Ok(size)
    }
}

/// The number of scenarios of an experiment's whole plan.
async fn plan_size(store: &Store, experiment: &Experiment) -> Result<Option<u64>, StoreError> {
    let Ok(spec) = read_spec(&store.spec(&experiment.spec.digest).await?) else { return Ok(None) };
    let Settings { parameters, replicas, .. } = experiment.settings.clone();
    let options = PlanOptions { seed: Some(experiment.seed.get()), replicas, parameters, ..PlanOptions::default() };
    Ok(expand(&spec, options).ok().map(|plan| plan.scenarios.len() as u64))
}

#[cfg(test)]
mod tests {
    use sea_query::SqliteQueryBuilder;

    use super::{ComparableFilter, experiments};
    use crate::db::plan;
    use crate::page::Page;

    #[tokio::test]
    async fn comparable_runs_are_found_in_the_order_of_an_index() {
        let filter = ComparableFilter { owner: None, spec_id: "a", before: None, since: None, most: 5 };
        let select = experiments(filter, Page { after: None, most: 5 }).expect("a query");
        let plan = plan(select.to_string(SqliteQueryBuilder)).await;
        assert!(plan.contains("experiments_spec") && !plan.contains("SCAN"), "{plan}");
    }
}
