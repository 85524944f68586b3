//! Finding experiments, newest first.

use std::collections::{BTreeSet, HashMap};

use scenario::score::{ExperimentVerdict, OutcomeCounts};
use sea_query::{Cond, Expr, ExprTrait as _, Func, LikeExpr, Order, Query, SelectStatement};

use super::{HistoryFilter, Past, PastStatus, RunNumbers};
use crate::Store;
use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::experiments::{COLUMNS, ExperimentRow};
use crate::ids::RunId;
use crate::page::{Listed, Page};
use crate::runs::RunState;
use crate::tables::{Experiments, Runs, SpecTags};
use crate::time::{millis, timestamp};
use crate::{json, number};

/// So many runs are few.
const FEW: u64 = 2000;
/// Escapes `%` and `_`, which would match anything.
const ESCAPE: char = '\\';

row! {
    /// The numbers of a run.
    pub(super) NumbersRow {
        experiment: String,
        number: i64,
        kind: String,
        state: String,
        total: i64,
        ended: i64,
        verdict: Option<String>,
        passed: Option<i64>,
        failed: Option<i64>,
        flaky: Option<i64>,
        errors: Option<i64>,
        composite: Option<f64>,
        cost_usd: Option<f64>,
        wall_ms: Option<i64>,
        resilience: Option<f64>,
        recovered: Option<i64>,
        degraded: Option<i64>,
        fabricated: Option<i64>,
        corrupted: Option<i64>,
        created_at: i64,
        ended_at: Option<i64>,
    }
}

row! {
    /// Whose run it is.
    OfRow { experiment: String }
}

row! {
    /// A tag of a spec.
    TagRow { spec: String, tag: String }
}

impl NumbersRow {
    pub(super) fn read(self) -> Result<RunNumbers, StoreError> {
        let count = |number: Option<i64>| number::read::<u64>(number.unwrap_or(0));
        let experiment = self.experiment.parse().map_err(StoreError::damaged)?;
        let outcomes = self.outcomes()?;
        Ok(RunNumbers {
            id: RunId { experiment, number: number::read(self.number)? },
            kind: self.kind.parse()?,
            state: self.state.parse()?,
            total: number::read(self.total)?,
            ended: number::read(self.ended)?,
            verdict: self.verdict.as_deref().map(json::read).transpose()?,
            passed: count(self.passed)?,
            failed: count(self.failed)?,
            flaky: count(self.flaky)?,
            errors: count(self.errors)?,
            composite: self.composite.unwrap_or(0.0),
            cost_usd: self.cost_usd.unwrap_or(0.0),
            wall_ms: count(self.wall_ms)?,
            resilience: self.resilience,
            outcomes,
            created_at: timestamp(self.created_at)?,
            ended_at: self.ended_at.map(timestamp).transpose()?,
        })
    }

    fn outcomes(&self) -> Result<Option<OutcomeCounts>, StoreError> {
        let Some(recovered) = self.recovered else { return Ok(None) };
        let count = |number: Option<i64>| number::read::<u64>(number.unwrap_or(0));
        Ok(Some(OutcomeCounts {
            recovered: number::read(recovered)?,
            degraded: count(self.degraded)?,
            fabricated: count(self.fabricated)?,
            corrupted: count(self.corrupted)?,
        }))
    }
}

impl Store {
    /// Experiments that a filter wants, newest first, each with the numbers of its newest run.
    pub async fn history(&self, filter: HistoryFilter<'_>, page: Page<'_>) -> Result<Listed<Past>, StoreError> {
        let mut snapshot = self.db.snapshot().await?;
        let mut select = wanted(filter, page)?;
        if let Some(runs) = filter.status.and_then(some_runs) {
            let found: Vec<OfRow> = snapshot.fetch_all(&runs).await?;
            // Where few are like that, they are looked up. Where many are, a part of the list is soon found in its order.
            if found.len() as u64 <= FEW {
                let ids = found.into_iter().map(|row| row.experiment);
                select.and_where(Expr::col((Experiments::Table, Experiments::Id)).is_in(ids));
            }
        }
        let rows: Vec<ExperimentRow> = snapshot.fetch_all(&select).await?;
        let past = with_numbers(&mut snapshot, rows).await?;
        page.listed(past, |one: &Past| (millis(one.experiment.created_at), one.experiment.id))
    }

    /// The newest experiment of each of these specs, which are named by their owner and their id; of those that have any.
    pub async fn newest_of_specs(&self, specs: &[(&str, &str)]) -> Result<Vec<Past>, StoreError> {
        if specs.is_empty() {
            return Ok(Vec::new());
        }
        let mut snapshot = self.db.snapshot().await?;
        let rows: Vec<ExperimentRow> = snapshot.fetch_all(&newest_of(specs)).await?;
        with_numbers(&mut snapshot, rows).await
    }
}

/// Experiments with their tags, and with the numbers of their newest runs.
async fn with_numbers(snapshot: &mut Tx, rows: Vec<ExperimentRow>) -> Result<Vec<Past>, StoreError> {
    let ids: Vec<_> = rows.iter().map(|row| row.id().to_owned()).collect();
    let digests: Vec<_> = rows.iter().map(|row| row.digest().to_owned()).collect::<BTreeSet<_>>().into_iter().collect();
    let mut runs: HashMap<String, NumbersRow> = HashMap::new();
    let mut tags: HashMap<String, BTreeSet<String>> = HashMap::new();
    if !rows.is_empty() {
        let found: Vec<NumbersRow> = snapshot.fetch_all(&numbers(&ids)).await?;
        runs.extend(found.into_iter().map(|row| (row.experiment.clone(), row)));
        for TagRow { spec, tag } in snapshot.fetch_all::<TagRow>(&tags_of(&digests)).await? {
            tags.entry(spec).or_default().insert(tag);
        }
    }
    let past = |row: ExperimentRow| {
        let run = runs.remove(row.id()).map(NumbersRow::read).transpose()?;
        let tags = tags.get(row.digest()).cloned().unwrap_or_default();
        Ok(Past { experiment: row.read()?, tags, run })
    };
    rows.into_iter().map(past).collect()
}

/// Selects the newest experiment of each of these specs. Each is looked up by itself, because the order of an index
/// leads to it at once, and nothing else would.
fn newest_of(specs: &[(&str, &str)]) -> SelectStatement {
    const OF: &str = "of_spec";
    let newest = |(owner, spec_id): &(&str, &str)| {
        let newest = Query::select()
            .column((OF, Experiments::Id))
            .from_as(Experiments::Table, OF)
            .and_where(Expr::col((OF, Experiments::SpecId)).eq(*spec_id))
            .and_where(Expr::col((OF, Experiments::Owner)).eq(*owner))
            .order_by((OF, Experiments::CreatedAt), Order::Desc)
            .limit(1)
            .to_owned();
        Expr::SubQuery(None, Box::new(newest.into()))
    };
    Query::select()
        .columns(COLUMNS.map(|column| (Experiments::Table, column)))
        .from(Experiments::Table)
        .and_where(Expr::col((Experiments::Table, Experiments::Id)).is_in(specs.iter().map(newest)))
        .to_owned()
}

/// Selects a page of the list.
pub(super) fn wanted(filter: HistoryFilter<'_>, page: Page<'_>) -> Result<SelectStatement, StoreError> {
    let column = |column: Experiments| Expr::col((Experiments::Table, column));
    let after = page.key::<(i64, String)>()?.map(|(created_at, id)| {
        Expr::tuple([column(Experiments::CreatedAt), column(Experiments::Id)])
            .lt(Expr::tuple([created_at.into(), id.into()]))
    });
    let mut select = Query::select();
    select
        .columns(COLUMNS.map(|column| (Experiments::Table, column)))
        .from(Experiments::Table)
        .and_where_option(filter.owner.map(|owner| column(Experiments::Owner).eq(owner)))
        .and_where_option(filter.spec_id.map(|spec_id| column(Experiments::SpecId).eq(spec_id)))
        .and_where_option(filter.since.map(|since| column(Experiments::CreatedAt).gte(millis(since))))
        .and_where_option(filter.until.map(|until| column(Experiments::CreatedAt).lt(millis(until))))
        .and_where_option(filter.tag.map(tagged))
        .and_where_option(after)
        .order_by((Experiments::Table, Experiments::CreatedAt), Order::Desc)
        .order_by((Experiments::Table, Experiments::Id), Order::Desc)
        .limit(page.limit());
    if let Some(text) = filter.text.filter(|text| !text.is_empty()) {
        select.cond_where(says(text));
    }
    if let Some(status) = filter.status {
        select.and_where(stands(status)?);
    }
    Ok(select.to_owned())
}

/// Has a spec with this tag.
fn tagged(tag: &str) -> Expr {
    let specs = Query::select()
        .column(SpecTags::Spec)
        .from(SpecTags::Table)
        .and_where(Expr::col(SpecTags::Tag).eq(tag))
        .to_owned();
    Expr::col((Experiments::Table, Experiments::Digest)).in_subquery(specs)
}

/// Has this text in one of the places where people look for it, in small or large letters.
fn says(text: &str) -> Cond {
    let text = text.to_lowercase();
    let escaped: String = text
        .chars()
        .flat_map(|character| {
            let escape = matches!(character, '%' | '_' | ESCAPE).then_some(ESCAPE);
            escape.into_iter().chain([character])
        })
        .collect();
    let has = |column: Experiments, pattern: String| {
        Expr::expr(Func::lower(Expr::col((Experiments::Table, column)))).like(LikeExpr::new(pattern).escape(ESCAPE))
    };
    Cond::any()
        .add(has(Experiments::Name, format!("%{escaped}%")))
        .add(has(Experiments::SpecId, format!("%{escaped}%")))
        .add(has(Experiments::Id, format!("{escaped}%")))
}

/// Stands so, by its newest run.
///
/// The run is asked for by itself, experiment after experiment: where it is a join, Postgres joins all of them before it looks
/// for the newest.
fn stands(status: PastStatus) -> Result<Expr, StoreError> {
    let state = |state: RunState| newest(Runs::State).eq(state.word());
    let verdict = |verdict: ExperimentVerdict| -> Result<Expr, StoreError> {
        Ok(newest(Runs::Verdict).eq(json::text(&verdict)?).and(state(RunState::Finished)))
    };
    Ok(match status {
        PastStatus::Created => newest(Runs::Number).is_null(),
        PastStatus::Running => state(RunState::Open),
        PastStatus::Ended => state(RunState::Finished),
        PastStatus::Passed => verdict(ExperimentVerdict::Pass)?,
        PastStatus::Failed => verdict(ExperimentVerdict::Fail)?,
        PastStatus::Errored => verdict(ExperimentVerdict::Error)?,
        PastStatus::Cancelled => state(RunState::Cancelled),
    })
}

/// A column of an experiment's newest run.
fn newest(column: Runs) -> Expr {
    const NEWEST: &str = "newest";
    let newest = Query::select()
        .column((NEWEST, column))
        .from_as(Runs::Table, NEWEST)
        .and_where(Expr::col((NEWEST, Runs::Experiment)).equals((Experiments::Table, Experiments::Id)))
        .order_by((NEWEST, Runs::Number), Order::Desc)
        .limit(1)
        .to_owned();
    Expr::SubQuery(None, Box::new(newest.into()))
}

/// The experiments that have any run like that, which an index knows, or too many of them; `None` when that says little.
fn some_runs(status: PastStatus) -> Option<SelectStatement> {
    let verdict = |verdict: ExperimentVerdict| Some(Expr::col(Runs::Verdict).eq(json::text(&verdict).ok()?));
    let condition = match status {
        PastStatus::Created | PastStatus::Ended => return None,
        PastStatus::Running => Expr::col(Runs::State).eq(RunState::Open.word()),
        PastStatus::Cancelled => Expr::col(Runs::State).eq(RunState::Cancelled.word()),
        PastStatus::Passed => verdict(ExperimentVerdict::Pass)?,
        PastStatus::Failed => verdict(ExperimentVerdict::Fail)?,
        PastStatus::Errored => verdict(ExperimentVerdict::Error)?,
    };
    let mut select = Query::select();
    Some(select.column(Runs::Experiment).from(Runs::Table).and_where(condition).limit(FEW + 1).to_owned())
}

/// The number of the newest run of the experiment in this column.
fn last_of(experiment: impl sea_query::IntoColumnRef) -> Expr {
    const NEWER: &str = "newer";
    let newest = Query::select()
        .expr(Func::max(Expr::col((NEWER, Runs::Number))))
        .from_as(Runs::Table, NEWER)
        .and_where(Expr::col((NEWER, Runs::Experiment)).eq(Expr::col(experiment)))
        .to_owned();
    Expr::SubQuery(None, Box::new(newest.into()))
}

/// Selects the numbers of the newest runs of these experiments.
fn numbers(experiments: &[String]) -> SelectStatement {
    numbers_of(experiments).and_where(Expr::col(Runs::Number).eq(last_of((Runs::Table, Runs::Experiment)))).to_owned()
}

/// Selects the numbers of all runs of these experiments.
pub(super) fn numbers_of(experiments: &[String]) -> SelectStatement {
    Query::select()
        .columns([
            Runs::Experiment,
            Runs::Number,
            Runs::Kind,
            Runs::State,
            Runs::Total,
            Runs::Ended,
            Runs::Verdict,
            Runs::Passed,
            Runs::Failed,
            Runs::Flaky,
            Runs::Errors,
            Runs::Composite,
            Runs::CostUsd,
            Runs::WallMs,
            Runs::Resilience,
            Runs::Recovered,
            Runs::Degraded,
            Runs::Fabricated,
            Runs::Corrupted,
            Runs::CreatedAt,
            Runs::EndedAt,
        ])
        .from(Runs::Table)
        .and_where(Expr::col(Runs::Experiment).is_in(experiments.iter().map(String::as_str)))
        .to_owned()
}

/// The tags of these specs.
fn tags_of(digests: &[String]) -> SelectStatement {
    Query::select()
        .columns([SpecTags::Spec, SpecTags::Tag])
        .from(SpecTags::Table)
        .and_where(Expr::col(SpecTags::Spec).is_in(digests.iter().map(String::as_str)))
        .to_owned()
}

#[cfg(test)]
mod tests {
    use sea_query::SqliteQueryBuilder;

    use super::{HistoryFilter, PastStatus, newest_of, wanted};
    use crate::db::plan;
    use crate::page::Page;

    #[tokio::test]
    async fn a_part_of_the_list_is_read_in_the_order_of_an_index() {
        let any = HistoryFilter::default;
        let page = Page { after: None, most: 50 };
        for (filter, index) in [
            (any(), "experiments_created_at"),
            (HistoryFilter { owner: Some("ann"), ..any() }, "experiments_owner"),
            (HistoryFilter { text: Some("x"), ..any() }, "experiments_created_at"),
            (HistoryFilter { status: Some(PastStatus::Ended), ..any() }, "experiments_created_at"),
        ] {
            let plan = plan(wanted(filter, page).expect("a query").to_string(SqliteQueryBuilder)).await;
            assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{filter:?}: {plan}");
        }
    }
    #[tokio::test]
    async fn the_newest_of_each_spec_is_found_in_the_order_of_an_index() {
        let plan = plan(newest_of(&[("ann", "a"), ("", "b")]).to_string(SqliteQueryBuilder)).await;
        assert_eq!(plan.matches("experiments_spec").count(), 2, "{plan}");
        assert!(!plan.contains("SCAN") && !plan.contains("TEMP B-TREE"), "{plan}");
    }
}
