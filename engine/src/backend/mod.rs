//! Backends, which make sandboxes.
//!
//! A backend makes the box; everything inside is done through its doorkeeper, so backends differ in little. The promises
//! that each must keep are tested by one suite (`tests/it/conformance`).

pub mod docker;
pub mod fit;
mod layer;
pub mod local;
pub(crate) mod names;
pub mod stand_in;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use scenario::evidence::ImageRecord;
use scenario::spec::Spec;
use uuid::Uuid;

use crate::door::Door;
use crate::error::EngineError;
use crate::event::Events;
use crate::kept::Visitor;

/// Path of the workspace inside a sandbox.
pub const WORKSPACE: &str = "/workspace";

/// Path where the doorkeeper's program is mounted.
const DOORKEEPER: &str = "/.touchstone/doorkeeper";
/// Path where the doorkeeper's program is mounted once more, as a program for agents, and its folder.
const TOOL_PROGRAM: &str = "/.touchstone/bin/touchstone-tool";
pub(crate) const TOOL_FOLDER: &str = "/.touchstone/bin";
/// Path where the folder with the doorkeeper's socket is mounted.
const DOOR: &str = "/.touchstone/door";
/// Path where the workspace of another sandbox is mounted while it is copied.
const SOURCE: &str = "/.touchstone/source";
/// Path where volumes of a service are mounted that must stay while it is started again.
const KEPT: &str = "/.touchstone/kept";
/// The places where something of ours is mounted.
const MOUNTED: [&str; 6] = ["/.touchstone", DOORKEEPER, TOOL_FOLDER, TOOL_PROGRAM, DOOR, SOURCE];

/// Memory of a service, its data included.
pub(crate) const SERVICE_MEMORY: u64 = 3 * 1024 * 1024 * 1024;
/// Processor cores of a service.
pub(crate) const SERVICE_CPUS: f64 = 2.0;
/// Limits of a container that only holds a service's own network: it does nothing.
pub(crate) const HOLDER: Limits = Limits { cpus: 1.0, memory: 64 * 1024 * 1024, disk: 1024 * 1024, pids: 16 };

/// Folders of a sandbox that anything may write to; what changes there does not modify its image.
const SCRATCH: [&str; 7] = ["/tmp", "/run", "/var/tmp", "/dev/shm", "/dev/pts", "/dev/mqueue", WORKSPACE];

/// Returns true if anything may write to a path, so that a change there does not modify the image.
pub(crate) fn is_scratch(path: &str) -> bool {
    let inside =
        |scratch: &&str| path.strip_prefix(scratch).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    SCRATCH.iter().any(inside)
}

/// Returns true if a scratch folder is below a path.
pub(crate) fn is_above_scratch(path: &str) -> bool {
    SCRATCH.iter().any(|scratch| scratch.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')))
}

/// A backend, which makes sandboxes.
#[async_trait]
pub trait Backend: Debug + Send + Sync {
    /// Finds an image, getting it first where that is possible.
    async fn image(&self, reference: &str, events: &Events) -> Result<Image, EngineError>;

    /// An image like this one with packages of its distribution installed. Made once, and then found again.
    async fn with_packages(&self, image: &Image, packages: &[String], events: &Events) -> Result<Image, EngineError>;

    /// Makes a sandbox. Whatever was made is removed again when this fails.
    async fn create(&self, request: SandboxRequest) -> Result<Box<dyn Sandbox>, EngineError>;

    /// Removes what owners of this data directory made and that have gone since, and what could not be removed when its time
    /// had come. What cannot be removed keeps nothing else from being removed; the first problem is returned then.
    async fn sweep(&self, reach: Reach) -> Result<Swept, EngineError>;

    /// Removes images that [`Backend::with_packages`] made, least recently used first, while less than `watermark` bytes
    /// are free. One that a container uses stays, and so does one that was used a moment ago.
    async fn make_room(&self, watermark: u64) -> Result<Space, EngineError>;

    /// Checks that the engine, or whatever else makes sandboxes, is available and answers promptly.
    async fn answers(&self) -> Result<(), EngineError>;

    /// Removes images that [`Backend::with_packages`] made and that were not used for so long; their names. One that a
    /// container uses stays, and so does one that was used a moment ago.
    async fn evict(&self, unused_for: Duration) -> Result<Vec<String>, EngineError>;

    /// Describes it for the evidence.
    fn record(&self) -> BackendRecord;

    /// Returns true if its sandboxes are children of this process, so that the limits of its control groups hold for
    /// them, too. Those of an engine are not.
    fn is_in_own_group(&self) -> bool {
        false
    }

    /// Explains which part of a spec it cannot do, whatever the scenario; `None` when there is none.
    fn misfit(&self, spec: &Spec) -> Option<String>;
}

/// A box with a doorkeeper in it.
///
/// The doorkeeper's connection, and whatever that hands out, is the only way into it and out of it.
#[async_trait]
pub trait Sandbox: Debug + Send + Sync {
    /// Its name, under which it can be found without our database.
    fn name(&self) -> &str;

    /// Its doorkeeper.
    fn door(&self) -> &Door;

    /// Returns true if commands in it can run as other users than root.
    fn has_other_users(&self) -> bool {
        true
    }

    /// Starts a service beside it, in its network or in one of its own.
    async fn start_service(&self, request: ServiceRequest) -> Result<Box<dyn RunningService>, EngineError>;

    /// A new box of the same image with a copy of the workspace, and nothing to reach.
    async fn fresh(&self) -> Result<Box<dyn Sandbox>, EngineError>;

    /// The paths of the image that were changed since the sandbox was made.
    async fn image_changes(&self) -> Result<ImageChanges, EngineError>;

    /// Returns the number of bytes that were written over the image; `None` when that cannot be told quickly and it
    /// need not be thorough.
    async fn written_over_image(&self, thorough: bool) -> Result<Option<u64>, EngineError>;

    /// Raises its memory above the limit, for looking at it once the agent has gone and left all of it used.
    async fn make_room(&self) -> Result<(), EngineError>;

    /// Returns the reason why its doorkeeper is gone.
    async fn post_mortem(&self) -> PostMortem;

    /// A private folder of this machine for what is needed for a moment while it lives. It goes with its owner.
    fn scratch(&self) -> PathBuf;

    /// Returns true if its services go on when it is kept.
    fn keeps_services(&self) -> bool;

    /// Keeps it for a person to look into: its processes are ended, and then it, its workspace and its services stay until
    /// [`Backend::sweep`] with [`Reach::GoneAndKept`] removes them, also when its owner goes. After this nothing can be
    /// asked of it, and [`Sandbox::destroy`] does nothing. When it fails, it is still to be destroyed. Whoever looks inside
    /// is this visitor.
    async fn keep(&self, visitor: &Visitor) -> Result<(), EngineError>;

    /// Removes it, its services and everything else that it had. Can be called again, and does nothing then.
    async fn destroy(&self) -> Result<(), EngineError>;
}

/// A service that was started.
#[async_trait]
pub trait RunningService: Debug + Send + Sync {
    /// Returns the way to reach it from the worker: the doorkeeper of the network that it is in.
    fn door(&self) -> &Door;

    /// Runs a command in the service's own container; its exit code, and what it printed last.
    async fn run(&self, command: &[String], patience: Duration) -> Result<(i64, String), EngineError>;

    /// The last lines of what it printed.
    async fn last_output(&self) -> String;

    /// Returns true if it is still running. A service that somebody removed is an error: no agent can do that.
    async fn is_running(&self) -> Result<bool, EngineError>;

    /// Returns the number of bytes that were written over its image, where that can be told quickly.
    async fn written_over_image(&self) -> Option<u64>;

    /// Returns true if the kernel killed a process in it for lack of memory outside of it, while it was below its own
    /// limit. Where that cannot be told, returns false.
    async fn lacked_memory_outside(&self) -> bool {
        false
    }

    /// Lists all its processes, also when the one that it was started with has ended; none when nothing of it is left.
    async fn processes(&self) -> Result<Vec<Process>, EngineError>;

    /// Ends it, and keeps what it left.
    async fn stop(&self) -> Result<(), EngineError>;

    /// Stops all its processes where they are.
    async fn pause(&self) -> Result<(), EngineError>;

    /// Resumes its processes.
    async fn resume(&self) -> Result<(), EngineError>;

    /// Ends it as a crash does, and starts it again with its data, for which [`ServiceRequest::restarts`] must have been set.
    async fn restart(&self) -> Result<(), EngineError>;
}

/// A process of a service.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Process {
    /// Its number on the host.
    pub pid: u32,
    /// The number of the process that it belongs to.
    pub parent: u32,
    /// The name of its program.
    pub program: String,
    /// Its command line.
    pub arguments: String,
}

/// An image that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Record for the evidence.
    pub record: ImageRecord,
    /// Id that the backend knows it by.
    pub id: String,
    /// Command that it runs.
    pub entrypoint: Vec<String>,
    /// The arguments of what it runs.
    pub command: Vec<String>,
    /// Its environment.
    pub environment: Vec<(String, String)>,
    /// Working directory of the command.
    pub directory: String,
    /// User who runs it.
    pub user: String,
    /// Paths that are volumes.
    pub volumes: Vec<String>,
    /// True when it was made by `touchstone images build`.
    pub ours: bool,
}

/// Identity of an attempt, and of everything that is made for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The experiment.
    pub experiment: String,
    /// The scenario's id.
    pub scenario: String,
    /// The job.
    pub job: Uuid,
    /// Number of the attempt, from 1.
    pub attempt: u32,
}

impl Identity {
    /// The name of the attempt's sandbox.
    #[must_use]
    pub fn name(&self) -> String {
        format!("ts-{}-{}", self.job, self.attempt)
    }
}

/// A sandbox to make.
#[derive(Debug, Clone)]
pub struct SandboxRequest {
    /// Identity of the attempt that it is for.
    pub identity: Identity,
    /// Image that it is made from.
    pub image: Image,
    /// Resources that it may use.
    pub limits: Limits,
    /// Names of its services, and the addresses on its loopback that they lead to: once it is kept and nobody serves names
    /// any more, they are in its `/etc/hosts`.
    pub hosts: Vec<(String, Ipv4Addr)>,
    /// Address of the name server, on its loopback; `None` when there is none.
    pub name_server: Option<Ipv4Addr>,
    /// True when everything but the workspace, `/tmp` and `/run` is read-only.
    pub read_only: bool,
    /// True when the agent has tools, and so the program `touchstone-tool` that calls them.
    pub has_tools: bool,
}

/// Resources that a sandbox may use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Processor cores.
    pub cpus: f64,
    /// Memory in bytes, besides the workspace.
    pub memory: u64,
    /// The size of the workspace in bytes.
    pub disk: u64,
    /// Processes and threads.
    pub pids: i64,
}

/// A service to start.
#[derive(Debug, Clone)]
pub struct ServiceRequest {
    /// Its name.
    pub name: String,
    /// Image that it is made from.
    pub image: Image,
    /// Replaces the image's command.
    pub command: Option<Vec<String>>,
    /// Its environment, besides the image's.
    pub environment: BTreeMap<String, String>,
    /// True when it gets a network of its own, because another service wants one of its ports.
    pub own_network: bool,
    /// True when it may be started again, and must find its data then. It has a network of its own.
    pub restarts: bool,
    /// A script that is found before these programs of the image, under their names.
    pub shim: Option<Shim>,
}

/// A script that is found before programs of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shim {
    /// The programs.
    pub programs: &'static [&'static str],
    /// The script, which starts the program that it is named like. Its own folder is [`Shim::FOLDER`].
    pub script: &'static str,
}

impl Shim {
    /// The folder that is looked into first.
    pub const FOLDER: &'static str = "/usr/local/sbin";
}

/// Reason why a doorkeeper is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostMortem {
    /// The end of its box.
    pub end: End,
    /// Description for people.
    pub description: String,
}

/// The end of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The kernel ended its PID 1 because its memory was used up.
    OutOfMemory,
    /// Its PID 1 ended in another way.
    Ended,
    /// It did not end. When its doorkeeper is silent all the same, something that the agent left keeps it from
    /// answering.
    Running,
    /// Somebody outside ended, stopped or removed it, or nobody can tell: nothing that an agent can do.
    Unknown,
}

/// The paths of an image that were changed since a sandbox was made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImageChanges {
    /// The paths. Where the number of one differs between two looks, it was changed between them; 0 says nothing.
    pub paths: BTreeMap<Vec<u8>, i64>,
    /// True when there were more than are looked at.
    pub incomplete: bool,
    /// True when the number of a path changes with every write to it, also with one through a shared mapping.
    pub times_tell: bool,
}

/// Reach of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Leftovers of dead owners, but no sandbox that is kept.
    Gone,
    /// The same, and every sandbox that is kept, whether its owner lives or not.
    GoneAndKept,
}

/// Room on the disk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Space {
    /// Bytes that are free where there are the fewest: where images and containers are, or in the data directory.
    pub free: u64,
    /// The names of images that were removed for it.
    pub evicted: Vec<String>,
}

/// Counts of what a sweep removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Containers.
    pub containers: usize,
    /// Volumes.
    pub volumes: usize,
    /// Folders.
    pub folders: usize,
    /// Sandboxes that were spared because they are kept for a person to look into.
    pub kept: usize,
}

/// Description of a backend for the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BackendRecord {
    /// Its name.
    pub name: String,
    /// Runtime that starts its boxes, such as `runc`.
    pub runtime: String,
}
