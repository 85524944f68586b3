//! Workers: processes that do jobs, and what they say about themselves.

use std::time::Duration;

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, OnConflict, Order, Query, SelectStatement};

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::number;
use crate::queue::WorkerId;
use crate::tables::Workers;
use crate::time::{millis, timestamp};
use scenario::Demand;

const COLUMNS: [Workers; 12] = [
    Workers::Id,
    Workers::Host,
    Workers::Control,
    Workers::Slots,
    Workers::CpuMilli,
    Workers::Memory,
    Workers::Running,
    Workers::FreeDisk,
    Workers::Reason,
    Workers::Version,
    Workers::StartedAt,
    Workers::SeenAt,
];

/// A worker that says that it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWorker {
    /// Which process it is.
    pub id: WorkerId,
    /// The machine's name.
    pub host: String,
    /// Where its control port is; '' when it has none.
    pub control: String,
    /// The number of concurrent jobs.
    pub slots: u32,
    /// The resources of its machine that it may use.
    pub budget: Demand,
    /// Its version.
    pub version: String,
}

/// A worker's heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pulse {
    /// The number of its jobs and sandboxes.
    pub running: u32,
    /// Free disk space in bytes.
    pub free_disk: u64,
    /// Why it takes nothing; `None` when it does.
    pub reason: Option<String>,
    /// Operations that fail and are retried, in words.
    pub problems: Vec<String>,
}

impl Pulse {
    /// The reason and the problems as one text: a line each, the first of which is empty without a reason.
    fn words(&self) -> Option<String> {
        let line = |text: &String| text.replace('\n', " ");
        if self.problems.is_empty() {
            return self.reason.as_ref().map(line);
        }
        let lines = [self.reason.as_ref().map(line).unwrap_or_default()].into_iter();
        Some(lines.chain(self.problems.iter().map(line)).collect::<Vec<_>>().join("\n"))
    }

    fn of_words(words: &str) -> (Option<String>, Vec<String>) {
        let mut lines = words.split('\n').map(ToOwned::to_owned);
        (lines.next().filter(|reason| !reason.is_empty()), lines.collect())
    }
}

/// A worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// Its registration.
    pub new: NewWorker,
    /// Its last heartbeat.
    pub pulse: Pulse,
    /// Since when it is there.
    pub started_at: Timestamp,
    /// When it was heard of last.
    pub seen_at: Timestamp,
}

row! {
    /// A worker.
    WorkerRow {
        id: String,
        host: String,
        control: String,
        slots: i64,
        cpu_milli: i64,
        memory: i64,
        running: i64,
        free_disk: i64,
        reason: Option<String>,
        version: String,
        started_at: i64,
        seen_at: i64,
    }
}

impl WorkerRow {
    fn read(self) -> Result<Worker, StoreError> {
        let (reason, problems) = self.reason.as_deref().map(Pulse::of_words).unwrap_or_default();
        Ok(Worker {
            new: NewWorker {
                id: self.id.parse()?,
                host: self.host,
                control: self.control,
                slots: number::read(self.slots)?,
                budget: Demand { cpu_milli: number::read(self.cpu_milli)?, memory: number::read(self.memory)? },
                version: self.version,
            },
            pulse: Pulse {
                running: number::read(self.running)?,
                free_disk: number::read(self.free_disk)?,
                reason,
                problems,
            },
            started_at: timestamp(self.started_at)?,
            seen_at: timestamp(self.seen_at)?,
        })
    }
}

impl Store {
    /// Writes down that a worker is there, instead of what it said before.
    pub async fn register_worker(&self, new: &NewWorker, pulse: &Pulse, now: Timestamp) -> Result<(), StoreError> {
        let others = COLUMNS.into_iter().filter(|column| !matches!(column, Workers::Id | Workers::StartedAt));
        let insert = Query::insert()
            .into_table(Workers::Table)
            .columns(COLUMNS)
            .values_panic([
                new.id.to_string().into(),
                new.host.as_str().into(),
                new.control.as_str().into(),
                number::kept(new.slots).into(),
                number::kept(new.budget.cpu_milli).into(),
                number::kept(new.budget.memory).into(),
                number::kept(pulse.running).into(),
                number::kept(pulse.free_disk).into(),
                pulse.words().into(),
                new.version.as_str().into(),
                millis(now).into(),
                millis(now).into(),
            ])
            .on_conflict(OnConflict::column(Workers::Id).update_columns(others).to_owned())
            .to_owned();
        self.db.execute(&insert).await?;
        Ok(())
    }

    /// Writes down what a worker says; whether it is known, or must register again.
    pub async fn worker_seen(&self, id: WorkerId, pulse: &Pulse, now: Timestamp) -> Result<bool, StoreError> {
        let update = Query::update()
            .table(Workers::Table)
            .value(Workers::Running, number::kept(pulse.running))
            .value(Workers::FreeDisk, number::kept(pulse.free_disk))
            .value(Workers::Reason, pulse.words())
            .value(Workers::SeenAt, millis(now))
            .and_where(Expr::col(Workers::Id).eq(id.to_string()))
            .to_owned();
        Ok(self.db.execute(&update).await? > 0)
    }

    /// Forgets a worker that goes.
    pub async fn worker_left(&self, id: WorkerId) -> Result<(), StoreError> {
        let delete =
            Query::delete().from_table(Workers::Table).and_where(Expr::col(Workers::Id).eq(id.to_string())).to_owned();
        self.db.execute(&delete).await?;
        Ok(())
    }

    /// A worker.
    pub async fn worker(&self, id: WorkerId) -> Result<Option<Worker>, StoreError> {
        let select = select().and_where(Expr::col(Workers::Id).eq(id.to_string())).to_owned();
        self.db.fetch_optional::<WorkerRow>(&select).await?.map(WorkerRow::read).transpose()
    }

    /// The workers that were heard of not longer ago than this, oldest first.
    pub async fn live_workers(&self, now: Timestamp, patience: Duration) -> Result<Vec<Worker>, StoreError> {
        let since = millis(now).saturating_sub(number::kept(patience.as_millis()));
        let select = select().and_where(Expr::col(Workers::SeenAt).gte(since)).to_owned();
        self.read_workers(&select).await
    }

    /// All workers, oldest first, those that were not heard of for long too.
    pub async fn workers(&self) -> Result<Vec<Worker>, StoreError> {
        self.read_workers(&select()).await
    }

    async fn read_workers(&self, select: &SelectStatement) -> Result<Vec<Worker>, StoreError> {
        let rows: Vec<WorkerRow> = self.db.fetch_all(select).await?;
        rows.into_iter().map(WorkerRow::read).collect()
    }
}

fn select() -> SelectStatement {
    Query::select()
        .columns(COLUMNS)
        .from(Workers::Table)
        .order_by(Workers::StartedAt, Order::Asc)
        .order_by(Workers::Id, Order::Asc)
        .to_owned()
}
