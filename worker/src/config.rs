//! What a worker may do, and how patient it is.

use std::path::PathBuf;
use std::time::Duration;

use engine::attempt::Permissions;
use engine::machine::Machine;
use store::{Demand, Lane, Limits, WorkerId};

/// What a worker may do, and how patient it is.
#[derive(Debug, Clone)]
pub struct Config {
    /// Whose jobs it takes.
    pub lane: Lane,
    /// Who it is.
    pub worker: WorkerId,
    /// Where the files beside specs are unpacked.
    pub bundles: PathBuf,
    /// Where unfinished files are; on the same file system as `bundles`.
    pub scratch: PathBuf,
    /// How many jobs it does at once.
    pub slots: usize,
    /// What all jobs together may take from the machine. One job alone may always run.
    pub budget: Demand,
    /// How many jobs of its lane all workers together may do at once; every worker of a lane is told the same.
    pub limits: Limits,
    /// What its agents' checks are allowed to do.
    pub permissions: Permissions,
    /// What the machine has for its scenarios.
    pub machine: Machine,
    /// Which sandboxes stay for a person to look into.
    pub keep: KeepSandbox,
    /// How often a job is tried when we fail.
    pub attempts: u32,
    /// How long it waits before the second attempt; twice as long before each later one.
    pub backoff: Duration,
    /// How long a job is held without being heard of.
    pub lease: Duration,
    /// How often it looks for jobs of others that are gone, and asks for new ones when nobody tells.
    pub poll: Duration,
    /// How often it removes what dead processes left.
    pub sweep: Duration,
    /// How many bytes of disk must be free to start a job.
    pub watermark: u64,
    /// What it does besides, when it is a service: it tells that it is there, makes sandboxes for people, and scores.
    pub service: Option<Service>,
}

/// What a worker does that is a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// The machine's name.
    pub host: String,
    /// Where its control port is; '' when it has none, and only its own process can ask about its sandboxes.
    pub control: String,
    /// Its version.
    pub version: String,
    /// How often it tells that it is there.
    pub pulse: Duration,
    /// How many of its slots sandboxes that people work in may have; without it, all but one, or the only one.
    pub sandboxes: Option<usize>,
    /// How long jobs may go on once it was asked to drain; without it, until they end.
    pub drain: Option<Duration>,
}

impl Service {
    /// The usual service on a machine.
    #[must_use]
    pub fn new(host: String, control: String, version: String) -> Self {
        Self { host, control, version, pulse: Duration::from_secs(5), sandboxes: None, drain: None }
    }
}

/// Which sandboxes stay for a person to look into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeepSandbox {
    /// None.
    #[default]
    Never,
    /// Those of scenarios that did not pass.
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
