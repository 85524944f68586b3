//! Inventory of everything that is made for one sandbox, noted before it is made, so that it can be removed whatever
//! happens.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bollard::errors::Error;
use bollard::models::ContainerUpdateBody;
use bollard::query_parameters::{RemoveContainerOptionsBuilder, RemoveVolumeOptionsBuilder};
use futures::future::join_all;
use tokio::sync::{RwLock, RwLockReadGuard};

use super::DockerBackend;
use super::call::{call, call_if_there};
use crate::backend::Swept;
use crate::door::Door;
use crate::error::EngineError;

/// Number of tries of a removal while the engine is already busy with it.
const TRIES: u32 = 20;
/// The pause between these tries.
const PAUSE: Duration = Duration::from_millis(100);

/// Inventory of everything that was made for one sandbox.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    made: Mutex<Made>,
    /// The doorkeepers of networks beside the sandbox.
    doors: Mutex<Vec<Door>>,
    /// Inventories of sandboxes beside this one, which end with it at the latest.
    children: Mutex<Vec<Arc<Inventory>>>,
    /// Held while something is being made; removing waits for it, because what is not there yet cannot be removed.
    making: RwLock<()>,
    /// True once everything was removed, so that nothing may be made any more.
    closed: AtomicBool,
}

#[derive(Debug, Clone, Default)]
struct Made {
    containers: Vec<String>,
    volumes: Vec<String>,
    folders: Vec<PathBuf>,
}

impl Inventory {
    fn made(&self) -> MutexGuard<'_, Made> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to make something: removing waits until the guard is dropped. Refused once everything was removed.
    pub(super) async fn begin(&self) -> Result<RwLockReadGuard<'_, ()>, EngineError> {
        let making = self.making.read().await;
        if self.closed.load(Ordering::Acquire) { Err(EngineError::Cancelled) } else { Ok(making) }
    }

    /// Notes a container that is about to be made.
    pub(super) fn note_container(&self, name: String) {
        self.made().containers.push(name);
    }

    /// Notes a volume that is about to be made.
    pub(super) fn note_volume(&self, name: String) {
        self.made().volumes.push(name);
    }

    /// Notes a folder that is about to be made.
    pub(super) fn note_folder(&self, path: PathBuf) {
        self.made().folders.push(path);
    }

    /// Notes the doorkeeper of a network beside the sandbox.
    pub(super) fn note_door(&self, door: Door) {
        self.doors.lock().unwrap_or_else(PoisonError::into_inner).push(door);
    }

    /// The doorkeepers of networks beside the sandbox.
    pub(super) fn doors(&self) -> Vec<Door> {
        self.doors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the inventory of another sandbox that ends with this one at the latest.
    pub(super) fn child(&self) -> Arc<Self> {
        let child = Arc::new(Self::default());
        self.children.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&child));
        child
    }

    /// Returns true if there is nothing to remove.
    pub(super) fn is_empty(&self) -> bool {
        let made = self.made();
        made.containers.is_empty() && made.volumes.is_empty() && made.folders.is_empty()
    }

    /// Removes everything, that of the children included. What could not be removed stays noted, so this can be called
    /// again.
    pub(super) async fn remove(&self, backend: &DockerBackend) -> Result<(), EngineError> {
        let _alone = self.making.write().await;
        self.closed.store(true, Ordering::Release);
        let children = self.children.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for child in children {
            child.remove_own(backend).await?;
        }
        self.remove_own(backend).await
    }

    /// Hands everything over with `handed_over`: nothing more is made, and nothing is removed here any more. Everything
    /// made for children is removed first. When it fails, everything stays noted.
    pub(super) async fn give_away(
        &self,
        backend: &DockerBackend,
        handed_over: impl Future<Output = Result<(), EngineError>>,
    ) -> Result<(), EngineError> {
        let _alone = self.making.write().await;
        if self.closed.swap(true, Ordering::AcqRel) {
            return Err(EngineError::Cancelled);
        }
        let children = self.children.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for child in children {
            child.remove_own(backend).await?;
        }
        handed_over.await?;
        *self.made() = Made::default();
        Ok(())
    }

    async fn remove_own(&self, backend: &DockerBackend) -> Result<(), EngineError> {
        if self.is_empty() {
            return Ok(());
        }
        let _slot = backend.0.destroying.acquire().await.map_err(|_| EngineError::Cancelled)?;
        let Made { containers, volumes, folders } = self.made().clone();
        // Those made last first: a container cannot outlive the one whose network it is in.
        let (first, others) = containers.split_at(containers.len().min(1));
        let mut results = Vec::new();
        for group in [others, first] {
            results.extend(join_all(group.iter().map(|name| self.remove_container(backend, name))).await);
        }
        for name in &volumes {
            let removed = backend.remove_volume(name).await;
            results.push(removed.map(|()| self.made().volumes.retain(|noted| noted != name)));
        }
        for path in &folders {
            results.push(remove_folder(path).map(|()| self.made().folders.retain(|noted| noted != path)));
        }
        results.into_iter().collect()
    }

    async fn remove_container(&self, backend: &DockerBackend, name: &str) -> Result<(), EngineError> {
        backend.remove_container(name).await?;
        self.forget_container(name);
        Ok(())
    }

    /// Strikes a container off: it is gone, or was never ours.
    pub(super) fn forget_container(&self, name: &str) {
        self.made().containers.retain(|noted| noted != name);
    }
}

/// Inventories that could not be removed, because the engine did not answer. The next sweep tries again.
#[derive(Debug, Default)]
pub(super) struct Undone(Mutex<Vec<Arc<Inventory>>>);

impl Undone {
    /// Notes what is left.
    pub(super) fn note(&self, inventory: &Arc<Inventory>) {
        self.list().push(Arc::clone(inventory));
    }

    /// Tries once more; how many containers and volumes are gone with that. What is still left stays noted.
    pub(super) async fn remove(&self, backend: &DockerBackend) -> (Swept, Result<(), EngineError>) {
        let all = std::mem::take(&mut *self.list());
        let (mut swept, mut problem) = (Swept::default(), Ok(()));
        for inventory in all {
            let Made { containers, volumes, folders } = inventory.made().clone();
            match inventory.remove(backend).await {
                Ok(()) => {
                    swept.containers += containers.len();
                    swept.volumes += volumes.len();
                    swept.folders += folders.len();
                }
                Err(error) => {
                    self.note(&inventory);
                    problem = problem.and(Err(error));
                }
            }
        }
        (swept, problem)
    }

    fn list(&self) -> MutexGuard<'_, Vec<Arc<Inventory>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn remove_folder(path: &PathBuf) -> Result<(), EngineError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(EngineError::files(format!("remove `{}`", path.display()))),
    }
}

/// Tries a removal again while the engine is busy with the thing: another caller removes it (409), or its file system is
/// still in use for a moment (500).
async fn remove_patiently<F: Future<Output = Result<(), Error>>>(
    operation: &str,
    remove: impl Fn() -> F,
) -> Result<(), EngineError> {
    for tries in 1..=TRIES {
        let removing = async {
            match remove().await {
                Err(Error::DockerResponseServerError { status_code: 409 | 500, .. }) if tries < TRIES => Ok(false),
                other => other.map(|()| true),
            }
        };
        match call_if_there(operation, removing).await? {
            Some(false) => tokio::time::sleep(PAUSE).await,
            _ => return Ok(()),
        }
    }
    Ok(())
}

impl DockerBackend {
    /// Removes a container with its volumes; it is fine when there is none.
    pub(super) async fn remove_container(&self, name: &str) -> Result<(), EngineError> {
        let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
        let remove = || self.0.docker.remove_container(name, Some(options.clone()));
        remove_patiently(&format!("remove the container `{name}`"), remove).await
    }

    /// Removes a volume; it is fine when there is none.
    pub(super) async fn remove_volume(&self, name: &str) -> Result<(), EngineError> {
        let options = RemoveVolumeOptionsBuilder::default().force(true).build();
        let remove = || self.0.docker.remove_volume(name, Some(options.clone()));
        remove_patiently(&format!("remove the volume `{name}`"), remove).await
    }

    /// Changes how much memory a running container may use.
    pub(super) async fn set_memory(&self, name: &str, bytes: u64) -> Result<(), EngineError> {
        let memory = i64::try_from(bytes).ok();
        let limits = ContainerUpdateBody { memory, memory_swap: memory, ..ContainerUpdateBody::default() };
        call("give a container more memory", self.0.docker.update_container(name, limits)).await
    }

    /// Starts a container that was made.
    pub(super) async fn start_container(&self, name: &str) -> Result<(), EngineError> {
        let operation = format!("start the container `{name}`");
        call(&operation, self.0.docker.start_container(name, None)).await
    }
}
