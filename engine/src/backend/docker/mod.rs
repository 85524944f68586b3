//! Sandboxes as Docker containers. The only folder that knows bollard.

mod bake;
mod baked_images;
mod bootstrapping;
pub mod build;
mod call;
mod container;
mod disk_space;
mod host_paths;
mod image;
mod inventory;
mod label;
mod layer;
mod post_mortem;
mod sandbox;
mod seccomp;
mod service;
pub mod socket;
mod sweep;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bollard::Docker;
use bollard::models::SystemInfo;
use scenario::spec::Spec;
use scenario::spec::sections::BackendName;
use tokio::sync::{Mutex, Semaphore, oneshot};
use tokio::time::Instant;

pub use image::Offer;

use super::{Backend, BackendRecord, Image, Reach, Sandbox, SandboxRequest, Space, Swept, fit};
use crate::doorkeeper_binary;
use crate::error::EngineError;
use crate::event::Events;
use crate::owner::Owner;
use call::call;
use host_paths::HostPaths;
use inventory::Undone;

/// Settings for using a Docker engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DockerSettings {
    /// OCI runtime that starts the containers: `runc` or `crun`; the engine's own choice without it.
    pub runtime: Option<String>,
    /// True when missing images are pulled.
    pub pull: bool,
    /// Number of sandboxes that are made at once. More than the machine has cores gains little: the engine itself is
    /// what is slow.
    pub creating: usize,
    /// Number of sandboxes that are removed at once.
    pub destroying: usize,
    /// True when changes over images are read from the engine's folder of the layer, as far as this user may. Otherwise
    /// the engine is asked, which takes longer and tells less.
    pub reads_layers: bool,
}

impl Default for DockerSettings {
    fn default() -> Self {
        Self { runtime: None, pull: true, creating: 4, destroying: 4, reads_layers: true }
    }
}

/// Timeout of the question whether an engine is available.
const PROMPT: Duration = Duration::from_secs(5);

/// Makes sandboxes with a Docker engine on this machine. Clones share its limits.
#[derive(Debug, Clone)]
pub struct DockerBackend(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    docker: Docker,
    owner: Owner,
    settings: DockerSettings,
    runtime: String,
    doorkeeper: PathBuf,
    host_paths: HostPaths,
    creating: Semaphore,
    destroying: Semaphore,
    /// Inventories that could not be removed.
    undone: Undone,
    /// Images that could not be pulled, and when: nobody asks again and again.
    unpullable: Mutex<BTreeMap<String, Instant>>,
    /// Held while an image with packages is made, so that it is made once.
    baking: Mutex<()>,
}

impl DockerBackend {
    /// Connects to the engine that the environment names, and finds out whether it can be used.
    pub async fn connect(owner: Owner, settings: DockerSettings) -> Result<Self, EngineError> {
        let address = std::env::var("DOCKER_HOST").unwrap_or_else(|_| "the default socket".to_owned());
        let unreachable = |reason: String| socket::unreachable(&address, reason);
        if is_remote(&address) {
            return Err(other_kernel(&address, "another machine"));
        }
        let docker = Docker::connect_with_defaults().map_err(|error| unreachable(error.to_string()))?;
        let info = call("ask the Docker engine about itself", docker.info())
            .await
            .map_err(|error| unreachable(error.to_string()))?;
        same_kernel(&address, &info)?;
        let runtime = runtime(&settings, &info)?;
        let doorkeeper =
            doorkeeper_binary::install(owner.data_dir()).map_err(EngineError::files("install the doorkeeper"))?;
        let host_paths = HostPaths::find(&docker, owner.data_dir().path()).await?;
        let (creating, destroying) = (settings.creating.max(1), settings.destroying.max(1));
        Ok(Self(Arc::new(Inner {
            docker,
            owner,
            settings,
            runtime,
            doorkeeper,
            host_paths,
            creating: Semaphore::new(creating),
            destroying: Semaphore::new(destroying),
            undone: Undone::default(),
            unpullable: Mutex::default(),
            baking: Mutex::default(),
        })))
    }

    /// The connection.
    fn docker(&self) -> &Docker {
        &self.0.docker
    }
}

/// Sandboxes hand sockets out of containers, so worker and containers must share a kernel.
fn same_kernel(address: &str, info: &SystemInfo) -> Result<(), EngineError> {
    let here = rustix::system::uname();
    let here = here.release().to_string_lossy();
    let there = info.kernel_version.as_deref().unwrap_or("unknown");
    if here == there { Ok(()) } else { Err(other_kernel(address, &format!("here {here}, there {there}"))) }
}

/// Returns true if the address leads over a network.
fn is_remote(address: &str) -> bool {
    address.contains("://") && !address.starts_with("unix://")
}

fn other_kernel(address: &str, which: &str) -> EngineError {
    EngineError::UnfitEngine(format!(
        "the Docker engine at {address} does not run on this kernel ({which}), and sandboxes cannot hand their sockets over; run Touchstone on the engine's own machine: `docker compose up`, or a worker on that host"
    ))
}

/// Returns the OCI runtime, when it is one that sockets can be handed out of.
fn runtime(settings: &DockerSettings, info: &SystemInfo) -> Result<String, EngineError> {
    let name = settings.runtime.clone().or_else(|| info.default_runtime.clone()).unwrap_or_else(|| "runc".to_owned());
    let known = info.runtimes.as_ref().and_then(|runtimes| runtimes.get(&name));
    if settings.runtime.is_some() && known.is_none() {
        let names: BTreeSet<_> = info.runtimes.iter().flat_map(|runtimes| runtimes.keys().cloned()).collect();
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        return Err(EngineError::UnfitEngine(format!("the Docker engine has no runtime `{name}`; it has {names}")));
    }
    let program = known.and_then(|runtime| runtime.path.as_deref()).unwrap_or(&name);
    let fits = |word: &str| ["runc", "crun"].iter().any(|fit| word.rsplit('/').next().is_some_and(|last| last == *fit));
    if fits(program) {
        return Ok(name);
    }
    Err(EngineError::UnfitEngine(format!(
        "the runtime `{name}` cannot be used: a sandbox hands its sockets out as descriptors, which gVisor and virtual machines do not allow; choose `runc` or `crun`"
    )))
}

#[async_trait]
impl Backend for DockerBackend {
    async fn image(&self, reference: &str, events: &Events) -> Result<Image, EngineError> {
        self.find_image(reference, events).await
    }

    async fn with_packages(&self, image: &Image, packages: &[String], events: &Events) -> Result<Image, EngineError> {
        self.bake(image, packages, events).await
    }

    async fn create(&self, request: SandboxRequest) -> Result<Box<dyn Sandbox>, EngineError> {
        // In a task of its own: when the caller stops waiting, what was made is still known and removed.
        let (sender, receiver) = oneshot::channel();
        let backend = self.clone();
        tokio::spawn(async move {
            if let Err(Ok(sandbox)) = sender.send(backend.make(request).await) {
                let _ = sandbox.destroy().await;
            }
        });
        let made = receiver.await.map_err(|_| EngineError::Cancelled)?;
        made.map(|sandbox| Box::new(sandbox) as Box<dyn Sandbox>)
    }

    async fn sweep(&self, reach: Reach) -> Result<Swept, EngineError> {
        self.sweep_within(reach).await
    }

    async fn make_room(&self, watermark: u64) -> Result<Space, EngineError> {
        self.free_space(watermark).await
    }

    async fn answers(&self) -> Result<(), EngineError> {
        let operation = "ask the Docker engine whether it is there";
        let asked = tokio::time::timeout(PROMPT, call(operation, self.0.docker.ping()));
        let late = |_| EngineError::DockerTimeout { operation: operation.to_owned(), seconds: PROMPT.as_secs() };
        asked.await.map_err(late)?.map(|_| ())
    }

    async fn evict(&self, unused_for: Duration) -> Result<Vec<String>, EngineError> {
        self.evict_unused(unused_for).await
    }

    fn misfit(&self, spec: &Spec) -> Option<String> {
        fit::refusal(spec, BackendName::Docker)
    }

    fn record(&self) -> BackendRecord {
        BackendRecord { name: "docker".to_owned(), runtime: self.0.runtime.clone() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use bollard::models::{Runtime, SystemInfo};

    use super::{DockerSettings, runtime, same_kernel};

    fn engine(default: &str, runtimes: &[(&str, &str)]) -> SystemInfo {
        let runtimes: HashMap<_, _> = runtimes
            .iter()
            .map(|(name, path)| ((*name).to_owned(), Runtime { path: Some((*path).to_owned()), ..Runtime::default() }))
            .collect();
        SystemInfo {
            default_runtime: Some(default.to_owned()),
            runtimes: Some(runtimes),
            kernel_version: Some(rustix::system::uname().release().to_string_lossy().into_owned()),
            ..SystemInfo::default()
        }
    }

    #[test]
    fn runc_and_crun_are_taken_and_gvisor_is_refused_with_its_reason() {
        let info = engine("runc", &[("runc", "runc"), ("fast", "/usr/bin/crun"), ("runsc", "/usr/bin/runsc")]);
        let with = |name: Option<&str>| {
            let settings = DockerSettings { runtime: name.map(ToOwned::to_owned), ..DockerSettings::default() };
            runtime(&settings, &info).map_err(|error| error.to_string())
        };
        assert_eq!(with(None).as_deref(), Ok("runc"));
        assert_eq!(with(Some("fast")).as_deref(), Ok("fast"));
        insta::assert_snapshot!(with(Some("runsc")).expect_err("refused"), @"the runtime `runsc` cannot be used: a sandbox hands its sockets out as descriptors, which gVisor and virtual machines do not allow; choose `runc` or `crun`");
        insta::assert_snapshot!(with(Some("kata")).expect_err("refused"), @"the Docker engine has no runtime `kata`; it has fast, runc, runsc");
    }

    #[test]
    fn an_engine_on_another_kernel_is_refused_with_what_to_do() {
        let mut info = engine("runc", &[]);
        assert!(same_kernel("unix:///var/run/docker.sock", &info).is_ok());
        assert!(super::is_remote("tcp://192.0.2.1:2375") && !super::is_remote("unix:///run/docker.sock"));
        info.kernel_version = Some("5.10.0-linuxkit".to_owned());
        let message = same_kernel("the default socket", &info).expect_err("refused").to_string();
        assert!(message.contains("there 5.10.0-linuxkit") && message.contains("docker compose up"), "{message}");
    }
}
