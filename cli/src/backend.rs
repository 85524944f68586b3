//! Chooses the sandbox backend on this machine: a Docker engine, or namespaces of its kernel when no engine answers.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use engine::backend::Backend;
use engine::backend::docker::{DockerBackend, DockerSettings, Offer};
use engine::backend::local::{self, LocalBackend, LocalSettings};
use engine::backend::{fit, stand_in};
use engine::data_dir::DataDir;
use engine::error::EngineError;
use engine::images::Aliases;
use engine::owner::Owner;
use scenario::spec::Spec;
use scenario::spec::sections::BackendName;
use uuid::Uuid;

use crate::data_dir::ANOTHER_DATA_DIR;
use crate::output::CommandError;

/// What makes sandboxes.
#[derive(Debug, Clone, Args)]
pub(crate) struct BackendOptions {
    /// What makes sandboxes.
    #[arg(long, env = "TOUCHSTONE_BACKEND", value_enum, value_name = "NAME", default_value_t = Choice::Auto)]
    backend: Choice,
    /// What sandboxes without Docker are made from: a folder or an archive (tar, tar.gz) with a system in it; the programs of
    /// this machine without it.
    #[arg(long, env = "TOUCHSTONE_ROOTFS", value_name = "PATH")]
    rootfs: Option<PathBuf>,
    /// Whether the programs of this machine may stand in for images although nobody asked for that.
    #[arg(skip)]
    fallback: Fallback,
}

/// Permission to let the programs of this machine stand in for images when no option asks for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Fallback {
    /// Allowed, for images that the programs can honestly stand in for.
    #[default]
    Allowed,
    /// Forbidden, because of who uses the programs.
    Never(&'static str),
}

/// What makes sandboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Choice {
    /// Docker when an engine answers. Namespaces where there is none, or no registry can be reached, if this machine's programs can
    /// stand in for the image; never in `ci`, `serve` and `worker`.
    Auto,
    /// A Docker engine on this machine.
    Docker,
    /// Namespaces of this machine's kernel, with the programs that are installed here.
    Local,
}

/// A connected sandbox backend, with the owner of its sandboxes.
#[derive(Debug)]
pub(crate) struct Connected {
    /// The backend.
    pub(crate) backend: Arc<dyn Backend>,
    /// In whose name.
    pub(crate) owner: Uuid,
    /// The folder for the owner's temporary files.
    pub(crate) scratch: PathBuf,
    /// A remark about the backend, for people.
    pub(crate) notice: Option<String>,
}

/// The reason why no backend is available.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unconnected {
    /// There can be no owner.
    #[error("the data directory cannot be used: {0}; {ANOTHER_DATA_DIR}")]
    DataDir(#[source] io::Error),
    /// The requested backend cannot be used.
    #[error("{0}")]
    Refused(#[source] EngineError),
    /// There is no engine, and nothing else may stand in for it.
    #[error("{docker}; and {reason}; `--backend local` insists on the programs of this machine")]
    NoFallback {
        /// The problem with Docker.
        #[source]
        docker: EngineError,
        /// The reason against a stand-in.
        reason: String,
    },
    /// An engine answers and cannot be used, and the options do not require Docker.
    #[error("{0}; or use `--backend local`, which needs no Docker")]
    Unfit(#[source] EngineError),
    /// There is no engine, and nothing else either.
    #[error("{docker}; and without Docker it does not work either: {local}")]
    Neither {
        /// The problem with Docker.
        docker: EngineError,
        /// The problem with namespaces.
        #[source]
        local: Box<EngineError>,
    },
}

impl From<Unconnected> for CommandError {
    fn from(error: Unconnected) -> Self {
        Self::Infrastructure(error.to_string())
    }
}

impl BackendOptions {
    /// Returns the name of the backend that the options require, if any.
    pub(crate) fn insisted(&self) -> Option<&'static str> {
        match self.backend {
            Choice::Auto => None,
            Choice::Docker => Some("docker"),
            Choice::Local => Some("local"),
        }
    }

    /// Forbids the fallback to the programs of this machine, for the reason `who`.
    pub(crate) fn without_fallback(mut self, who: &'static str) -> Self {
        self.fallback = Fallback::Never(who);
        self
    }

    /// Returns why the programs of this machine may not stand in for the images of specs.
    fn refuses_fallback(&self, data_dir: &DataDir, specs: &[&Spec]) -> Option<String> {
        if let Fallback::Never(who) = self.fallback {
            return Some(format!("{who} uses the programs of this machine only when asked to"));
        }
        // Who names a system for sandboxes has decided what they are made from.
        if self.rootfs.is_some() {
            return None;
        }
        match Aliases::read(data_dir) {
            Ok(aliases) => specs.iter().find_map(|spec| stand_in::refusal(spec, &aliases)),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Connects to what was chosen, or to what there is and can run these specs.
    pub(crate) async fn connect(
        &self,
        data_dir: &DataDir,
        docker: DockerSettings,
        specs: &[&Spec],
    ) -> Result<Connected, Unconnected> {
        let settings = LocalSettings { rootfs: self.rootfs.clone() };
        match self.backend {
            Choice::Docker => through_docker(data_dir, docker).await,
            Choice::Local => through_namespaces(data_dir, &settings, specs, "as was asked for,").await,
            Choice::Auto if insist_on_local(specs) => {
                through_namespaces(data_dir, &settings, specs, "as specs insist on it,").await
            }
            Choice::Auto => match connect_to_docker(data_dir, docker).await {
                Ok((docker, connected)) => match self.lacking(data_dir, &docker, specs).await {
                    // Where that does not work either, what Docker says is the better explanation.
                    Some(why) => Ok(through_namespaces(data_dir, &settings, specs, &why).await.unwrap_or(connected)),
                    None => Ok(connected),
                },
                Err(Unconnected::Refused(error)) if error.is_no_engine() => {
                    if let Some(reason) = self.refuses_fallback(data_dir, specs) {
                        return Err(Unconnected::NoFallback { docker: error, reason });
                    }
                    let connected = through_namespaces(data_dir, &settings, specs, why_not_docker(&error)).await;
                    connected.map_err(|problem| neither(error, problem))
                }
                Err(Unconnected::Refused(error)) => Err(Unconnected::Unfit(error)),
                Err(other) => Err(other),
            },
        }
    }

    /// Returns why Docker cannot run specs that namespaces can: it has no image for them, and cannot pull one.
    ///
    /// Where a registry answered, or the programs of this machine are no honest substitute, Docker is kept, and says what is wrong
    /// with each scenario.
    async fn lacking(&self, data_dir: &DataDir, docker: &DockerBackend, specs: &[&Spec]) -> Option<String> {
        let is_misfit = specs.iter().any(|spec| local::misfit(spec).is_some());
        if specs.is_empty() || is_misfit || self.refuses_fallback(data_dir, specs).is_some() {
            return None;
        }
        let images = specs.iter().flat_map(|spec| fit::images(spec)).collect();
        match docker.lacks(&images).await.ok()?? {
            (image, Offer::Unreachable) => {
                Some(format!("the Docker engine has no image `{image}` and reaches no registry that has it, so"))
            }
            (_, Offer::Offered | Offer::Refused) => None,
        }
    }
}

/// Returns true if at least one spec requires namespaces and none requires Docker.
fn insist_on_local(specs: &[&Spec]) -> bool {
    let wanted: Vec<_> = specs.iter().filter_map(|spec| fit::insists_on(spec)).collect();
    wanted.contains(&BackendName::Local) && !wanted.contains(&BackendName::Docker)
}

/// Connects to the Docker engine, to manage the leftovers of a data directory's processes.
pub(crate) async fn docker(data_dir: &DataDir) -> Result<DockerBackend, Unconnected> {
    let settings = DockerSettings { pull: false, ..DockerSettings::default() };
    DockerBackend::connect(own(data_dir)?, settings).await.map_err(Unconnected::Refused)
}

/// Connects to the local backend, to manage the leftovers of a data directory's processes.
pub(crate) async fn local(data_dir: &DataDir) -> Result<LocalBackend, Unconnected> {
    LocalBackend::connect(own(data_dir)?, &LocalSettings::default()).await.map_err(Unconnected::Refused)
}

/// Combines the errors when there is no Docker engine and namespaces have a problem too.
pub(crate) fn neither(docker: EngineError, problem: Unconnected) -> Unconnected {
    match problem {
        Unconnected::Refused(local) => Unconnected::Neither { docker, local: Box::new(local) },
        other => other,
    }
}

async fn through_docker(data_dir: &DataDir, settings: DockerSettings) -> Result<Connected, Unconnected> {
    Ok(connect_to_docker(data_dir, settings).await?.1)
}

async fn connect_to_docker(
    data_dir: &DataDir,
    settings: DockerSettings,
) -> Result<(DockerBackend, Connected), Unconnected> {
    let owner = own(data_dir)?;
    let (id, scratch) = (owner.id(), owner.scratch());
    let docker = DockerBackend::connect(owner, settings).await.map_err(Unconnected::Refused)?;
    let backend = Arc::new(docker.clone());
    Ok((docker, Connected { backend, owner: id, scratch, notice: None }))
}

async fn through_namespaces(
    data_dir: &DataDir,
    settings: &LocalSettings,
    specs: &[&Spec],
    why: &str,
) -> Result<Connected, Unconnected> {
    let owner = own(data_dir)?;
    let (id, scratch) = (owner.id(), owner.scratch());
    let backend = LocalBackend::connect(owner, settings).await.map_err(Unconnected::Refused)?;
    let notice = Some(notice(&backend, settings, specs, why));
    Ok(Connected { backend: Arc::new(backend), owner: id, scratch, notice })
}

/// Takes an owner's lock in a data directory.
fn own(data_dir: &DataDir) -> Result<Owner, Unconnected> {
    Owner::register(data_dir.clone()).map_err(Unconnected::DataDir)
}

/// Describes in a few words why it is not Docker.
fn why_not_docker(error: &EngineError) -> &'static str {
    match error {
        EngineError::ShutEngine(_) => "the socket of the Docker engine is not open to this user, so",
        _ => "no Docker engine answers, so",
    }
}

/// Describes the backend, the reason for its choice, and its differences from Docker.
fn notice(backend: &LocalBackend, settings: &LocalSettings, specs: &[&Spec], why: &str) -> String {
    let programs = match settings.rootfs {
        Some(_) => format!("the programs of `{}`", backend.programs()),
        None => format!("its programs ({})", backend.programs()),
    };
    let weakness = backend.weakness().map(|weakness| format!("; {weakness}")).unwrap_or_default();
    let differences: String = backend.differences(specs).iter().map(|one| format!("; {one}")).collect();
    format!("{why} sandboxes are made with namespaces of this machine and have {programs}{differences}{weakness}")
}
