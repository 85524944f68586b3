//! Sandboxes made with namespaces of this machine's kernel: no engine, no images, some milliseconds each.
//!
//! A sandbox is the host's own programs with a root of its own over them (`userland.rs`), made by the doorkeeper, which
//! becomes its first process (`process.rs`). When this process ends, however it ends, the doorkeeper does, and the kernel
//! takes everything with it; only folders and control groups are left for a sweep.

mod boxes;
mod cgroups;
mod postgres;
mod process;
mod programs;
mod rights;
mod roots;
mod sandbox;
mod service;
mod sweep;
mod templates;
mod userland;
mod versions;
mod warm_pool;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use scenario::evidence::ImageRecord;
use scenario::spec::Spec;
use scenario::spec::sections::BackendName;
use tokio::sync::{Mutex, Semaphore};

use self::cgroups::Cgroups;
use self::programs::missing_program;
use self::rights::Rights;
use self::sandbox::LocalSandbox;
pub(super) use self::sweep::is_local;
use self::userland::Userland;
use self::versions::Versions;
pub use self::versions::{Installed, clock_library, installed};
use self::warm_pool::Spares;
use super::{Backend, BackendRecord, Image, Reach, Sandbox, SandboxRequest, Space, Swept, fit};
use crate::doorkeeper_binary;
use crate::error::EngineError;
use crate::event::Events;
use crate::images::Aliases;
use crate::owner::Owner;

/// Id of the image that stands for the programs of this machine, in the evidence too.
const HOST: &str = "host";
/// The environment of everything: where programs are; and that Python keeps nothing beside its own files, which would be a
/// change of what the sandbox is made from.
const ENVIRONMENT: [(&str, &str); 2] =
    [("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"), ("PYTHONDONTWRITEBYTECODE", "1")];

/// Settings for making sandboxes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LocalSettings {
    /// A folder or an archive that sandboxes are made from, instead of the programs of this machine.
    pub rootfs: Option<PathBuf>,
}

/// Explains which part of a spec cannot be done with namespaces, whatever the scenario; `None` when there is none.
#[must_use]
pub fn misfit(spec: &Spec) -> Option<String> {
    let packages: Vec<_> = spec.setup.packages.iter().map(ToString::to_string).collect();
    fit::refusal(spec, BackendName::Local)
        .or_else(|| {
            fit::agents_image(spec).map(|image| format!("the agent is the image `{image}`, which needs Docker"))
        })
        .or_else(|| (!packages.is_empty()).then(|| no_packages(&packages)))
        .or_else(|| fit::service_images(spec).find_map(|(service, image)| missing_program(&service, &image)))
}

fn no_packages(packages: &[String]) -> String {
    let packages = packages.join(", ");
    format!("`setup.packages` ({packages}) needs Docker: a sandbox without it has what is installed on this machine")
}

/// Makes sandboxes with namespaces. Clones share its limits.
#[derive(Debug, Clone)]
pub struct LocalBackend(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    owner: Owner,
    doorkeeper: PathBuf,
    userland: Userland,
    /// The programs of this machine, which services are.
    host: Userland,
    cgroups: Cgroups,
    rights: Rights,
    creating: Semaphore,
    spares: Spares,
    versions: Versions,
    /// Held while what a database begins with is made, so that it is made once.
    templates: Mutex<()>,
}

impl LocalBackend {
    /// Finds out what this machine allows, and makes one box to see that it works.
    pub async fn connect(owner: Owner, settings: &LocalSettings) -> Result<Self, EngineError> {
        let doorkeeper =
            doorkeeper_binary::install(owner.data_dir()).map_err(EngineError::files("install the doorkeeper"))?;
        let rights = Rights::of_this_process();
        let prepare = |rootfs| {
            Userland::prepare(owner.data_dir(), rootfs)
                .map_err(EngineError::files("prepare what sandboxes are made from"))
        };
        let host = prepare(None)?;
        let userland = settings.rootfs.as_deref().map_or_else(|| Ok(host.clone()), |rootfs| prepare(Some(rootfs)))?;
        let cgroups = Cgroups::find(owner.data_dir().id(), owner.id());
        let at_once = std::thread::available_parallelism().map_or(4, |cores| cores.get() * 2);
        let creating = Semaphore::new(at_once);
        let backend = Self(Arc::new(Inner {
            owner,
            doorkeeper,
            userland,
            host,
            cgroups,
            rights,
            creating,
            spares: Spares::default(),
            versions: Versions::default(),
            templates: Mutex::default(),
        }));
        backend.try_out().await?;
        backend.replenish();
        Ok(backend)
    }

    /// Names the userland that sandboxes are made from, in words for people: the system of this machine, or a folder.
    #[must_use]
    pub fn programs(&self) -> &str {
        self.0.userland.name()
    }

    /// Names the limits that are not enforced here, in words for people; `None` when all are.
    #[must_use]
    pub fn weakness(&self) -> Option<String> {
        let mut lacks = Vec::new();
        if !self.0.cgroups.is_there() {
            lacks.push("memory is limited for each process only, and processor time by the number of processors (no control groups)");
        }
        if !self.0.rights.has_many_users() {
            lacks.push("agent and services share one user");
        }
        (!lacks.is_empty()).then(|| lacks.join("; "))
    }

    /// Finds the userland of an image: the folder that an alias of the machine's owner leads to, or the programs of the
    /// machine.
    fn find_image(&self, reference: &str) -> Result<Image, EngineError> {
        let aliases = Aliases::read(self.0.owner.data_dir())
            .map_err(|error| EngineError::Unsupported { what: error.to_string() })?;
        let own = aliases.resolve(reference).filter(|target| target.starts_with('/'));
        Ok(match own {
            Some(target) => image(reference, target, &self.userland_at(target)?),
            None => {
                let mut image = image(reference, HOST, &self.0.userland);
                let service = self.stand_in(reference).map(|service| format!(", {service}"));
                image.record.name.push_str(&service.unwrap_or_default());
                image
            }
        })
    }

    /// Returns the userland that an image of ours stands for.
    fn userland_of(&self, image: &Image) -> Result<Userland, EngineError> {
        if image.id == HOST { Ok(self.0.userland.clone()) } else { self.userland_at(&image.id) }
    }

    fn userland_at(&self, path: &str) -> Result<Userland, EngineError> {
        Userland::prepare(self.0.owner.data_dir(), Some(path.as_ref()))
            .map_err(EngineError::files("prepare what sandboxes are made from"))
    }
}

fn image(reference: &str, id: &str, userland: &Userland) -> Image {
    Image {
        record: ImageRecord {
            reference: reference.to_owned(),
            name: userland.name().to_owned(),
            digest: userland.digest().to_owned(),
        },
        id: id.to_owned(),
        entrypoint: Vec::new(),
        command: Vec::new(),
        environment: ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        directory: "/".to_owned(),
        user: String::new(),
        volumes: Vec::new(),
        // Services are started by the scripts of our images.
        ours: true,
    }
}

#[async_trait]
impl Backend for LocalBackend {
    async fn image(&self, reference: &str, _: &Events) -> Result<Image, EngineError> {
        self.find_image(reference)
    }

    async fn with_packages(&self, image: &Image, packages: &[String], _: &Events) -> Result<Image, EngineError> {
        if packages.is_empty() {
            return Ok(image.clone());
        }
        Err(EngineError::Unsupported { what: no_packages(packages) })
    }

    async fn create(&self, request: SandboxRequest) -> Result<Box<dyn Sandbox>, EngineError> {
        // In a task of its own, so that nothing is half made when the caller stops waiting.
        let (backend, name) = (self.clone(), request.identity.name());
        let made = tokio::spawn(async move { LocalSandbox::make(&backend, request, name, None).await });
        let sandbox = made.await.map_err(|_| EngineError::Cancelled)??;
        Ok(Box::new(sandbox))
    }

    async fn sweep(&self, reach: Reach) -> Result<Swept, EngineError> {
        let backend = self.clone();
        tokio::task::spawn_blocking(move || backend.sweep_within(reach)).await.map_err(|_| EngineError::Cancelled)?
    }

    async fn make_room(&self, _watermark: u64) -> Result<Space, EngineError> {
        let folder = self.0.owner.data_dir().path();
        let space = rustix::fs::statvfs(folder).map_err(|errno| EngineError::Files {
            operation: "see how much disk is free".to_owned(),
            cause: errno.into(),
        })?;
        Ok(Space { free: space.f_bavail.saturating_mul(space.f_frsize), evicted: Vec::new() })
    }

    async fn answers(&self) -> Result<(), EngineError> {
        Ok(())
    }

    async fn evict(&self, _unused_for: Duration) -> Result<Vec<String>, EngineError> {
        Ok(Vec::new())
    }

    fn misfit(&self, spec: &Spec) -> Option<String> {
        misfit(spec)
    }

    fn is_in_own_group(&self) -> bool {
        true
    }

    fn record(&self) -> BackendRecord {
        BackendRecord { name: "local".to_owned(), runtime: self.0.rights.word().to_owned() }
    }
}
