//! Boxes: how one is planned, made by a doorkeeper, and removed. Sandboxes, services and what databases begin with are in one.

use std::fs::{self, DirBuilder};
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use doorkeeper::plan::{Beside, Ceilings, Plan, Step};
use tokio::process::Child;
use tokio::sync::Mutex;

use super::LocalBackend;
use super::cgroups::Group;
use super::process::{BoxError, Watcher, give};
use super::userland::Userland;
use crate::backend::names::{HOSTNAME, NAME_FILES, write_name_files};
use crate::backend::{DOOR, DOORKEEPER, Limits, TOOL_PROGRAM, WORKSPACE};
use crate::door::{Door, DoorListener};
use crate::error::EngineError;

/// Timeout for a doorkeeper to connect.
const PATIENCE: Duration = Duration::from_secs(30);
/// Least space that may be written over layers: preparing a world may take some.
const LEAST_SPACE: u64 = 256 << 20;
/// Size of folders that only have mounts in them.
const SMALL: u64 = 1 << 20;

/// A box that was made, and has to be removed.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) door: Door,
    pub(super) watcher: Watcher,
    pub(super) group: Group,
    pub(super) folder: PathBuf,
    /// Held while it is being removed: who else wants that waits until it is done.
    removing: Mutex<()>,
    pub(super) gone: AtomicBool,
}

impl Made {
    /// Waits for the end of the box, and removes what it had. Can be called again.
    pub(super) async fn remove(&self) -> Result<(), EngineError> {
        let _alone = self.removing.lock().await;
        if self.gone.load(Ordering::Acquire) {
            return Ok(());
        }
        self.door.shut();
        self.watcher.end().await;
        let group = self.group.clone();
        let removed = tokio::task::spawn_blocking(move || group.remove()).await.unwrap_or(Ok(()));
        removed.map_err(EngineError::files("remove a control group"))?;
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(EngineError::files(format!("remove `{}`", self.folder.display()))(error))
            }
            _ => {
                self.gone.store(true, Ordering::Release);
                Ok(())
            }
        }
    }
}

impl LocalBackend {
    /// Makes a box with nothing in it, to see whether that works here.
    pub(super) async fn try_out(&self) -> Result<(), EngineError> {
        let limits = Limits { cpus: 1.0, memory: 64 << 20, disk: 1 << 20, pids: 16 };
        let name = format!("trial-{}", crate::entropy::hex(8));
        let trial = self.open(&name, &BoxRequest::of(limits)).await;
        let made = trial.map_err(|error| {
            let reason = match error {
                EngineError::NoBox { reason, .. } => reason,
                other => other.to_string(),
            };
            EngineError::UnfitEngine(format!("this machine makes no sandboxes without Docker: {reason}"))
        })?;
        made.remove().await
    }

    /// Makes a box, and waits for its doorkeeper. Whatever was made is removed again when that fails.
    pub(super) async fn open(&self, name: &str, wanted: &BoxRequest) -> Result<Arc<Made>, EngineError> {
        let _slot = self.0.creating.acquire().await.map_err(|_| EngineError::Cancelled)?;
        let folder = self.0.owner.doors().join(name);
        let listener =
            listen(&folder, wanted).map_err(EngineError::files(format!("open a door in `{}`", folder.display())));
        let listener = match listener {
            Ok(listener) => listener,
            Err(error) => {
                let _ = fs::remove_dir_all(&folder);
                return Err(error);
            }
        };
        let opened = match self.group(name, wanted) {
            Ok((waiting, group)) => {
                let started = self.start(&folder, wanted, listener, waiting, &group).await;
                started.map(|(door, watcher)| (door, watcher, group))
            }
            Err(error) => Err(EngineError::files("make a control group")(error)),
        };
        match opened {
            Ok((door, watcher, group)) => {
                let (removing, gone) = (Mutex::default(), AtomicBool::new(false));
                Ok(Arc::new(Made { door, watcher, group, folder, removing, gone }))
            }
            Err(error) => {
                let _ = fs::remove_dir_all(&folder);
                Err(error)
            }
        }
    }

    /// The control groups of a box, and the process that waits in them to make it, if there is one.
    fn group(&self, name: &str, wanted: &BoxRequest) -> io::Result<(Option<Child>, Group)> {
        let spare = if wanted.is_plain() { self.0.spares.take() } else { None };
        let (waiting, group) = match spare {
            Some(spare) => spare.into_parts(),
            None => (None, self.0.cgroups.make(name)?),
        };
        // Workspace and layers are memory, besides what programs use.
        let memory = wanted.limits.memory.saturating_add(wanted.limits.disk.saturating_mul(2));
        if let Err(error) = group.limit(wanted.limits, memory) {
            drop(waiting);
            let _ = group.remove();
            return Err(error);
        }
        Ok((waiting, group))
    }

    async fn start(
        &self,
        folder: &Path,
        wanted: &BoxRequest,
        listener: DoorListener,
        waiting: Option<Child>,
        group: &Group,
    ) -> Result<(Door, Watcher), EngineError> {
        let plan = self.plan(folder, wanted, group);
        let made = match waiting {
            Some(child) => match tell(child, &plan).await {
                // It may have ended in the meantime, and for a reason that is no longer one.
                Err(_) => self.make(&plan).await,
                made => made,
            },
            None => self.make(&plan).await,
        };
        if wanted.is_plain() {
            self.replenish();
        }
        let opened = match made {
            // It calls right after the box was made, and can do so before anybody answers.
            Ok(watcher) => match listener.accept(PATIENCE).await {
                Ok(door) => Ok((door, watcher)),
                Err(cause) => {
                    watcher.end().await;
                    Err(BoxError::from(cause))
                }
            },
            Err(reason) => Err(reason),
        };
        if opened.is_err() {
            let _ = group.remove();
        }
        opened.map_err(|error| EngineError::NoBox { operation: "make a sandbox".to_owned(), reason: error.to_string() })
    }

    async fn make(&self, plan: &Plan) -> Result<Watcher, BoxError> {
        let child = Watcher::start(&self.0.doorkeeper, plan).await?;
        Watcher::hear(child, plan).await
    }

    /// Puts the doorkeeper's program into a box once more, as `touchstone-tool`.
    pub(super) fn tool_program(&self) -> Step {
        let source = self.0.doorkeeper.display().to_string();
        Step::Bind { target: TOOL_PROGRAM.to_owned(), source, writable: false }
    }

    fn plan(&self, folder: &Path, wanted: &BoxRequest, group: &Group) -> Plan {
        let text = |path: &Path| path.display().to_string();
        let memory = |target: &str, bytes, mode| Step::Memory { target: target.to_owned(), bytes, mode };
        let bind = |target: String, source: PathBuf| Step::Bind { target, source: text(&source), writable: false };
        let disk = wanted.limits.disk;
        let mut steps = wanted.userland.as_ref().unwrap_or(&self.0.userland).steps();
        let layers: Vec<String> = steps
            .iter()
            .filter_map(|step| match step {
                Step::Layer { target, .. } => Some(target.clone()),
                _ => None,
            })
            .collect();
        for target in ["/proc", "/dev", "/tmp", "/run", WORKSPACE, DOOR] {
            let mode = if target == "/tmp" { 0o1777 } else { 0o755 };
            steps.push(Step::Folder { target: target.to_owned(), mode });
        }
        steps.extend([Step::Processes, Step::Devices]);
        if wanted.workspace {
            steps.push(memory(WORKSPACE, disk, 0o777));
        }
        steps.push(bind(DOORKEEPER.to_owned(), self.0.doorkeeper.clone()));
        steps.push(bind(DOOR.to_owned(), folder.join("door")));
        // It sees its own control groups, and no others.
        steps.push(memory("/sys", SMALL, 0o555));
        steps.extend(group.places().map(|(place, folder)| bind(place, folder)));
        steps.push(Step::Seal { target: "/sys".to_owned() });
        steps.extend(NAME_FILES.map(|name| bind(format!("/etc/{name}"), folder.join(name))));
        steps.extend(wanted.steps.iter().cloned());
        if wanted.read_only {
            steps.extend(layers.into_iter().map(|target| Step::Seal { target }));
            steps.extend([memory("/tmp", disk, 0o1777), memory("/run", disk, 0o755)]);
        }
        let (users, groups) = match wanted.user {
            Some(number) => self.0.rights.of_service(number, wanted.beside.is_some()),
            None => (vec![self.0.rights.users()], vec![self.0.rights.groups()]),
        };
        Plan {
            stage: text(&folder.join("stage")),
            users,
            groups,
            beside: wanted.beside.clone(),
            cgroups: group.folders(),
            ceilings: (!self.0.cgroups.is_there()).then(|| ceilings(wanted.limits)),
            host_name: HOSTNAME.to_owned(),
            space: disk.saturating_mul(4).max(LEAST_SPACE),
            steps,
            open: wanted.source.iter().cloned().collect(),
            socket: format!("{DOOR}/socket"),
            watched: if wanted.workspace { WORKSPACE.to_owned() } else { String::new() },
        }
    }
}

/// Sends a plan to a process that waits for it.
async fn tell(mut waiting: Child, plan: &Plan) -> Result<Watcher, BoxError> {
    give(&mut waiting, &plan.encode()).await?;
    Watcher::hear(waiting, plan).await
}

/// Returns the limits that hold without control groups: memory of each process, number of processes, and number of
/// processors.
fn ceilings(limits: Limits) -> Ceilings {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few hundred cores")]
    let cores = limits.cpus.ceil() as usize;
    Ceilings { memory: limits.memory, processes: limits.pids.unsigned_abs(), cores }
}

/// A box to make.
#[derive(Debug, Clone)]
pub(super) struct BoxRequest {
    pub(super) limits: Limits,
    pub(super) name_server: Option<Ipv4Addr>,
    pub(super) read_only: bool,
    /// A folder that stays open, to copy from.
    pub(super) source: Option<String>,
    /// True when it has a workspace.
    pub(super) workspace: bool,
    /// Userland that it is made from, when not the usual one.
    pub(super) userland: Option<Userland>,
    /// The user of a service, as whom its program runs.
    pub(super) user: Option<u32>,
    /// A sandbox in whose network it is.
    pub(super) beside: Option<Beside>,
    /// Additional steps that put its root together.
    pub(super) steps: Vec<Step>,
}

impl BoxRequest {
    /// Returns true if the box is like any other at its beginning, so that one of the warm pool fits.
    fn is_plain(&self) -> bool {
        self.source.is_none() && self.user.is_none() && self.beside.is_none()
    }

    /// A sandbox with these limits, and nothing special about it.
    pub(super) fn of(limits: Limits) -> Self {
        let (name_server, source, user, beside) = (None, None, None, None);
        let (userland, steps) = (None, Vec::new());
        Self { limits, name_server, read_only: false, source, workspace: true, userland, user, beside, steps }
    }
}

/// Makes the folder for a door, and listens in it.
fn listen(folder: &Path, wanted: &BoxRequest) -> io::Result<DoorListener> {
    DirBuilder::new().mode(0o700).recursive(true).create(folder)?;
    DirBuilder::new().mode(0o700).create(folder.join("stage"))?;
    write_name_files(folder, wanted.name_server)?;
    DoorListener::open(folder.join("door"))
}
