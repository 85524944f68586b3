//! What makes sandboxes on this machine: a Docker engine, or namespaces of its kernel where there is none.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use engine::backend::Backend;
use engine::backend::docker::{DockerBackend, DockerSettings};
use engine::backend::fit;
use engine::backend::local::{self, LocalBackend, LocalSettings};
use engine::data_dir::DataDir;
use engine::error::EngineError;
use engine::owner::Owner;
use scenario::spec::Spec;
use scenario::spec::sections::BackendName;
use uuid::Uuid;

use crate::home::ANOTHER_DATA_DIR;
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
}

/// What makes sandboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Choice {
    /// Docker when an engine answers that has the images or can get them, and otherwise namespaces.
    Auto,
    /// A Docker engine on this machine.
    Docker,
    /// Namespaces of this machine's kernel, with the programs that are installed here.
    Local,
}

/// What makes sandboxes, in the name of an owner.
#[derive(Debug)]
pub(crate) struct Connected {
    /// What makes them.
    pub(crate) backend: Arc<dyn Backend>,
    /// In whose name.
    pub(crate) owner: Uuid,
    /// The folder for what the owner needs for a moment.
    pub(crate) scratch: PathBuf,
    /// What people should know about it.
    pub(crate) notice: Option<String>,
}

/// Why nothing makes sandboxes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unconnected {
    /// There can be no owner.
    #[error("the data directory cannot be used: {0}; {ANOTHER_DATA_DIR}")]
    DataDir(#[source] io::Error),
    /// What was asked for cannot be used.
    #[error("{0}")]
    Refused(#[source] EngineError),
    /// An engine is there and cannot be used, and nobody asked for Docker.
    #[error("{0}; or use `--backend local`, which needs no Docker")]
    Unfit(#[source] EngineError),
    /// There is no engine, and nothing else either.
    #[error("{docker}; and without Docker it does not work either: {local}")]
    Neither {
        /// Why not with Docker.
        docker: EngineError,
        /// Why not with namespaces.
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
    /// What must make sandboxes, when somebody said so.
    pub(crate) fn insisted(&self) -> Option<&'static str> {
        match self.backend {
            Choice::Auto => None,
            Choice::Docker => Some("docker"),
            Choice::Local => Some("local"),
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
                Ok((docker, connected)) => match lacking(&docker, specs).await {
                    // Where that does not work either, what Docker says is the better explanation.
                    Some(why) => Ok(through_namespaces(data_dir, &settings, specs, &why).await.unwrap_or(connected)),
                    None => Ok(connected),
                },
                Err(Unconnected::Refused(error)) if error.is_no_engine() => {
                    let connected = through_namespaces(data_dir, &settings, specs, why_not_docker(&error)).await;
                    connected.map_err(|problem| neither(error, problem))
                }
                Err(Unconnected::Refused(error)) => Err(Unconnected::Unfit(error)),
                Err(other) => Err(other),
            },
        }
    }
}

/// Whether specs insist on namespaces, and none on Docker.
fn insist_on_local(specs: &[&Spec]) -> bool {
    let wanted: Vec<_> = specs.iter().filter_map(|spec| fit::insists_on(spec)).collect();
    wanted.contains(&BackendName::Local) && !wanted.contains(&BackendName::Docker)
}

/// Why Docker cannot run specs that namespaces can: it has no image for them.
async fn lacking(docker: &DockerBackend, specs: &[&Spec]) -> Option<String> {
    if specs.is_empty() || specs.iter().any(|spec| local::misfit(spec).is_some()) {
        return None;
    }
    let images = specs.iter().flat_map(|spec| fit::images(spec)).collect();
    let image = docker.lacks(&images).await.ok()??;
    Some(format!("the Docker engine has no image `{image}` and cannot get it, so"))
}

/// Connects to the Docker engine, to look after what a data directory's processes made there.
pub(crate) async fn docker(data_dir: &DataDir) -> Result<DockerBackend, Unconnected> {
    let settings = DockerSettings { pull: false, ..DockerSettings::default() };
    DockerBackend::connect(own(data_dir)?, settings).await.map_err(Unconnected::Refused)
}

/// Gets ready to look after what a data directory's processes made without Docker.
pub(crate) async fn local(data_dir: &DataDir) -> Result<LocalBackend, Unconnected> {
    LocalBackend::connect(own(data_dir)?, &LocalSettings::default()).await.map_err(Unconnected::Refused)
}

/// Why nothing works, when there is no Docker engine and namespaces have a problem too.
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

/// Says in a few words why it is not Docker.
fn why_not_docker(error: &EngineError) -> &'static str {
    match error {
        EngineError::ShutEngine(_) => "the socket of the Docker engine is not open to this user, so",
        _ => "no Docker engine answers, so",
    }
}

/// Says what makes sandboxes, why, and what is not as with Docker.
fn notice(backend: &LocalBackend, settings: &LocalSettings, specs: &[&Spec], why: &str) -> String {
    let programs = match settings.rootfs {
        Some(_) => format!("the programs of `{}`", backend.programs()),
        None => format!("its programs ({})", backend.programs()),
    };
    let weakness = backend.weakness().map(|weakness| format!("; {weakness}")).unwrap_or_default();
    let differences: String = backend.differences(specs).iter().map(|one| format!("; {one}")).collect();
    format!("{why} sandboxes are made with namespaces of this machine and have {programs}{differences}{weakness}")
}
