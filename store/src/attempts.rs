//! Tries of a job, all of which are kept.

use std::collections::BTreeSet;
use std::str::FromStr;

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, Order, Query, SelectStatement};

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::ids::{JobId, RunId};
use crate::number;
use crate::tables::{Attempts, Jobs};
use crate::time::timestamp;

/// A try of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAttempt {
    /// The job.
    pub job: JobId,
    /// The scenario.
    pub scenario: String,
    /// Which attempt, from 1.
    pub number: u32,
    /// The way it ended.
    pub outcome: AttemptOutcome,
    /// Why it ended so.
    pub message: Option<String>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The digest of its evidence.
    pub digest: Option<String>,
    /// The size of its evidence in bytes.
    pub size: Option<u64>,
}

/// The end of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// It has not ended.
    Running,
    /// Its evidence was judged.
    Judged,
    /// Our infrastructure failed.
    Infrastructure,
    /// The provider of the agent's model failed.
    Provider,
    /// Its worker was not heard of any more.
    Lost,
    /// It was given up, and its job put back into the queue.
    Released,
    /// Its job was not wanted any more.
    Cancelled,
}

impl AttemptOutcome {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Judged => "judged",
            Self::Infrastructure => "infrastructure",
            Self::Provider => "provider",
            Self::Lost => "lost",
            Self::Released => "released",
            Self::Cancelled => "cancelled",
        }
    }
}

impl FromStr for AttemptOutcome {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        [Self::Running, Self::Judged, Self::Infrastructure, Self::Provider, Self::Lost, Self::Released, Self::Cancelled]
            .into_iter()
            .find(|outcome| outcome.word() == text)
            .ok_or_else(|| StoreError::Damaged(format!("`{text}` is no outcome of an attempt")))
    }
}

row! {
    /// An attempt.
    AttemptRow {
        job: String,
        scenario: String,
        number: i64,
        outcome: String,
        message: Option<String>,
        started_at: i64,
        ended_at: Option<i64>,
        digest: Option<String>,
        size: Option<i64>,
    }
}

row! {
    /// A scenario that is being run.
    RunningRow { scenario: String }
}

impl AttemptRow {
    fn read(self) -> Result<StoredAttempt, StoreError> {
        Ok(StoredAttempt {
            job: self.job.parse().map_err(StoreError::damaged)?,
            scenario: self.scenario,
            number: number::read(self.number)?,
            outcome: self.outcome.parse()?,
            message: self.message,
            started_at: timestamp(self.started_at)?,
            ended_at: self.ended_at.map(timestamp).transpose()?,
            digest: self.digest,
            size: self.size.map(number::read).transpose()?,
        })
    }
}

impl Store {
    /// All attempts of a run's jobs, by scenario and number.
    pub async fn attempts(&self, run: RunId) -> Result<Vec<StoredAttempt>, StoreError> {
        let rows: Vec<AttemptRow> = self.db.fetch_all(&select(run)).await?;
        rows.into_iter().map(AttemptRow::read).collect()
    }

    /// All attempts of one scenario of a run, by number.
    pub async fn attempts_of(&self, run: RunId, scenario: &str) -> Result<Vec<StoredAttempt>, StoreError> {
        let mut select = select(run);
        select.and_where(Expr::col((Jobs::Table, Jobs::Scenario)).eq(scenario));
        let rows: Vec<AttemptRow> = self.db.fetch_all(&select).await?;
        rows.into_iter().map(AttemptRow::read).collect()
    }

    /// Which of these scenarios of a run are being run.
    pub async fn running_of<'a>(
        &self,
        run: RunId,
        scenarios: impl IntoIterator<Item = &'a str>,
    ) -> Result<BTreeSet<String>, StoreError> {
        let scenarios: Vec<_> = scenarios.into_iter().collect();
        if scenarios.is_empty() {
            return Ok(BTreeSet::new());
        }
        let rows: Vec<RunningRow> = self.db.fetch_all(&running(run, scenarios)).await?;
        Ok(rows.into_iter().map(|row| row.scenario).collect())
    }
}

/// Selects those of these scenarios that are being run.
fn running(run: RunId, scenarios: Vec<&str>) -> SelectStatement {
    Query::select()
        .column((Jobs::Table, Jobs::Scenario))
        .from(Jobs::Table)
        .inner_join(Attempts::Table, Expr::col((Jobs::Table, Jobs::Id)).equals((Attempts::Table, Attempts::Job)))
        .and_where(Expr::col((Jobs::Table, Jobs::Experiment)).eq(run.experiment.to_string()))
        .and_where(Expr::col((Jobs::Table, Jobs::Run)).eq(number::kept(run.number)))
        .and_where(Expr::col((Jobs::Table, Jobs::Scenario)).is_in(scenarios))
        .and_where(Expr::col((Attempts::Table, Attempts::Outcome)).eq(AttemptOutcome::Running.word()))
        .to_owned()
}

fn select(run: RunId) -> SelectStatement {
    let of_attempt = [
        Attempts::Job,
        Attempts::Number,
        Attempts::Outcome,
        Attempts::Message,
        Attempts::StartedAt,
        Attempts::EndedAt,
        Attempts::Digest,
        Attempts::Size,
    ];
    Query::select()
        .columns(of_attempt.map(|column| (Attempts::Table, column)))
        .column((Jobs::Table, Jobs::Scenario))
        .from(Attempts::Table)
        .inner_join(Jobs::Table, Expr::col((Jobs::Table, Jobs::Id)).equals((Attempts::Table, Attempts::Job)))
        .and_where(Expr::col((Jobs::Table, Jobs::Experiment)).eq(run.experiment.to_string()))
        .and_where(Expr::col((Jobs::Table, Jobs::Run)).eq(number::kept(run.number)))
        .order_by((Jobs::Table, Jobs::Scenario), Order::Asc)
        .order_by((Attempts::Table, Attempts::Number), Order::Asc)
        .to_owned()
}
