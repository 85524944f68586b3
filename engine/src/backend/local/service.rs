//! A service beside a sandbox: a program of this machine in a box of its own, in the network of the sandbox.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use doorkeeper::plan::{Beside, Step};
use doorkeeper::protocol::{Spawn, Status};
use rustix::process::Signal;

use super::LocalBackend;
use super::boxes::{BoxRequest, Made};
use super::postgres::Quick;
use super::programs::{ENTRYPOINT, InstalledProgram, find, missing_program};
use super::templates::Kept;
use crate::backend::{Limits, Process, RunningService, SERVICE_CPUS, SERVICE_MEMORY, ServiceRequest, Shim};
use crate::door::{Command, CommandEvent, Door};
use crate::doorkeeper_binary;
use crate::error::EngineError;
use crate::memory_events::OutOfMemory;

/// Limits of a service. Its data is memory, and a part of it.
pub(super) const LIMITS: Limits = Limits { cpus: SERVICE_CPUS, memory: SERVICE_MEMORY, disk: 512 << 20, pids: 1024 };
/// The folder of scripts that are found before programs.
const SHIMS: &str = "/.touchstone/shims";
/// Length of a service's last output that is kept.
const KEPT: usize = 8 * 1024;

/// A service.
#[derive(Debug)]
pub(super) struct LocalService {
    made: Arc<Made>,
    /// The doorkeeper of the network that it is in.
    network: Door,
    found: InstalledProgram,
    environment: BTreeMap<String, String>,
    said: Arc<ProgramOutput>,
    /// The command that it was started with.
    words: Vec<String>,
}

/// Last output of a program, and a flag that it has ended.
#[derive(Debug, Default)]
pub(super) struct ProgramOutput {
    output: Mutex<VecDeque<u8>>,
    ended: AtomicBool,
}

impl ProgramOutput {
    fn add(&self, bytes: &[u8]) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.extend(bytes);
        let surplus = output.len().saturating_sub(KEPT);
        output.drain(..surplus);
    }

    pub(super) fn text(&self) -> String {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&output.iter().copied().collect::<Vec<_>>()).trim().to_owned()
    }

    /// Returns true if the program has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Waits until the program has ended, of which everything was told already.
    async fn until_ended(&self) {
        while !self.has_ended() {
            tokio::task::yield_now().await;
        }
    }

    /// Takes what a command prints until it ends; its exit code.
    pub(super) async fn listen(&self, mut command: Command) -> Option<i64> {
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

fn program_of(service: &ServiceRequest) -> Result<InstalledProgram, EngineError> {
    let reference = &service.image.record.reference;
    match find(reference) {
        Some(found) => found,
        None => Err(EngineError::Unsupported { what: missing_program(&service.name, reference).unwrap_or_default() }),
    }
}

/// Parts of a service, once the way to start it is known.
#[derive(Debug)]
pub(super) struct Prepared {
    found: InstalledProgram,
    service: ServiceRequest,
    /// Fast start of Postgres, without its script, and the password that its first user has until then.
    quick: Option<(Quick, String)>,
    steps: Vec<Step>,
}

impl Prepared {
    /// Finds the program, and what it begins with.
    pub(super) async fn of(backend: &LocalBackend, service: ServiceRequest) -> Result<Self, EngineError> {
        let found = program_of(&service)?;
        let quick = Quick::of(&found, &service);
        let mut steps = found.steps(&backend.files_of(&found)?);
        steps.extend(shims(backend, service.shim)?);
        // The script of Postgres makes its data itself, because it is asked for something special.
        let is_laid_out = quick.is_some() || found.program.program != "postgres";
        let template = if is_laid_out { backend.template_of(&found).await? } else { None };
        steps.extend(template.as_ref().map(Kept::layer));
        let password = template.map(|template| template.password()).transpose();
        let password = password.map_err(EngineError::files("read what a database begins with"))?;
        Ok(Self { quick: quick.zip(password), found, service, steps })
    }

    /// Makes the box; beside a sandbox, or with a network of its own.
    pub(super) async fn open(
        &self,
        backend: &LocalBackend,
        name: &str,
        beside: Option<Beside>,
    ) -> Result<Arc<Made>, EngineError> {
        let (_, number) = self.found.program.user;
        let steps = self.steps.clone();
        let userland = Some(backend.0.host.clone());
        let wanted =
            BoxRequest { workspace: false, userland, user: Some(number), beside, steps, ..BoxRequest::of(LIMITS) };
        backend.open(name, &wanted).await
    }

    /// Starts the program in its box.
    pub(super) async fn start(self, made: Arc<Made>, network: Option<Door>) -> Result<LocalService, EngineError> {
        let Self { found, service, quick, .. } = self;
        let mut environment = found.environment();
        environment.extend(service.environment);
        if service.shim.is_some() {
            let path = environment.entry("PATH".to_owned()).or_default();
            *path = format!("{SHIMS}:{path}");
        }
        let words = match &quick {
            Some((quick, _)) => quick.words.clone(),
            None => {
                let command = service.command.unwrap_or_else(|| vec![found.program.program.to_owned()]);
                ["bash", ENTRYPOINT].map(ToOwned::to_owned).into_iter().chain(command).collect()
            }
        };
        let operation = format!("start the service `{}`", service.name);
        let command = made.door.spawn(spawn(&found, words.clone(), &environment)).await;
        let command = command.map_err(EngineError::door(operation))?;
        let said: Arc<ProgramOutput> = Arc::default();
        let listening = Arc::clone(&said);
        tokio::spawn(async move { listening.listen(command).await });
        let network = network.unwrap_or_else(|| made.door.clone());
        if let Some((quick, password)) = quick {
            quick.finish(&service.name, &network, password, &said).await?;
        }
        Ok(LocalService { made, network, found, environment, said, words })
    }
}

/// A script that is found before programs.
fn shims(backend: &LocalBackend, shim: Option<Shim>) -> Result<Vec<Step>, EngineError> {
    let Some(Shim { programs, script }) = shim else { return Ok(Vec::new()) };
    let path = doorkeeper_binary::put(backend.0.owner.data_dir(), "shim", script.as_bytes());
    let path = path.map_err(EngineError::files("write the shim of a service"))?;
    let bind = |program: &&str| Step::Bind {
        target: format!("{SHIMS}/{program}"),
        source: path.display().to_string(),
        writable: false,
    };
    Ok(programs.iter().map(bind).collect())
}

pub(super) fn spawn(found: &InstalledProgram, words: Vec<String>, environment: &BTreeMap<String, String>) -> Spawn {
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
    pub(super) fn files_of(&self, found: &InstalledProgram) -> Result<PathBuf, EngineError> {
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
        let said = ProgramOutput::default();
        match tokio::time::timeout(patience, said.listen(started)).await {
            Ok(code) => Ok((code.unwrap_or(-1), said.text())),
            Err(_) => Ok((-1, "it did not end in time".to_owned())),
        }
    }

    async fn last_output(&self) -> String {
        self.said.text()
    }

    async fn is_running(&self) -> Result<bool, EngineError> {
        Ok(!self.said.has_ended() && !self.made.door.is_closed())
    }

    async fn lacked_memory_outside(&self) -> bool {
        self.made.group.out_of_memory() == Some(OutOfMemory::Outside)
    }

    async fn written_over_image(&self) -> Option<u64> {
        // Its data is what it is there for.
        let data = self.found.program.template.map(|template| template.folder);
        let layers = self.made.watcher.layers().filter(|(target, _)| Some(*target) != data);
        let layers: Vec<PathBuf> = layers.map(|(_, folder)| folder).collect();
        let read = tokio::task::spawn_blocking(move || {
            layers
                .iter()
                .map(|layer| crate::backend::layer::read(layer).map(|layer| layer.size()))
                .sum::<std::io::Result<u64>>()
        });
        read.await.ok()?.ok()
    }

    async fn processes(&self) -> Result<Vec<Process>, EngineError> {
        // With the first process of a box all others end.
        if self.made.door.is_closed() {
            return Ok(Vec::new());
        }
        let (first, namespace) = (self.made.watcher.first(), self.made.watcher.namespace("pid"));
        let listed = tokio::task::spawn_blocking(move || processes(first, &namespace))
            .await
            .map_err(|_| EngineError::Cancelled)?;
        listed.map_err(EngineError::files("list the processes of a service"))
    }

    async fn stop(&self) -> Result<(), EngineError> {
        if self.made.door.is_closed() {
            return Ok(());
        }
        match self.made.door.kill_all().await {
            Err(error) if error.is_closed() => Ok(()),
            stopped => stopped.map_err(EngineError::door("stop a service")),
        }
    }

    async fn pause(&self) -> Result<(), EngineError> {
        self.signal("pause a service", Signal::STOP).await
    }

    async fn resume(&self) -> Result<(), EngineError> {
        self.signal("let a service go on", Signal::CONT).await
    }

    async fn restart(&self) -> Result<(), EngineError> {
        self.stop().await?;
        self.said.until_ended().await;
        let command = match self.made.door.spawn(spawn(&self.found, self.words.clone(), &self.environment)).await {
            Ok(command) => command,
            // Who looks next sees that it has ended.
            Err(error) if error.is_closed() => return Ok(()),
            Err(error) => return Err(EngineError::door("start a service again")(error)),
        };
        self.said.ended.store(false, Ordering::Release);
        let listening = Arc::clone(&self.said);
        tokio::spawn(async move { listening.listen(command).await });
        Ok(())
    }
}

impl LocalService {
    /// Signals all its processes; one that has ended has none.
    async fn signal(&self, operation: &str, signal: Signal) -> Result<(), EngineError> {
        match self.made.door.signal_all(signal.as_raw()).await {
            Err(error) if error.is_closed() => Ok(()),
            signalled => signalled.map_err(EngineError::door(operation)),
        }
    }
}

/// The processes in the box of a first process, but for that one: all that descend from it, also in namespaces of their own,
/// and all in its namespace.
fn processes(first: u32, namespace: &str) -> std::io::Result<Vec<Process>> {
    let namespace = fs::read_link(namespace)?;
    let mut inside = BTreeSet::from([first]);
    let mut all = BTreeMap::new();
    for entry in fs::read_dir("/proc")? {
        let Ok(pid) = entry?.file_name().to_string_lossy().parse::<u32>() else { continue };
        // One that has ended in the meantime is not there.
        let Some(process) = process(pid) else { continue };
        if fs::read_link(format!("/proc/{pid}/ns/pid")).is_ok_and(|other| other == namespace) {
            inside.insert(pid);
        }
        all.insert(pid, process);
    }
    loop {
        let children: Vec<_> =
            all.values().filter(|process| inside.contains(&process.parent)).map(|process| process.pid).collect();
        let count = inside.len();
        inside.extend(children);
        if inside.len() == count {
            break;
        }
    }
    Ok(all.into_values().filter(|process| process.pid != first && inside.contains(&process.pid)).collect())
}

/// A process by its number. Its name and its arguments are bytes of its own choice.
fn process(pid: u32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The number of the parent is the second word behind the name, which ends with the last bracket.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let parent = std::str::from_utf8(&stat[end + 1..]).ok()?.split_whitespace().nth(1)?.parse().ok()?;
    let program = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let program = String::from_utf8_lossy(&program).trim_end().to_owned();
    let arguments = String::from_utf8_lossy(&arguments).trim_end_matches('\0').replace('\0', " ");
    // A process of the kernel's, or one that has ended, has none.
    let arguments = if arguments.is_empty() { format!("[{program}]") } else { arguments };
    Some(Process { pid, parent, program, arguments })
}
