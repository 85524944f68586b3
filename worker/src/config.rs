//! Permissions, limits and timeouts of a worker.

use std::path::PathBuf;
use std::time::Duration;

use engine::attempt::Permissions;
use engine::machine::Machine;
use store::{Demand, Lane, Limits, WorkerId};

/// Permissions, limits and timeouts of a worker.
#[derive(Debug, Clone)]
pub struct Config {
    /// Lane that it takes jobs from.
    pub lane: Lane,
    /// Identity of the worker.
    pub worker: WorkerId,
    /// Folder where the files beside specs are unpacked.
    pub bundles: PathBuf,
    /// Folder for unfinished files; on the same file system as `bundles`.
    pub scratch: PathBuf,
    /// Number of jobs it does at once.
    pub slots: usize,
    /// Share of the machine that all jobs together may take. One job alone may always run.
    pub budget: Demand,
    /// Number of jobs of its lane that all workers together may do at once; every worker of a lane has the same limits.
    pub limits: Limits,
    /// Permissions of its agents' checks.
    pub permissions: Permissions,
    /// Shared parts of the machine that its scenarios use.
    pub machine: Machine,
    /// Sandboxes that stay for a person to look into.
    pub keep: KeepSandbox,
    /// Number of attempts at a job when we fail.
    pub attempts: u32,
    /// Pause before the second attempt; doubles before each later one.
    pub backoff: Duration,
    /// Length of a lease: a job whose lease is not renewed for this long is taken for lost.
    pub lease: Duration,
    /// Poll interval: how often the worker looks for jobs of dead workers, and for new jobs when no notification
    /// arrives.
    pub poll: Duration,
    /// Interval between two sweeps, which remove leftovers of dead processes.
    pub sweep: Duration,
    /// Bytes of free disk that are required to start a job.
    pub watermark: u64,
    /// Additional duties of a worker that is a service: it registers itself, makes sandboxes for people, and scores.
    pub service: Option<Service>,
}

/// Settings of a worker that is a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// The machine's name.
    pub host: String,
    /// Address of its control port; '' when it has none, and only its own process can ask about its sandboxes.
    pub control: String,
    /// Its version.
    pub version: String,
    /// Interval of the heartbeat that shows that the worker is alive.
    pub pulse: Duration,
    /// Number of its slots that sandboxes for people may take; without it, all but one, or the only one.
    pub sandboxes: Option<usize>,
    /// Time limit of a drain, after which jobs are released; without it, the drain lasts until the jobs end.
    pub drain: Option<Duration>,
}

impl Service {
    /// The usual service on a machine.
    #[must_use]
    pub fn new(host: String, control: String, version: String) -> Self {
        Self { host, control, version, pulse: Duration::from_secs(5), sandboxes: None, drain: None }
    }
}

/// Selects the sandboxes that stay for a person to look into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeepSandbox {
    /// None.
    #[default]
    Never,
    /// Sandboxes of scenarios that did not pass.
    OnFailure,
    /// All.
    Always,
}

impl Config {
    /// The usual patience.
    #[must_use]
    pub fn new(lane: Lane, worker: WorkerId, folder: PathBuf, scratch: PathBuf) -> Self {
        Self {
            lane,
            worker,
            bundles: folder.join("bundles"),
            scratch,
            slots: 1,
            budget: Demand { cpu_milli: u64::MAX, memory: u64::MAX },
            limits: Limits::default(),
            permissions: Permissions::default(),
            machine: Machine::default(),
            keep: KeepSandbox::Never,
            attempts: 3,
            backoff: Duration::from_secs(1),
            lease: Duration::from_secs(30),
            poll: Duration::from_secs(1),
            sweep: Duration::from_secs(300),
            watermark: 1 << 30,
            service: None,
        }
    }
}
