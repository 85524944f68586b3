//! Runs that somebody wants to be scored, one after the other.

use jiff::Timestamp;
use sea_query::{Cond, Expr, ExprTrait as _, LockBehavior, LockType, Order, Query};

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::ids::RunId;
use crate::tables::ScoreRequests;
use crate::time::millis;
use crate::{json, number};

/// A run that somebody wants to be scored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoreRequest {
    /// Its number: later ones have higher numbers.
    pub number: u64,
    /// The run.
    pub run: RunId,
    /// By which rules.
    pub rules: Vec<String>,
    /// The number of tries, including this one.
    pub attempts: u32,
}

row! {
    /// A request.
    RequestRow { number: i64, experiment: String, run: i64, rules: String, attempts: i64 }
}

impl Store {
    /// Asks for a run to be scored.
    pub async fn request_scores(&self, run: RunId, rules: &[String], now: Timestamp) -> Result<(), StoreError> {
        let insert = Query::insert()
            .into_table(ScoreRequests::Table)
            .columns([
                ScoreRequests::Experiment,
                ScoreRequests::Run,
                ScoreRequests::Rules,
                ScoreRequests::State,
                ScoreRequests::Attempts,
                ScoreRequests::DueAt,
                ScoreRequests::CreatedAt,
            ])
            .values_panic([
                run.experiment.to_string().into(),
                number::kept(run.number).into(),
                json::text(&rules)?.into(),
                "waiting".into(),
                0_i64.into(),
                millis(now).into(),
                millis(now).into(),
            ])
            .to_owned();
        self.db.execute(&insert).await?;
        Ok(())
    }

    /// The first request that is due. Nobody else gets it before `until`.
    pub async fn claim_score_request(
        &self,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<ScoreRequest>, StoreError> {
        let first = Query::select()
            .column(ScoreRequests::Number)
            .from(ScoreRequests::Table)
            .and_where(Expr::col(ScoreRequests::State).eq("waiting"))
            .and_where(Expr::col(ScoreRequests::DueAt).lte(millis(now)))
            .order_by(ScoreRequests::DueAt, Order::Asc)
            .order_by(ScoreRequests::Number, Order::Asc)
            .limit(1)
            .lock_with_behavior(LockType::Update, LockBehavior::SkipLocked)
            .to_owned();
        let update = Query::update()
            .table(ScoreRequests::Table)
            .value(ScoreRequests::Attempts, Expr::col(ScoreRequests::Attempts).add(1))
            .value(ScoreRequests::DueAt, millis(until))
            .and_where(Expr::col(ScoreRequests::Number).eq(Expr::SubQuery(None, Box::new(first.into()))))
            .returning(Query::returning().columns([
                ScoreRequests::Number,
                ScoreRequests::Experiment,
                ScoreRequests::Run,
                ScoreRequests::Rules,
                ScoreRequests::Attempts,
            ]))
            .to_owned();
        let mut tx = self.db.begin().await?;
        let row: Option<RequestRow> = tx.fetch_optional(&update).await?;
        tx.commit().await?;
        let Some(row) = row else { return Ok(None) };
        let experiment = row.experiment.parse().map_err(StoreError::damaged)?;
        Ok(Some(ScoreRequest {
            number: number::read(row.number)?,
            run: RunId { experiment, number: number::read(row.run)? },
            rules: json::read(&row.rules)?,
            attempts: number::read(row.attempts)?,
        }))
    }

    /// Ends a request, with the reason when nothing came of it; whether nobody else has tried it since it was claimed.
    pub async fn end_score_request(&self, request: &ScoreRequest, error: Option<&str>) -> Result<bool, StoreError> {
        let state = if error.is_some() { "failed" } else { "done" };
        let update = Query::update()
            .table(ScoreRequests::Table)
            .value(ScoreRequests::State, state)
            .value(ScoreRequests::LastError, error.map(ToOwned::to_owned))
            .cond_where(holds(request))
            .to_owned();
        Ok(self.db.execute(&update).await? > 0)
    }

    /// Tries a request again at a time; whether nobody else has tried it since it was claimed.
    pub async fn retry_score_request(
        &self,
        request: &ScoreRequest,
        error: &str,
        due_at: Timestamp,
    ) -> Result<bool, StoreError> {
        let update = Query::update()
            .table(ScoreRequests::Table)
            .value(ScoreRequests::DueAt, millis(due_at))
            .value(ScoreRequests::LastError, error)
            .cond_where(holds(request))
            .to_owned();
        Ok(self.db.execute(&update).await? > 0)
    }
}

/// True while nobody has retried the request since it was claimed.
fn holds(request: &ScoreRequest) -> Cond {
    Cond::all()
        .add(Expr::col(ScoreRequests::Number).eq(number::kept(request.number)))
        .add(Expr::col(ScoreRequests::State).eq("waiting"))
        .add(Expr::col(ScoreRequests::Attempts).eq(i64::from(request.attempts)))
}
