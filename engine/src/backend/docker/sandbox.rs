//! A sandbox as a container, its workspace as a volume in memory, and what is beside it.

use std::fs::DirBuilder;
use std::net::Ipv4Addr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bollard::errors::Error;
use bollard::models::ContainerCreateBody;
use bollard::query_parameters::CreateContainerOptionsBuilder;
use doorkeeper::protocol::Failure;
use futures::future::try_join_all;
use tokio::sync::oneshot;

use super::DockerBackend;
use super::call::{call, call_if_there};
use super::container::{DoorkeeperBox, Labels};
use super::inventory::Inventory;
use super::label::labels;
use super::service::{DockerService, Place};
use crate::backend::names::{write_hosts, write_name_files};
use crate::backend::{
    End, HOLDER, Image, ImageChanges, Limits, PostMortem, RunningService, SOURCE, Sandbox, SandboxRequest,
    ServiceRequest, WORKSPACE,
};
use crate::door::{Door, DoorError, DoorListener};
use crate::error::EngineError;
use crate::kept::{self, Entrance, Visitor};

/// Timeout for a doorkeeper to connect once its container was started.
const PATIENCE: Duration = Duration::from_secs(30);
/// Interval of looks at a container whose doorkeeper has not connected yet.
const GLANCE: Duration = Duration::from_millis(500);
/// The pause between two looks at a container that is about to end.
const SOON: Duration = Duration::from_millis(20);
/// Memory that a sandbox gets besides its limit once the agent has gone.
const ROOM: u64 = 256 * 1024 * 1024;

/// A sandbox as a container.
#[derive(Debug)]
pub(super) struct DockerSandbox {
    backend: DockerBackend,
    request: SandboxRequest,
    name: String,
    door: Door,
    inventory: Arc<Inventory>,
    fresh: AtomicU32,
}

/// A container with a doorkeeper that is to be made.
struct Plan<'a> {
    name: &'a str,
    kind: &'a str,
    image: &'a Image,
    limits: Limits,
    name_server: Option<Ipv4Addr>,
    workspace: bool,
    source: Option<String>,
    read_only: bool,
    kept_volumes: &'a [String],
}

impl DockerBackend {
    /// Makes a sandbox; whatever was made is removed again when that fails.
    pub(super) async fn make(&self, request: SandboxRequest) -> Result<DockerSandbox, EngineError> {
        let name = request.identity.name();
        self.make_named(request, name, None, Arc::default()).await
    }

    async fn make_named(
        &self,
        request: SandboxRequest,
        name: String,
        source: Option<String>,
        inventory: Arc<Inventory>,
    ) -> Result<DockerSandbox, EngineError> {
        let plan = Plan {
            name: &name,
            kind: "sandbox",
            image: &request.image,
            limits: request.limits,
            name_server: request.name_server,
            workspace: true,
            source,
            read_only: request.read_only,
            kept_volumes: &[],
        };
        let opened = self.open_box(&request, plan, &inventory).await;
        match opened {
            Ok(door) => {
                let backend = self.clone();
                Ok(DockerSandbox { backend, request, name, door, inventory, fresh: AtomicU32::new(0) })
            }
            Err(error) => {
                if inventory.remove(self).await.is_err() {
                    self.0.undone.note(&inventory);
                }
                Err(error)
            }
        }
    }

    /// Makes a container with a doorkeeper in it, starts it, and waits for the doorkeeper.
    async fn open_box(
        &self,
        request: &SandboxRequest,
        plan: Plan<'_>,
        inventory: &Inventory,
    ) -> Result<Door, EngineError> {
        let _slot = self.0.creating.acquire().await.map_err(|_| EngineError::Cancelled)?;
        let listener = self.listen(&plan, inventory)?;
        let volume = format!("{}-workspace", plan.name);
        let body = DoorkeeperBox {
            image: plan.image,
            labels: self.labels(plan.kind, request),
            limits: plan.limits,
            doorkeeper: &self.0.doorkeeper,
            door: listener.folder(),
            workspace: plan.workspace.then(|| (volume.as_str(), self.labels("workspace", request))),
            kept_volumes: (plan.kept_volumes, self.labels("volume", request)),
            source: plan.source.as_deref(),
            read_only: plan.read_only,
            has_tools: plan.workspace && request.has_tools,
            runtime: &self.0.runtime,
        };
        if plan.workspace {
            inventory.note_volume(volume.clone());
        }
        self.create_container(plan.name, body.body(), inventory).await?;
        self.start_container(plan.name).await?;
        let accepted = tokio::select! {
            accepted = listener.accept(PATIENCE) => accepted.map_err(|cause| cause.to_string()),
            () = self.ended(plan.name) => Err("it ended".to_owned()),
        };
        match accepted {
            Ok(door) => Ok(door),
            Err(reason) => Err(EngineError::Docker {
                operation: format!("reach the doorkeeper of `{}`", plan.name),
                reason: format!("{reason}; {}", self.describe_end(plan.name).await.description),
            }),
        }
    }

    /// Waits until a container that was killed has ended.
    pub(super) async fn until_ended(&self, name: &str) -> Result<(), EngineError> {
        tokio::time::timeout(PATIENCE, self.ended_soon(name)).await.map_err(|_| EngineError::Docker {
            operation: format!("end the container `{name}`"),
            reason: "it goes on".to_owned(),
        })
    }

    async fn ended_soon(&self, name: &str) {
        while self.is_running(name).await {
            tokio::time::sleep(SOON).await;
        }
    }

    async fn is_running(&self, name: &str) -> bool {
        let inspected = call_if_there("look at a container", self.0.docker.inspect_container(name, None)).await;
        inspected.ok().flatten().and_then(|container| container.state?.running) == Some(true)
    }

    /// Returns once a container is not running any more.
    async fn ended(&self, name: &str) {
        loop {
            tokio::time::sleep(GLANCE).await;
            if !self.is_running(name).await {
                return;
            }
        }
    }

    /// Makes the folder for a container's door, and listens in it.
    fn listen(&self, plan: &Plan<'_>, inventory: &Inventory) -> Result<DoorListener, EngineError> {
        let folder = self.0.owner.doors().join(plan.name);
        let operation = || EngineError::files(format!("open a door in `{}`", folder.display()));
        inventory.note_folder(folder.clone());
        DirBuilder::new().mode(0o700).recursive(true).create(&folder).map_err(operation())?;
        write_name_files(&folder, plan.name_server).map_err(operation())?;
        DoorListener::open(folder.join("door")).map_err(operation())
    }

    /// Makes a container, after noting that it will be there.
    pub(super) async fn create_container(
        &self,
        name: &str,
        body: ContainerCreateBody,
        inventory: &Inventory,
    ) -> Result<(), EngineError> {
        let body = self.0.host_paths.translated(body)?;
        inventory.note_container(name.to_owned());
        let options = CreateContainerOptionsBuilder::default().name(name).build();
        let created = async {
            let created = self.0.docker.create_container(Some(options), body).await;
            if let Err(Error::DockerResponseServerError { status_code: 409, .. }) = &created {
                // The name is somebody else's, and so is what has it.
                inventory.forget_container(name);
            }
            created
        };
        call(&format!("create the container `{name}`"), created).await.map(|_| ())
    }

    /// The labels of something that is made for a sandbox.
    pub(super) fn labels(&self, kind: &str, request: &SandboxRequest) -> Labels {
        let owner = &self.0.owner;
        labels(kind, owner.data_dir().id(), owner.id(), &request.identity)
    }

    /// Returns the name of the OCI runtime that runs containers.
    pub(super) fn runtime_name(&self) -> &str {
        &self.0.runtime
    }
}

impl DockerSandbox {
    /// Starts a service; in a task of its own, so that nothing is half made when the caller stops waiting.
    async fn launch(
        backend: DockerBackend,
        sandbox: (SandboxRequest, String, Door, Arc<Inventory>),
        service: ServiceRequest,
    ) -> Result<DockerService, EngineError> {
        let (request, sandbox_name, door, inventory) = sandbox;
        let _making = inventory.begin().await?;
        let name = format!("{sandbox_name}-{}", service.name);
        let kept = |index: usize| format!("{name}-data-{index}");
        let volumes = if service.restarts { service.image.volumes.len() } else { 0 };
        let kept_volumes: Vec<_> = (0..volumes).map(kept).collect();
        kept_volumes.iter().for_each(|volume| inventory.note_volume(volume.clone()));
        let (network_of, door) = if service.own_network {
            let holder = format!("{sandbox_name}_net-{}", service.name);
            let plan = Plan {
                name: &holder,
                kind: "network",
                image: &request.image,
                limits: HOLDER,
                name_server: None,
                workspace: false,
                source: None,
                read_only: false,
                // A volume in memory lasts as long as somebody has it.
                kept_volumes: &kept_volumes,
            };
            let door = backend.open_box(&request, plan, &inventory).await?;
            inventory.note_door(door.clone());
            (holder, door)
        } else {
            (sandbox_name.clone(), door)
        };
        let place = Place { name, network_of, door, kept_volumes };
        DockerService::start(&backend, &request, place, service, &inventory).await
    }
}

impl DockerSandbox {
    /// Ends what runs in it, marks it as kept, and lets its doorkeepers stay.
    async fn let_stay(&self, visitor: &Visitor) -> Result<(), EngineError> {
        let operation = || EngineError::door(format!("keep the sandbox `{}`", self.name));
        self.door.kill_all().await.map_err(operation())?;
        let data_dir = self.backend.0.owner.data_dir();
        let marking = || EngineError::files(format!("mark the sandbox `{}` as kept", self.name));
        // Whoever served its names is about to go.
        let folder = self.backend.0.owner.doors().join(&self.name);
        write_hosts(&folder, &self.request.hosts).map_err(marking())?;
        let entrance = Entrance { door: folder.join("door"), doorkeeper: self.door.peer(), visitor: visitor.clone() };
        // Before its worker can have gone: from then on only the mark spares it.
        kept::mark(data_dir, &self.name, &entrance).map_err(marking())?;
        let doors = self.inventory.doors();
        let stayed = try_join_all(doors.iter().chain([&self.door]).map(Door::stay)).await;
        if stayed.is_err() {
            kept::unmark(data_dir, &self.name).map_err(marking())?;
        }
        stayed.map(|_| ()).map_err(operation())
    }
}

#[async_trait]
impl Sandbox for DockerSandbox {
    fn name(&self) -> &str {
        &self.name
    }

    fn door(&self) -> &Door {
        &self.door
    }

    async fn start_service(&self, service: ServiceRequest) -> Result<Box<dyn RunningService>, EngineError> {
        let (sender, receiver) = oneshot::channel();
        let sandbox = (self.request.clone(), self.name.clone(), self.door.clone(), Arc::clone(&self.inventory));
        let backend = self.backend.clone();
        tokio::spawn(async move {
            let _ = sender.send(Self::launch(backend, sandbox, service).await);
        });
        let started = receiver.await.map_err(|_| EngineError::Cancelled)?;
        started.map(|service| Box::new(service) as Box<dyn RunningService>)
    }

    async fn fresh(&self) -> Result<Box<dyn Sandbox>, EngineError> {
        let number = self.fresh.fetch_add(1, Ordering::Relaxed);
        // No service can have such a name.
        let name = format!("{}_fresh-{number}", self.name);
        let request = SandboxRequest { hosts: Vec::new(), name_server: None, ..self.request.clone() };
        let source = Some(format!("{}-workspace", self.name));
        let (backend, parent) = (self.backend.clone(), Arc::clone(&self.inventory));
        let (sender, receiver) = oneshot::channel();
        tokio::spawn(async move {
            let made = match parent.begin().await {
                Ok(_making) => backend.make_named(request, name, source, parent.child()).await,
                Err(error) => Err(error),
            };
            let _ = sender.send(made);
        });
        let fresh = receiver.await.map_err(|_| EngineError::Cancelled)??;
        if let Err(mut cause) = fresh.door.copy(SOURCE, WORKSPACE).await {
            if cause.is_closed() && fresh.post_mortem().await.end == End::OutOfMemory {
                let message = "it does not fit into the memory of a new sandbox".to_owned();
                cause = DoorError::Failed(Failure { errno: 0, message });
            }
            fresh.destroy().await?;
            return Err(EngineError::Door { operation: "copy the workspace into a new sandbox".to_owned(), cause });
        }
        Ok(Box::new(fresh))
    }

    async fn image_changes(&self) -> Result<ImageChanges, EngineError> {
        self.backend.layer_changes(&self.name).await
    }

    async fn written_over_image(&self, thorough: bool) -> Result<Option<u64>, EngineError> {
        self.backend.layer_bytes(&self.name, thorough).await
    }

    async fn make_room(&self) -> Result<(), EngineError> {
        let Limits { memory, disk, .. } = self.request.limits;
        self.backend.set_memory(&self.name, memory.saturating_add(disk).saturating_add(ROOM)).await
    }

    async fn post_mortem(&self) -> PostMortem {
        self.backend.describe_end(&self.name).await
    }

    fn scratch(&self) -> PathBuf {
        self.backend.0.owner.scratch()
    }

    fn keeps_services(&self) -> bool {
        true
    }

    async fn keep(&self, visitor: &Visitor) -> Result<(), EngineError> {
        self.inventory.give_away(&self.backend, self.let_stay(visitor)).await
    }

    async fn destroy(&self) -> Result<(), EngineError> {
        self.door.shut();
        let removed = self.inventory.remove(&self.backend).await;
        if removed.is_err() {
            self.backend.0.undone.note(&self.inventory);
        }
        removed
    }
}

impl Drop for DockerSandbox {
    fn drop(&mut self) {
        // One that was made beside another is removed with that one.
        if !self.inventory.is_empty() && Arc::strong_count(&self.inventory) == 1 {
            self.backend.0.undone.note(&self.inventory);
            tracing::error!(sandbox = %self.name, "the sandbox {} was not destroyed; the next sweep removes it", self.name);
        }
    }
}
