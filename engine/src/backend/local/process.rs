//! The process outside a box that watches it: how it is started, what it says, and how it ends.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use doorkeeper::plan::{BOX, Beside, NAMESPACES, Plan, SPARE, WAIT};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::door::DoorError;

/// Length of its error output that is kept.
const SAID: u64 = 8 * 1024;
/// Time limit for a box to end once its doorkeeper was asked to.
const ENDING: Duration = Duration::from_secs(10);

/// The process that watches a box.
#[derive(Debug)]
pub(super) struct Watcher {
    child: Mutex<Child>,
    pid: u32,
    /// The first process of the box, as the host numbers it.
    first: u32,
    /// Paths of the layers in the box, with the watcher's descriptors that hold them.
    layers: Vec<(String, String)>,
    /// Under which descriptor of the watcher the workspace is.
    workspace: Option<String>,
    /// Under which descriptors its namespaces are, by name.
    namespaces: BTreeMap<&'static str, String>,
}

/// The end of a box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ended {
    /// The exit code of its first process; 137 when it was killed.
    pub(super) code: Option<i32>,
    /// Its error output.
    pub(super) said: String,
}

/// The reason why a box was not made.
#[derive(Debug, thiserror::Error)]
pub(super) enum BoxError {
    /// The process that makes it could not be started, or told what to make.
    #[error(transparent)]
    Process(#[from] io::Error),
    /// The process that makes it gave up, with these words.
    #[error("{0}")]
    Said(String),
    /// The process that makes it ended without a word.
    #[error("it ended")]
    Ended,
    /// The doorkeeper in it did not call.
    #[error(transparent)]
    Door(#[from] DoorError),
}

impl Watcher {
    /// Starts one, and gives it its plan. It speaks once the box is there.
    pub(super) async fn start(doorkeeper: &Path, plan: &Plan) -> io::Result<Child> {
        let mut child = launch(doorkeeper, BOX)?;
        give(&mut child, &plan.encode()).await?;
        Ok(child)
    }

    /// Starts one that waits for its plan.
    pub(super) fn launch_spare(doorkeeper: &Path) -> io::Result<Child> {
        launch(doorkeeper, SPARE)
    }

    /// Sends the first plan to a process that waits.
    pub(super) async fn begin(child: &mut Child, first: &Plan) -> io::Result<()> {
        let Some(input) = child.stdin.as_mut() else { return Err(io::ErrorKind::BrokenPipe.into()) };
        input.write_all(&[first.encode().as_slice(), WAIT].concat()).await?;
        input.flush().await
    }

    /// Waits until it tells of its box. Without one, it says why not.
    pub(super) async fn hear(mut child: Child, plan: &Plan) -> Result<Self, BoxError> {
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            let mut output = BufReader::new(output.take(SAID));
            let _ = output.read_line(&mut line).await;
        }
        let mut words = line.split_whitespace();
        let (Some(pid), Some(first)) = (child.id(), words.next().and_then(|word| word.parse().ok())) else {
            let ended = end_of(&mut child).await;
            return Err(if ended.said.is_empty() { BoxError::Ended } else { BoxError::Said(ended.said) });
        };
        let targets = plan.steps.iter().filter_map(|step| match step {
            doorkeeper::plan::Step::Layer { target, .. } => Some(target.clone()),
            _ => None,
        });
        let mut words = words.map(ToOwned::to_owned);
        // The targets go first: what `zip` takes of its second when the first is at its end is lost.
        let layers = targets.zip(words.by_ref()).collect();
        let workspace = (!plan.watched.is_empty()).then(|| words.next()).flatten();
        let namespaces = NAMESPACES.into_iter().zip(words).collect();
        Ok(Self { child: Mutex::new(child), pid, first, layers, workspace, namespaces })
    }

    /// The first process of the box.
    pub(super) fn first(&self) -> u32 {
        self.first
    }

    /// The process itself.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Lists the changes over each layer: the path of the layer in the box, and the folder where the changes can be
    /// read.
    pub(super) fn layers(&self) -> impl Iterator<Item = (&str, PathBuf)> {
        self.layers.iter().map(|(target, number)| (target.as_str(), self.folder(number)))
    }

    /// Returns the path where the workspace can be read, when there is one. The first process itself hides what it has
    /// where it shares its user with the agent.
    pub(super) fn workspace(&self) -> Option<PathBuf> {
        self.workspace.as_deref().map(|number| self.folder(number))
    }

    /// Returns the path of a namespace of the box.
    pub(super) fn namespace(&self, name: &str) -> String {
        let number = self.namespaces.get(name).map_or("", String::as_str);
        format!("/proc/{}/fd/{number}", self.pid)
    }

    /// Returns the namespaces for a box beside this one.
    pub(super) fn beside(&self) -> Beside {
        Beside { users: self.namespace("user"), network: self.namespace("net") }
    }

    fn folder(&self, number: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{number}/.", self.pid))
    }

    /// Waits for its end, for so long.
    pub(super) async fn ended(&self, patience: Duration) -> Option<Ended> {
        let mut child = self.child.lock().await;
        timeout(patience, end_of(&mut child)).await.ok()
    }

    /// Waits until the box ends, because its doorkeeper was asked to, and kills it when it does not.
    pub(super) async fn end(&self) -> Ended {
        if let Some(ended) = self.ended(ENDING).await {
            return ended;
        }
        kill(self.first);
        let mut child = self.child.lock().await;
        if let Ok(ended) = timeout(ENDING, end_of(&mut child)).await {
            return ended;
        }
        let _ = child.kill().await;
        end_of(&mut child).await
    }
}

fn launch(doorkeeper: &Path, argument: &str) -> io::Result<Child> {
    Command::new(doorkeeper)
        .arg(argument)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A signal for the terminal's whole group is for us, and we end boxes in good order.
        .process_group(0)
        .spawn()
}

/// Sends a plan, and closes the pipe.
pub(super) async fn give(child: &mut Child, plan: &[u8]) -> io::Result<()> {
    match child.stdin.take() {
        Some(mut input) => input.write_all(plan).await,
        None => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

/// Ends a process of a box at once.
pub(super) fn kill(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

async fn end_of(child: &mut Child) -> Ended {
    let status = child.wait().await.ok();
    let mut said = String::new();
    if let Some(errors) = child.stderr.as_mut() {
        let _ = errors.take(SAID).read_to_string(&mut said).await;
    }
    Ended { code: status.and_then(code), said: said.trim().trim_start_matches("doorkeeper: ").to_owned() }
}

fn code(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt as _;
    status.code().or_else(|| status.signal().map(|signal| 128 + signal))
}
