//! Taking a job.

use sea_query::{
    Cond, Expr, ExprTrait as _, Func, LockBehavior, LockType, Order, Query, SelectStatement, UpdateStatement,
};

use super::{ClaimRequest, Held, Lease};
use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::ids::RunId;
use crate::runs::Demand;
use crate::tables::{Attempts, Jobs, Scenarios};
use crate::time::{millis, timestamp};
use crate::{json, number};

row! {
    /// A job that was claimed.
    ClaimedRow {
        id: String,
        experiment: String,
        run: i64,
        scenario: String,
        epoch: i64,
        failures: i64,
        cpu_milli: i64,
        memory: i64,
    }
}

row! {
    /// What is planned.
    PlanRow { plan: String }
}

row! {
    /// A run of which as many jobs are being done as may be.
    BusyRow { experiment: String, run: i64 }
}

row! {
    /// A time.
    TimeRow { ready_at: i64 }
}

impl Store {
    /// Takes the first job that is ready, unless there is no room for it: then it waits, and later ones behind it, so that
    /// no large job waits for ever.
    pub async fn claim(&self, request: &ClaimRequest) -> Result<Option<Held>, StoreError> {
        let mut tx = self.db.begin().await?;
        let busy: Vec<BusyRow> = tx.fetch_all(&busy_runs()).await?;
        let Some(row): Option<ClaimedRow> = tx.fetch_optional(&take(request, &busy)).await? else { return Ok(None) };
        let insert = Query::insert()
            .into_table(Attempts::Table)
            .columns([Attempts::Job, Attempts::Number, Attempts::Worker, Attempts::Outcome, Attempts::StartedAt])
            .values_panic([
                row.id.as_str().into(),
                row.epoch.into(),
                request.worker.to_string().into(),
                "running".into(),
                millis(request.now).into(),
            ])
            .to_owned();
        tx.execute(&insert).await?;
        let plan = Query::select()
            .column(Scenarios::Plan)
            .from(Scenarios::Table)
            .and_where(Expr::col(Scenarios::Experiment).eq(row.experiment.as_str()))
            .and_where(Expr::col(Scenarios::Run).eq(row.run))
            .and_where(Expr::col(Scenarios::Id).eq(row.scenario.as_str()))
            .to_owned();
        let missing = || StoreError::Damaged(format!("the job `{}` has no scenario", row.id));
        let PlanRow { plan } = tx.fetch_optional(&plan).await?.ok_or_else(missing)?;
        tx.commit().await?;
        Ok(Some(Held {
            lease: Lease {
                job: row.id.parse().map_err(StoreError::damaged)?,
                epoch: number::read(row.epoch)?,
                token: request.token.clone(),
            },
            run: RunId {
                experiment: row.experiment.parse().map_err(StoreError::damaged)?,
                number: number::read(row.run)?,
            },
            lane: request.lane,
            scenario: json::read(&plan)?,
            worker: request.worker,
            failures: number::read(row.failures)?,
            demand: Demand { cpu_milli: number::read(row.cpu_milli)?, memory: number::read(row.memory)? },
        }))
    }

    /// When the next job of a lane is ready; a time that is over when one is, and waits for something else.
    pub async fn next_ready(&self, lane: crate::Lane) -> Result<Option<jiff::Timestamp>, StoreError> {
        let select = Query::select()
            .column(Jobs::ReadyAt)
            .from(Jobs::Table)
            .and_where(Expr::col(Jobs::State).eq("queued"))
            .and_where(Expr::col(Jobs::Lane).eq(lane.to_string()))
            .order_by(Jobs::ReadyAt, Order::Asc)
            .limit(1)
            .to_owned();
        let row: Option<TimeRow> = self.db.fetch_optional(&select).await?;
        row.map(|row| timestamp(row.ready_at)).transpose()
    }
}

/// Runs of which as many jobs are being done as may be.
fn busy_runs() -> SelectStatement {
    Query::select()
        .columns([Jobs::Experiment, Jobs::Run])
        .from(Jobs::Table)
        .and_where(Expr::col(Jobs::State).eq("running"))
        .and_where(Expr::col(Jobs::AtOnce).is_not_null())
        .group_by_columns([Jobs::Experiment, Jobs::Run])
        .and_having(Expr::expr(Func::count(Expr::col(Jobs::Id))).gte(Func::min(Expr::col(Jobs::AtOnce))))
        .to_owned()
}

/// The first job that is ready, and not of a run that is busy.
fn first(request: &ClaimRequest, busy: &[BusyRow]) -> SelectStatement {
    let mut first = Query::select();
    first
        .column(Jobs::Id)
        .from(Jobs::Table)
        .and_where(Expr::col(Jobs::State).eq("queued"))
        .and_where(Expr::col(Jobs::Lane).eq(request.lane.to_string()))
        .and_where(Expr::col(Jobs::ReadyAt).lte(millis(request.now)))
        .order_by(Jobs::Priority, Order::Desc)
        .order_by(Jobs::ReadyAt, Order::Asc)
        .order_by(Jobs::Id, Order::Asc)
        .limit(1)
        .lock_with_behavior(LockType::Update, LockBehavior::SkipLocked);
    for run in busy {
        let same = Cond::all()
            .add(Expr::col(Jobs::Experiment).eq(run.experiment.as_str()))
            .add(Expr::col(Jobs::Run).eq(run.run));
        first.cond_where(same.not());
    }
    first
}

/// Takes the first job, if there is room for it.
fn take(request: &ClaimRequest, busy: &[BusyRow]) -> UpdateStatement {
    let fits = request.room.map(|room| {
        Expr::col(Jobs::CpuMilli)
            .lte(number::kept(room.cpu_milli))
            .and(Expr::col(Jobs::Memory).lte(number::kept(room.memory)))
    });
    Query::update()
        .table(Jobs::Table)
        .value(Jobs::State, "running")
        .value(Jobs::Epoch, Expr::col(Jobs::Epoch).add(1))
        .value(Jobs::Worker, request.worker.to_string())
        .value(Jobs::Token, request.token.as_str())
        .value(Jobs::LeaseUntil, millis(request.until))
        .and_where(Expr::col(Jobs::Id).eq(Expr::SubQuery(None, Box::new(first(request, busy).into()))))
        .and_where_option(fits)
        .returning(Query::returning().columns([
            Jobs::Id,
            Jobs::Experiment,
            Jobs::Run,
            Jobs::Scenario,
            Jobs::Epoch,
            Jobs::Failures,
            Jobs::CpuMilli,
            Jobs::Memory,
        ]))
        .to_owned()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use sea_query::{PostgresQueryBuilder, SqliteQueryBuilder};
    use sqlx::{AssertSqlSafe, Row as _};
    use uuid::Uuid;

    use super::{BusyRow, busy_runs, first, take};
    use crate::db::Db;
    use crate::queue::{ClaimRequest, WorkerId};
    use crate::runs::Demand;
    use crate::{Lane, Store};

    fn request() -> ClaimRequest {
        ClaimRequest {
            lane: Lane::Shared,
            worker: WorkerId { data_dir: Uuid::nil(), owner: Uuid::nil() },
            token: "token".to_owned(),
            now: Timestamp::UNIX_EPOCH,
            until: Timestamp::UNIX_EPOCH,
            room: Some(Demand::default()),
        }
    }

    /// How SQLite goes about a statement, in its own words.
    async fn plan(sql: String) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path()).await.expect("a store");
        let Db::Sqlite { writing, .. } = &store.db;
        let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
        let rows = sqlx::query(explain).fetch_all(writing).await.expect("a plan");
        let step = |row: &sqlx::sqlite::SqliteRow| row.get::<String, _>("detail");
        rows.iter().map(step).collect::<Vec<_>>().join("\n")
    }

    #[tokio::test]
    async fn a_claim_takes_the_first_row_of_an_index() {
        let busy = BusyRow { experiment: "e".to_owned(), run: 1 };
        for busy in [vec![], vec![busy]] {
            let plan = plan(first(&request(), &busy).to_string(SqliteQueryBuilder)).await;
            assert!(plan.contains("jobs_ready (state=? AND lane=?)"), "{plan}");
            assert!(!plan.contains("TEMP B-TREE") && !plan.contains("SCAN"), "{plan}");
        }
        let plan = plan(take(&request(), &[]).to_string(SqliteQueryBuilder)).await;
        assert!(plan.contains("jobs_ready (state=? AND lane=?)") && !plan.contains("SCAN"), "{plan}");
    }

    #[tokio::test]
    async fn only_jobs_that_are_being_done_are_counted() {
        let plan = plan(busy_runs().to_string(SqliteQueryBuilder)).await;
        assert!(plan.contains("(state=?)") && !plan.contains("SCAN"), "{plan}");
    }

    #[test]
    fn another_dialect_skips_what_others_are_taking() {
        let claim = take(&request(), &[]).to_string(PostgresQueryBuilder);
        assert!(claim.contains("FOR UPDATE SKIP LOCKED") && claim.contains("RETURNING"), "{claim}");
        assert!(!take(&request(), &[]).to_string(SqliteQueryBuilder).contains("SKIP LOCKED"));
    }
}
