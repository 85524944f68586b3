//! A service as a container in the network of a sandbox.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use bollard::errors::Error;
use bollard::exec::{StartExecOptions, StartExecResults};
use bollard::models::ExecConfig;
use bollard::query_parameters::{KillContainerOptionsBuilder, TopOptionsBuilder};
use futures::StreamExt as _;

use super::DockerBackend;
use super::call::{call, call_if_there};
use super::container::ServiceBox;
use super::inventory::Inventory;
use crate::backend::{Process, RunningService, SandboxRequest, ServiceRequest, Shim};
use crate::door::Door;
use crate::doorkeeper_binary;
use crate::error::EngineError;

/// Length of a readiness command's output that is kept.
const KEPT_OUTPUT: usize = 4096;

/// A service as a container.
#[derive(Debug)]
pub(super) struct DockerService {
    backend: DockerBackend,
    name: String,
    door: Door,
}

/// Place of a service.
pub(super) struct Place {
    /// The name of its container.
    pub(super) name: String,
    /// The container whose network it is in.
    pub(super) network_of: String,
    /// The doorkeeper of that network.
    pub(super) door: Door,
    /// The names of its volumes, where they are kept while it is started again.
    pub(super) kept_volumes: Vec<String>,
}

impl DockerService {
    /// Makes and starts the container.
    pub(super) async fn start(
        backend: &DockerBackend,
        request: &SandboxRequest,
        place: Place,
        service: ServiceRequest,
        inventory: &Inventory,
    ) -> Result<Self, EngineError> {
        let Place { name, network_of, door, kept_volumes } = place;
        let _slot = backend.0.creating.acquire().await.map_err(|_| EngineError::Cancelled)?;
        let environment = service.environment.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let body = ServiceBox {
            image: &service.image,
            command: service.command,
            environment,
            labels: backend.labels("service", request),
            volume_labels: backend.labels("volume", request),
            kept_volumes: &kept_volumes,
            shims: shims(backend, service.shim)?,
            network_of: &network_of,
            runtime: backend.runtime_name(),
        };
        backend.create_container(&name, body.body(), inventory).await?;
        backend.start_container(&name).await?;
        Ok(Self { backend: backend.clone(), name, door })
    }

    async fn run_here(&self, command: &[String]) -> Result<(i64, String), EngineError> {
        let docker = self.backend.docker();
        let config = ExecConfig {
            cmd: Some(command.to_vec()),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            ..ExecConfig::default()
        };
        let exec = call("prepare a command in a service", docker.create_exec(&self.name, config)).await?;
        let started =
            call("start a command in a service", docker.start_exec(&exec.id, None::<StartExecOptions>)).await?;
        let mut printed = String::new();
        if let StartExecResults::Attached { mut output, .. } = started {
            while let Some(Ok(piece)) = output.next().await {
                printed.push_str(&piece.to_string());
                if printed.len() > KEPT_OUTPUT {
                    printed =
                        printed.chars().rev().take(KEPT_OUTPUT / 2).collect::<Vec<_>>().into_iter().rev().collect();
                }
            }
        }
        let ended = call("look at a command in a service", docker.inspect_exec(&exec.id)).await?;
        Ok((ended.exit_code.unwrap_or(-1), printed.trim().to_owned()))
    }
}

/// Puts a shim where it can be mounted from; what is mounted where.
fn shims(backend: &DockerBackend, shim: Option<Shim>) -> Result<Vec<(PathBuf, String)>, EngineError> {
    let Some(Shim { programs, script }) = shim else { return Ok(Vec::new()) };
    let path = doorkeeper_binary::put(backend.0.owner.data_dir(), "shim", script.as_bytes());
    let path = path.map_err(EngineError::files("write a script for a service"))?;
    Ok(programs.iter().map(|program| (path.clone(), format!("{}/{program}", Shim::FOLDER))).collect())
}

#[async_trait]
impl RunningService for DockerService {
    fn door(&self) -> &Door {
        &self.door
    }

    async fn run(&self, command: &[String], patience: Duration) -> Result<(i64, String), EngineError> {
        match tokio::time::timeout(patience, self.run_here(command)).await {
            Ok(result) => result,
            Err(_) => Ok((-1, "it did not end in time".to_owned())),
        }
    }

    async fn last_output(&self) -> String {
        self.backend.last_output(&self.name).await
    }

    async fn is_running(&self) -> Result<bool, EngineError> {
        let inspected = call_if_there("look at a service", self.backend.docker().inspect_container(&self.name, None));
        let Some(container) = inspected.await? else {
            let operation = format!("look at the service `{}`", self.name);
            return Err(EngineError::Docker { operation, reason: "somebody removed its container".to_owned() });
        };
        Ok(container.state.and_then(|state| state.running).unwrap_or(false))
    }

    async fn written_over_image(&self) -> Option<u64> {
        // One that has ended writes nothing more.
        self.backend.layer_bytes(&self.name, false).await.ok().flatten()
    }

    async fn processes(&self) -> Result<Vec<Process>, EngineError> {
        let options = TopOptionsBuilder::default().ps_args("-eo pid,ppid,comm,args").build();
        let listed = self.backend.docker().top_processes(&self.name, Some(options));
        match call("list the processes of a service (with `ps`, where the engine runs)", listed).await {
            Ok(listed) => Ok(listed.processes.unwrap_or_default().iter().filter_map(|row| process(row)).collect()),
            // With the first process of a container all others end.
            Err(_) if !self.is_running().await? => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    async fn stop(&self) -> Result<(), EngineError> {
        if !self.is_running().await? {
            return Ok(());
        }
        let options = KillContainerOptionsBuilder::default().signal("SIGKILL").build();
        let stopping = async {
            match self.backend.docker().kill_container(&self.name, Some(options)).await {
                // It ended by itself in the meantime.
                Err(Error::DockerResponseServerError { status_code: 409, .. }) => Ok(()),
                other => other,
            }
        };
        call_if_there("stop a service", stopping).await.map(|_| ())
    }

    async fn pause(&self) -> Result<(), EngineError> {
        let paused = call("pause a service", self.backend.docker().pause_container(&self.name)).await;
        self.unless_ended(paused).await
    }

    async fn resume(&self) -> Result<(), EngineError> {
        let resumed = call("let a service go on", self.backend.docker().unpause_container(&self.name)).await;
        self.unless_ended(resumed).await
    }

    async fn restart(&self) -> Result<(), EngineError> {
        self.stop().await?;
        self.backend.until_ended(&self.name).await?;
        self.backend.start_container(&self.name).await
    }
}

impl DockerService {
    /// The outcome of a call, which does not matter when the service has ended by itself.
    async fn unless_ended(&self, outcome: Result<(), EngineError>) -> Result<(), EngineError> {
        match outcome {
            Err(_) if !self.is_running().await? => Ok(()),
            outcome => outcome,
        }
    }
}

/// Reads a line of the engine's list of processes.
fn process(row: &[String]) -> Option<Process> {
    let [pid, parent, program, arguments] = row else { return None };
    let (program, arguments) = (program.clone(), arguments.clone());
    Some(Process { pid: pid.parse().ok()?, parent: parent.parse().ok()?, program, arguments })
}
