//! A sandbox: a box with the workspace in memory.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use doorkeeper::plan::FIRST_OPEN;
use tokio::sync::{Mutex, RwLock, RwLockReadGuard};

use super::LocalBackend;
use super::boxes::{BoxRequest, Made};
use super::service::Prepared;
use crate::backend::names::write_hosts;
use crate::backend::{
    End, ImageChanges, Limits, PostMortem, RunningService, Sandbox, SandboxRequest, ServiceRequest, WORKSPACE, layer,
};
use crate::door::Door;
use crate::error::EngineError;
use crate::kept::{self, Entrance, Visitor};
use crate::memory_events::OutOfMemory;

/// Time limit until an end is known.
const SETTLING: Duration = Duration::from_secs(2);
/// Memory that a sandbox gets besides its limit once the agent has gone.
const ROOM: u64 = 256 << 20;
/// The exit code of a doorkeeper that was killed, which nobody inside can do but for want of memory.
const KILLED: i32 = 137;
/// The exit code of one that was asked to end.
const TERMINATED: i32 = 143;
/// The file that says which process watches a sandbox that is kept.
pub(super) const WATCHER: &str = "watcher";

/// A sandbox.
#[derive(Debug)]
pub(super) struct LocalSandbox {
    backend: LocalBackend,
    request: SandboxRequest,
    name: String,
    door: Door,
    made: Arc<Made>,
    fresh: AtomicU32,
    family: Arc<Family>,
}

/// Boxes that were made beside a sandbox, and end with it at the latest.
#[derive(Debug, Default)]
struct Family {
    members: Mutex<Vec<Arc<Made>>>,
    /// Held while something is being made; removing waits for it, because what is not there yet cannot be removed.
    making: RwLock<()>,
    /// True once everything was removed, so that nothing may be made any more.
    closed: AtomicBool,
}

impl Family {
    /// Begins to make something: removing waits until the guard is dropped. Refused once everything was removed.
    async fn begin(&self) -> Result<RwLockReadGuard<'_, ()>, EngineError> {
        let making = self.making.read().await;
        if self.closed.load(Ordering::Acquire) { Err(EngineError::Cancelled) } else { Ok(making) }
    }

    /// Removes all of them; nothing more is made.
    async fn remove(&self) -> Result<(), EngineError> {
        let _alone = self.making.write().await;
        self.closed.store(true, Ordering::Release);
        for member in self.members.lock().await.iter() {
            member.remove().await?;
        }
        Ok(())
    }
}

impl LocalSandbox {
    /// Makes one, with a copy of the workspace of another if that is wanted.
    pub(super) async fn make(
        backend: &LocalBackend,
        request: SandboxRequest,
        name: String,
        source: Option<String>,
    ) -> Result<Self, EngineError> {
        let (name_server, read_only) = (request.name_server, request.read_only);
        let userland = Some(backend.userland_of(&request.image)?);
        let steps = if request.has_tools { vec![backend.tool_program()] } else { Vec::new() };
        let wanted = BoxRequest { name_server, read_only, source, userland, steps, ..BoxRequest::of(request.limits) };
        let made = backend.open(&name, &wanted).await?;
        let (backend, door, family) = (backend.clone(), made.door.clone(), Arc::default());
        Ok(Self { backend, request, name, door, made, fresh: AtomicU32::new(0), family })
    }

    async fn let_stay(&self, visitor: &Visitor) -> Result<(), EngineError> {
        let operation = || EngineError::door(format!("keep the sandbox `{}`", self.name));
        self.door.kill_all().await.map_err(operation())?;
        let data_dir = self.backend.0.owner.data_dir();
        let marking = || EngineError::files(format!("mark the sandbox `{}` as kept", self.name));
        write_hosts(&self.made.folder, &self.request.hosts).map_err(marking())?;
        let watcher = format!("{} {}", self.made.watcher.pid(), self.made.watcher.first());
        fs::write(self.made.folder.join(WATCHER), watcher).map_err(marking())?;
        let (door, doorkeeper) = (self.made.folder.join("door"), self.door.peer());
        let entrance = Entrance { door, doorkeeper, visitor: visitor.clone() };
        kept::mark(data_dir, &self.name, &entrance).map_err(marking())?;
        let stayed = self.door.stay().await;
        if stayed.is_err() {
            kept::unmark(data_dir, &self.name).map_err(marking())?;
        }
        stayed.map_err(operation())
    }
}

#[async_trait]
impl Sandbox for LocalSandbox {
    fn name(&self) -> &str {
        &self.name
    }

    fn door(&self) -> &Door {
        &self.door
    }

    fn has_other_users(&self) -> bool {
        self.backend.0.rights.has_many_users()
    }

    async fn start_service(&self, service: ServiceRequest) -> Result<Box<dyn RunningService>, EngineError> {
        let name = format!("{}-{}", self.name, service.name);
        let beside = (!service.own_network).then(|| (self.made.watcher.beside(), self.door.clone()));
        let (backend, family) = (self.backend.clone(), Arc::clone(&self.family));
        // In a task of its own, so that nothing is half made when the caller stops waiting.
        let started = tokio::spawn(async move {
            let _making = family.begin().await?;
            let prepared = Prepared::of(&backend, service).await?;
            let (beside, door) = beside.unzip();
            let made = prepared.open(&backend, &name, beside).await?;
            family.members.lock().await.push(Arc::clone(&made));
            prepared.start(made, door).await
        });
        let service = started.await.map_err(|_| EngineError::Cancelled)??;
        Ok(Box::new(service))
    }

    async fn fresh(&self) -> Result<Box<dyn Sandbox>, EngineError> {
        let number = self.fresh.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}_fresh-{number}", self.name);
        let request = SandboxRequest { hosts: Vec::new(), name_server: None, ..self.request.clone() };
        let source = self.made.watcher.workspace().map(|folder| folder.display().to_string());
        let (backend, family) = (self.backend.clone(), Arc::clone(&self.family));
        let made = tokio::spawn(async move {
            let _making = family.begin().await?;
            let fresh = Self::make(&backend, request, name, source).await?;
            family.members.lock().await.push(Arc::clone(&fresh.made));
            Ok::<_, EngineError>(fresh)
        });
        let fresh = made.await.map_err(|_| EngineError::Cancelled)??;
        if let Err(cause) = fresh.door.copy(&format!("/proc/self/fd/{FIRST_OPEN}"), WORKSPACE).await {
            fresh.destroy().await?;
            return Err(EngineError::Door { operation: "copy the workspace into a new sandbox".to_owned(), cause });
        }
        Ok(Box::new(fresh))
    }

    async fn image_changes(&self) -> Result<ImageChanges, EngineError> {
        let mut changes = ImageChanges { times_tell: true, ..ImageChanges::default() };
        for (target, layer) in self.layers().await? {
            let below = target.trim_end_matches('/').as_bytes();
            changes.paths.extend(layer.changes.into_iter().map(|(path, number)| ([below, &path].concat(), number)));
            changes.incomplete |= layer.incomplete;
            changes.times_tell &= layer.times_tell;
        }
        Ok(changes)
    }

    async fn written_over_image(&self, _thorough: bool) -> Result<Option<u64>, EngineError> {
        Ok(Some(self.layers().await?.iter().fold(0, |sum, (_, layer)| layer.size().saturating_add(sum))))
    }

    async fn make_room(&self) -> Result<(), EngineError> {
        let bytes = memory_afterwards(&self.request.limits);
        self.made.group.limit_memory(bytes).map_err(EngineError::files("give a sandbox more memory"))
    }

    async fn post_mortem(&self) -> PostMortem {
        let Some(ended) = self.made.watcher.ended(SETTLING).await else {
            return PostMortem { end: End::Running, description: "the sandbox is running".to_owned() };
        };
        let (end, mut description) = match (ended.code, self.made.group.out_of_memory()) {
            (Some(KILLED), Some(OutOfMemory::Own)) => {
                (End::OutOfMemory, "the sandbox ended because its memory was used up".to_owned())
            }
            (Some(KILLED), Some(OutOfMemory::Outside)) => {
                (End::Unknown, "the sandbox ended because there was no memory outside of it".to_owned())
            }
            (Some(KILLED | TERMINATED), _) => (End::Unknown, "somebody outside ended the sandbox".to_owned()),
            (Some(code), _) => (End::Ended, format!("the sandbox ended with exit code {code}")),
            (None, _) => (End::Unknown, "the sandbox is gone".to_owned()),
        };
        if !ended.said.is_empty() {
            description.push_str(&format!("; it printed: {}", ended.said));
        }
        PostMortem { end, description }
    }

    fn scratch(&self) -> PathBuf {
        self.backend.0.owner.scratch()
    }

    fn keeps_services(&self) -> bool {
        false
    }

    async fn keep(&self, visitor: &Visitor) -> Result<(), EngineError> {
        self.let_stay(visitor).await?;
        self.made.gone.store(true, Ordering::Release);
        Ok(())
    }

    async fn destroy(&self) -> Result<(), EngineError> {
        self.door.shut();
        let (family, own) = tokio::join!(self.family.remove(), self.made.remove());
        family.and(own)
    }
}

impl LocalSandbox {
    /// Reads the changes over each layer.
    async fn layers(&self) -> Result<Vec<(String, layer::Layer)>, EngineError> {
        let folders: Vec<_> = self.made.watcher.layers().map(|(target, folder)| (target.to_owned(), folder)).collect();
        let read = tokio::task::spawn_blocking(move || {
            let read = |(target, folder): (String, PathBuf)| layer::read(&folder).map(|layer| (target, layer));
            folders.into_iter().map(read).collect::<io::Result<Vec<_>>>()
        });
        read.await.map_err(|_| EngineError::Cancelled)?.map_err(EngineError::files("look at what a sandbox wrote"))
    }
}

impl Drop for LocalSandbox {
    fn drop(&mut self) {
        if self.made.gone.load(Ordering::Acquire) {
            return;
        }
        self.door.shut();
        // Nobody waits for it any more, as when a preparation was cancelled.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (family, made) = (Arc::clone(&self.family), Arc::clone(&self.made));
            runtime.spawn(async move {
                let _ = family.remove().await;
                let _ = made.remove().await;
            });
        }
    }
}

/// Returns the memory limit of a sandbox once the agent has gone: what it wrote is memory, too, in the workspace and
/// over its layers, and of the latter there can be more than it was allowed to write.
fn memory_afterwards(limits: &Limits) -> u64 {
    limits.memory.saturating_add(limits.disk.saturating_mul(3)).saturating_add(ROOM)
}
