//! The queue: jobs, and the leases under which workers hold them.
//!
//! ```text
//!            claim                    complete
//!  queued ──────────► running ─────────────────────► done
//!    ▲                  │  └──── cancelled ────────► cancelled
//!    └── retry, release ┘
//! ```
//!
//! A claim takes the first ready job and gives a lease: the job, an epoch that grows with each claim, and a random token.
//! Whatever is done with the job afterwards names the lease; when somebody else has claimed the job since, nothing happens.
//! So a worker that was thought dead cannot disturb its successor.

mod busy;
mod cancel;
mod claim;
mod depth;
mod finish;
mod lease;

pub use depth::{QueueDepth, SpecDepth};
pub(crate) use finish::write_score;

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use scenario::evidence::Evidence;
use scenario::plan::Scenario;
use scenario::result::ScenarioResult;
use scenario::score::ExperimentScore;
use sea_query::{Cond, Expr, ExprTrait as _};
use uuid::Uuid;

use crate::error::StoreError;
use crate::ids::{JobId, Lane, RunId};
use crate::tables::Jobs;
use crate::traces::NewTrace;
use scenario::Demand;

/// A worker's request for a job, with the room it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// Whose jobs.
    pub lane: Lane,
    /// The worker that asks.
    pub worker: WorkerId,
    /// A random token that nobody else can know.
    pub token: String,
    /// The time.
    pub now: Timestamp,
    /// The expiry of the lease unless it is renewed.
    pub until: Timestamp,
    /// The available resources; `None` for no limit.
    pub room: Option<Demand>,
    /// Limits of concurrent jobs.
    pub limits: Limits,
}

/// Limits of concurrent jobs of a lane, over all workers; `None` for any number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Of all specs.
    pub global: Option<u32>,
    /// Of one spec of one owner.
    pub per_spec: Option<u32>,
}

/// A worker: a process of ours, and the data directory in which its lock says whether it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WorkerId {
    /// The data directory.
    pub data_dir: Uuid,
    /// The process.
    pub owner: Uuid,
}

impl fmt::Display for WorkerId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.data_dir, self.owner)
    }
}

impl FromStr for WorkerId {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let broken = || StoreError::Damaged(format!("`{text}` is no worker"));
        let (data_dir, owner) = text.split_once('/').ok_or_else(broken)?;
        Ok(Self { data_dir: data_dir.parse().map_err(|_| broken())?, owner: owner.parse().map_err(|_| broken())? })
    }
}

/// A hold on a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The job.
    pub job: JobId,
    /// The number of claims of the job: the number of the attempt.
    pub epoch: u32,
    /// The holder's token.
    pub token: String,
}

impl Lease {
    /// True while a row is still held under this lease.
    fn holds(&self) -> Cond {
        Cond::all()
            .add(Expr::col(Jobs::Id).eq(self.job.to_string()))
            .add(Expr::col(Jobs::State).eq("running"))
            .add(Expr::col(Jobs::Epoch).eq(i64::from(self.epoch)))
            .add(Expr::col(Jobs::Token).eq(self.token.as_str()))
    }
}

/// A job that is being done.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// The lease.
    pub lease: Lease,
    /// The run that it belongs to.
    pub run: RunId,
    /// Its lane.
    pub lane: Lane,
    /// The scenario.
    pub scenario: Scenario,
    /// The worker that holds it.
    pub worker: WorkerId,
    /// The number of its attempts that failed through no fault of the agent.
    pub failures: u32,
    /// The resources that it needs.
    pub demand: Demand,
}

/// The answer to a worker that ends its job: its result was saved, or its lease was stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// It does.
    Kept,
    /// It does, and it was the last job of its run.
    RunEnded,
    /// Somebody else holds the job by now, or it was cancelled: nothing was changed.
    Stale,
}

/// The answer to renewing the lease of a job or a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beat {
    /// It still holds.
    Held,
    /// It still holds, and the job or sandbox is not wanted any more, or the sandbox's time is over.
    Cancelled,
    /// It does not hold any more.
    Lost,
}

/// The end of an attempt without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// Our infrastructure failed.
    Infrastructure,
    /// The provider of the agent's model failed.
    Provider,
    /// Its worker was not heard of any more.
    Lost,
}

/// The result of a job.
#[derive(Debug, Clone, Copy)]
pub struct Completion<'a> {
    /// The evidence; `None` when the attempt failed.
    pub evidence: Option<&'a Evidence>,
    /// The verdicts and scores.
    pub result: &'a ScenarioResult,
    /// The agent's traces, saved with the result: all of them, once.
    pub traces: &'a [NewTrace],
    /// When it ended.
    pub at: Timestamp,
}

/// Makes the numbers of a run from its results, in the order of the plan.
pub type Summarise<'a> = &'a (dyn Fn(&[ScenarioResult]) -> ExperimentScore + Send + Sync);
