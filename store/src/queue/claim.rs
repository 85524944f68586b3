//! Taking a job.

use sea_query::{Cond, Expr, ExprTrait as _, LockBehavior, LockType, Order, Query, SelectStatement, UpdateStatement};

use super::busy::{Busy, busy};
use super::{ClaimRequest, Held, Lease};
use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::ids::RunId;
use crate::tables::{Attempts, Jobs, Scenarios};
use crate::time::{millis, timestamp};
use crate::{json, number};
use scenario::Demand;

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
    /// The planned scenario.
    PlanRow { plan: String }
}

row! {
    /// The resources of a job.
    DemandRow { cpu_milli: i64, memory: i64 }
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
        // What is being done is counted, and then one more is taken. Two who do so at once would both take the last one that
        // may be done, so a server lets one after the other take jobs of a lane. That is some milliseconds for a job of seconds.
        tx.lock(&format!("claims {}", request.lane)).await?;
        let Some(busy) = busy(&mut tx, request).await? else { return Ok(None) };
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

    /// Reads the resources that the first ready job of a lane needs; `None` when none is ready.
    pub async fn next_demand(&self, lane: crate::Lane, now: jiff::Timestamp) -> Result<Option<Demand>, StoreError> {
        let select = Query::select()
            .columns([Jobs::CpuMilli, Jobs::Memory])
            .from(Jobs::Table)
            .and_where(Expr::col(Jobs::State).eq("queued"))
            .and_where(Expr::col(Jobs::Lane).eq(lane.to_string()))
            .and_where(Expr::col(Jobs::ReadyAt).lte(millis(now)))
            .order_by(Jobs::Priority, Order::Desc)
            .order_by(Jobs::ReadyAt, Order::Asc)
            .order_by(Jobs::Id, Order::Asc)
            .limit(1)
            .to_owned();
        let row: Option<DemandRow> = self.db.fetch_optional(&select).await?;
        let read =
            |row: DemandRow| Ok(Demand { cpu_milli: number::read(row.cpu_milli)?, memory: number::read(row.memory)? });
        row.map(read).transpose()
    }
}

/// The first job that is ready, and not of a run or spec that is busy.
fn first(request: &ClaimRequest, busy: &Busy) -> SelectStatement {
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
    for (experiment, run) in &busy.runs {
        let same =
            Cond::all().add(Expr::col(Jobs::Experiment).eq(experiment.as_str())).add(Expr::col(Jobs::Run).eq(*run));
        first.cond_where(same.not());
    }
    if !busy.specs.is_empty() {
        first.and_where(Expr::col(Jobs::Experiment).not_in_subquery(busy.experiments(request.lane)));
    }
    first
}

/// Takes the first job, if there is room for it.
fn take(request: &ClaimRequest, busy: &Busy) -> UpdateStatement {
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
    use uuid::Uuid;

    use super::{first, take};
    use crate::Lane;
    use crate::db::plan;
    use crate::queue::busy::{Busy, running};
    use crate::queue::{ClaimRequest, Limits, WorkerId};
    use scenario::Demand;

    fn request() -> ClaimRequest {
        ClaimRequest {
            lane: Lane::Shared,
            worker: WorkerId { data_dir: Uuid::nil(), owner: Uuid::nil() },
            token: "token".to_owned(),
            now: Timestamp::UNIX_EPOCH,
            until: Timestamp::UNIX_EPOCH,
            room: Some(Demand::default()),
            limits: Limits::default(),
        }
    }

    #[tokio::test]
    async fn a_claim_takes_the_first_row_of_an_index() {
        let busy = Busy { runs: vec![("e".to_owned(), 1)], specs: vec![("o".to_owned(), "s".to_owned())] };
        for busy in [Busy::default(), busy] {
            let plan = plan(first(&request(), &busy).to_string(SqliteQueryBuilder)).await;
            assert!(plan.contains("jobs_ready (state=? AND lane=?)"), "{plan}");
            assert!(!plan.contains("TEMP B-TREE") && !plan.contains("SCAN"), "{plan}");
        }
        let plan = plan(take(&request(), &Busy::default()).to_string(SqliteQueryBuilder)).await;
        assert!(plan.contains("jobs_ready (state=? AND lane=?)") && !plan.contains("SCAN"), "{plan}");
    }

    #[tokio::test]
    async fn only_jobs_that_are_being_done_are_counted() {
        let plan = plan(running(Lane::Shared).to_string(SqliteQueryBuilder)).await;
        assert!(plan.contains("(state=? AND lane=?)") && !plan.contains("SCAN"), "{plan}");
    }

    #[test]
    fn another_dialect_skips_what_others_are_taking() {
        let claim = take(&request(), &Busy::default()).to_string(PostgresQueryBuilder);
        assert!(claim.contains("FOR UPDATE SKIP LOCKED") && claim.contains("RETURNING"), "{claim}");
        assert!(!take(&request(), &Busy::default()).to_string(SqliteQueryBuilder).contains("SKIP LOCKED"));
    }
}
