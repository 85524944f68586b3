//! A service beside a sandbox: a program of this machine in a box of its own, in the network of the sandbox.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use doorkeeper::protocol::{Spawn, Status};

use super::LocalBackend;
use super::programs::{ENTRYPOINT, Found, find};
use super::sandbox::{Made, Wanted};
use crate::backend::{Limits, Process, RunningService, SERVICE_CPUS, SERVICE_MEMORY, ServiceRequest, WORKSPACE};
use crate::door::{Command, CommandEvent, Door};
use crate::error::EngineError;

/// What a service may use. Its data is memory, and a part of it.
const LIMITS: Limits = Limits { cpus: SERVICE_CPUS, memory: SERVICE_MEMORY, disk: 320 << 20, pids: 1024 };
/// How much of what a service printed last is kept.
const KEPT: usize = 8 * 1024;
/// How long it may take to make what a database begins with.
const TEMPLATE: Duration = Duration::from_secs(120);

/// A service.
#[derive(Debug)]
pub(super) struct LocalService {
    made: Arc<Made>,
    /// The doorkeeper of the network that it is in.
    network: Door,
    found: Found,
    environment: BTreeMap<String, String>,
    said: Arc<Said>,
}

/// What a program printed last, and whether it has ended.
#[derive(Debug, Default)]
struct Said {
    output: Mutex<VecDeque<u8>>,
    ended: AtomicBool,
}

impl Said {
    fn add(&self, bytes: &[u8]) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.extend(bytes);
        let surplus = output.len().saturating_sub(KEPT);
        output.drain(..surplus);
    }

    fn text(&self) -> String {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&output.iter().copied().collect::<Vec<_>>()).trim().to_owned()
    }

    /// Takes what a command prints until it ends; its exit code.
    async fn listen(&self, mut command: Command) -> Option<i64> {
        let code = loop {
            match command.next().await {
                Ok(CommandEvent::Output(_, bytes)) => self.add(&bytes),
                Ok(CommandEvent::Exited(exited)) => {
                    break Some(match exited.status {
                        Status::Code(code) => i64::from(code),
                        Status::Signal(signal) => 128 + i64::from(signal),
                    });
                }
                Err(_) => break None,
            }
        };
        self.ended.store(true, Ordering::Release);
        code
    }
}

fn program_of(service: &ServiceRequest) -> Result<Found, EngineError> {
    let reference = &service.image.record.reference;
    find(reference).unwrap_or_else(|| {
        let what = format!(
            "the service `{}` is made from the image `{reference}`, which needs Docker: without it, services are programs of this machine (postgres, mariadb, mysql, redis)",
            service.name
        );
        Err(EngineError::Unsupported { what })
    })
}

impl LocalService {
    /// Makes the box of a service; beside a sandbox, or with a network of its own.
    pub(super) async fn make(
        backend: &LocalBackend,
        name: &str,
        service: &ServiceRequest,
        beside: Option<u32>,
    ) -> Result<Arc<Made>, EngineError> {
        let found = program_of(service)?;
        if !backend.0.rights.has_many_users() {
            let what = format!(
                "the service `{}` needs a user of its own in the sandbox, which only root can give; run as root, or use Docker",
                service.name
            );
            return Err(EngineError::Unsupported { what });
        }
        let files = backend.files_of(&found)?;
        let template = backend.template_of(&found).await?;
        let steps = found.steps(&files, template.as_deref());
        backend.open(name, &Wanted { workspace: false, beside, steps, ..Wanted::of(LIMITS) }).await
    }

    /// Starts the program in its box.
    pub(super) async fn start(
        made: Arc<Made>,
        network: Option<Door>,
        service: ServiceRequest,
    ) -> Result<Self, EngineError> {
        let found = program_of(&service)?;
        let mut environment = found.environment();
        environment.extend(service.environment.clone());
        let command = service.command.unwrap_or_else(|| vec![found.program.program.to_owned()]);
        let mut words = vec!["bash".to_owned(), ENTRYPOINT.to_owned()];
        words.extend(command);
        let spawn = spawn(&found, words, &environment);
        let operation = format!("start the service `{}`", service.name);
        let command = made.door.spawn(spawn).await.map_err(EngineError::door(operation))?;
        let said: Arc<Said> = Arc::default();
        let listening = Arc::clone(&said);
        tokio::spawn(async move { listening.listen(command).await });
        let network = network.unwrap_or_else(|| made.door.clone());
        Ok(Self { made, network, found, environment, said })
    }
}

fn spawn(found: &Found, words: Vec<String>, environment: &BTreeMap<String, String>) -> Spawn {
    let (_, number) = found.program.user;
    Spawn {
        arguments: words.into_iter().map(String::into_bytes).collect(),
        environment: environment.iter().map(|(name, value)| (name.clone().into(), value.clone().into())).collect(),
        directory: found.directory().into(),
        uid: number,
        gid: number,
        ..Spawn::default()
    }
}

impl LocalBackend {
    /// The folder with our files for a program.
    fn files_of(&self, found: &Found) -> Result<PathBuf, EngineError> {
        let folder = self.0.owner.data_dir().path().join("services").join(found.digest());
        if !folder.exists() {
            let operation = || EngineError::files("write the files of a service");
            // Under another name first: another process may be doing the same.
            let temporary = folder.with_extension(crate::entropy::hex(8));
            found.write(&temporary).map_err(operation())?;
            if fs::rename(&temporary, &folder).is_err() {
                fs::remove_dir_all(&temporary).map_err(operation())?;
            }
        }
        Ok(folder)
    }

    /// The archive with what a database begins with, made once for each version of its program.
    async fn template_of(&self, found: &Found) -> Result<Option<PathBuf>, EngineError> {
        let Some(script) = found.program.template else { return Ok(None) };
        let folder = self.0.owner.data_dir().path().join("templates");
        let archive = folder.join(format!("{}.tar", found.mark()));
        let _alone = self.0.templates.lock().await;
        if archive.exists() {
            return Ok(Some(archive));
        }
        let operation = || EngineError::files("keep what a database begins with");
        fs::create_dir_all(&folder).map_err(operation())?;
        let steps = found.steps(&self.files_of(found)?, None);
        let limits = Limits { disk: 1 << 30, ..LIMITS };
        let name = format!("template-{}", crate::entropy::hex(8));
        let made = self.open(&name, &Wanted { steps, ..Wanted::of(limits) }).await?;
        let result = self.fill(&made, found, script).await;
        let copied = match result {
            Ok(()) => {
                let source = format!("/proc/{}/root{WORKSPACE}/data.tar", made.watcher.first());
                let temporary = folder.join(format!(".{name}"));
                fs::copy(&source, &temporary).and_then(|_| fs::rename(&temporary, &archive)).map_err(operation())
            }
            Err(error) => Err(error),
        };
        made.remove().await?;
        copied.map(|()| Some(archive))
    }

    async fn fill(&self, made: &Made, found: &Found, script: &str) -> Result<(), EngineError> {
        let script = format!(
            "set -e\numask 077\n{script}\ntar --create --sparse --directory={WORKSPACE}/data --file={WORKSPACE}/data.tar . && chmod 644 {WORKSPACE}/data.tar"
        );
        let words = vec!["bash".to_owned(), "-c".to_owned(), script];
        let operation = format!("make what `{}` begins with", found.program.program);
        let command = made.door.spawn(spawn(found, words, &found.environment())).await;
        let command = command.map_err(EngineError::door(operation.clone()))?;
        let said = Said::default();
        match tokio::time::timeout(TEMPLATE, said.listen(command)).await {
            Ok(Some(0)) => Ok(()),
            Ok(code) => Err(EngineError::NoBox {
                operation,
                reason: format!("exit code {}: {}", code.unwrap_or(-1), said.text()),
            }),
            Err(_) => Err(EngineError::NoBox { operation, reason: "it took too long".to_owned() }),
        }
    }
}

#[async_trait]
impl RunningService for LocalService {
    fn door(&self) -> &Door {
        &self.network
    }

    async fn run(&self, command: &[String], patience: Duration) -> Result<(i64, String), EngineError> {
        let spawn = spawn(&self.found, command.to_vec(), &self.environment);
        let started = match self.made.door.spawn(spawn).await {
            Ok(started) => started,
            Err(error) if error.is_closed() => return Err(EngineError::door("run a command in a service")(error)),
            Err(error) => return Ok((127, error.to_string())),
        };
        let said = Said::default();
        match tokio::time::timeout(patience, said.listen(started)).await {
            Ok(code) => Ok((code.unwrap_or(-1), said.text())),
            Err(_) => Ok((-1, "it did not end in time".to_owned())),
        }
    }

    async fn last_output(&self) -> String {
        self.said.text()
    }

    async fn is_running(&self) -> Result<bool, EngineError> {
        Ok(!self.said.ended.load(Ordering::Acquire) && !self.made.door.is_closed())
    }

    async fn written_over_image(&self) -> Option<u64> {
        let layers: Vec<PathBuf> = self.made.watcher.layers().map(|(_, folder)| folder).collect();
        let read = tokio::task::spawn_blocking(move || {
            layers
                .iter()
                .map(|layer| crate::backend::layer::read(layer).map(|layer| layer.size()))
                .sum::<std::io::Result<u64>>()
        });
        read.await.ok()?.ok()
    }

    async fn processes(&self) -> Result<Vec<Process>, EngineError> {
        let first = self.made.watcher.first();
        let listed = tokio::task::spawn_blocking(move || processes(first)).await.map_err(|_| EngineError::Cancelled)?;
        listed.map_err(EngineError::files("list the processes of a service"))
    }

    async fn stop(&self) -> Result<(), EngineError> {
        if self.made.door.is_closed() {
            return Ok(());
        }
        self.made.door.kill_all().await.map_err(EngineError::door("stop a service"))
    }
}

/// The processes in the box of a first process, but for that one.
fn processes(first: u32) -> std::io::Result<Vec<Process>> {
    let namespace = fs::read_link(format!("/proc/{first}/ns/pid"))?;
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Ok(pid) = entry?.file_name().to_string_lossy().parse::<u32>() else { continue };
        // One that has ended in the meantime is not there.
        let is_inside = fs::read_link(format!("/proc/{pid}/ns/pid")).is_ok_and(|other| other == namespace);
        if pid == first || !is_inside {
            continue;
        }
        let (Ok(program), Ok(arguments)) =
            (fs::read_to_string(format!("/proc/{pid}/comm")), fs::read(format!("/proc/{pid}/cmdline")))
        else {
            continue;
        };
        let arguments = String::from_utf8_lossy(&arguments).trim_end_matches('\0').replace('\0', " ");
        found.push(Process { pid, program: program.trim().to_owned(), arguments });
    }
    Ok(found)
}
