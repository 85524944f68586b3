//! Visiting a sandbox that is kept: through its doorkeeper, as whoever the agent was, behind the same walls.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use doorkeeper::protocol::{Spawn, WindowSize};

use super::{Entrance, entrance, marked};
use crate::backend::WORKSPACE;
use crate::data_dir::DataDir;
use crate::door::{Command, Door, DoorError, DoorListener};

/// Timeout for a doorkeeper to see that somebody listens. It looks a few times a second.
const PATIENCE: Duration = Duration::from_secs(20);
/// The file beside a door that is locked while somebody is inside.
const LOCK: &str = "visit.lock";
/// Search path of programs when neither the image nor the spec has one.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Reason why a sandbox cannot be visited.
#[derive(Debug, thiserror::Error)]
pub enum VisitError {
    /// The sandbox is not kept.
    #[error("{}", not_kept(name, kept))]
    NotKept {
        /// The sandbox; empty when none was named.
        name: String,
        /// Names of the sandboxes that are.
        kept: Vec<String>,
    },
    /// An earlier version kept it, and wrote down another way in.
    #[error("the sandbox `{0}` was kept by an earlier version of Touchstone; `touchstone sweep --kept` removes it")]
    EarlierVersion(String),
    /// Another visitor is inside.
    #[error("the sandbox `{0}` is open in another `touchstone shell`; leave that one first")]
    Occupied(String),
    /// Its doorkeeper does not come.
    #[error(
        "the sandbox `{name}` does not answer ({cause}): it has ended, or was kept where this process cannot see it; use the shell where the worker runs that kept it, or remove it with `touchstone sweep --kept`"
    )]
    NoAnswer {
        /// The sandbox.
        name: String,
        /// The error.
        #[source]
        cause: DoorError,
    },
    /// A file of ours could not be used.
    #[error("cannot look into the sandbox `{name}`: {cause}")]
    Files {
        /// The sandbox.
        name: String,
        /// The error.
        #[source]
        cause: io::Error,
    },
}

/// A visit to a sandbox. Everything that was started in it ends with it.
#[derive(Debug)]
pub struct Visit {
    name: String,
    door: Door,
    entrance: Entrance,
    /// Keeps others out.
    _lock: File,
}

impl Visit {
    /// Opens the door of a sandbox that is kept, and waits for its doorkeeper.
    pub async fn begin(data_dir: &DataDir, name: &str) -> Result<Self, VisitError> {
        let entrance = find(data_dir, name)?;
        let lock = lock(&entrance.door, name)?;
        let listener = DoorListener::reopen(entrance.door.clone()).map_err(files(name))?;
        let answered = listener.accept_known(entrance.doorkeeper, PATIENCE).await;
        let door = answered.map_err(|cause| VisitError::NoAnswer { name: name.to_owned(), cause })?;
        Ok(Self { name: name.to_owned(), door, entrance, _lock: lock })
    }

    /// The sandbox.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Starts a command in the workspace. Its input comes piece by piece. With the size of a terminal, it gets one that is made
    /// inside, and the kind of terminal that is outside is told to it by name.
    pub async fn start(&self, words: &[String], terminal: Option<(WindowSize, &str)>) -> Result<Command, DoorError> {
        let visitor = &self.entrance.visitor;
        let mut environment = visitor.environment.clone();
        environment.entry("PATH".to_owned()).or_insert_with(|| PATH.to_owned());
        if let Some((_, kind)) = terminal {
            environment.insert("TERM".to_owned(), kind.to_owned());
        }
        let spawn = Spawn {
            arguments: words.iter().map(|word| word.clone().into_bytes()).collect(),
            environment: environment.into_iter().map(|(name, value)| (name.into_bytes(), value.into_bytes())).collect(),
            directory: WORKSPACE.into(),
            uid: visitor.uid,
            gid: visitor.gid,
            groups: visitor.groups.clone(),
            stdin: Vec::new(),
            more_input: true,
            terminal: terminal.map(|(size, _)| size),
        };
        self.door.spawn(spawn).await
    }
}

/// The sandbox that is meant when none is named: the only one that is kept.
pub fn only_kept(data_dir: &DataDir) -> Result<String, VisitError> {
    let kept = marked(data_dir).map_err(files(""))?;
    match Vec::from_iter(kept).as_slice() {
        [only] => Ok(only.clone()),
        all => Err(VisitError::NotKept { name: String::new(), kept: all.to_vec() }),
    }
}

fn find(data_dir: &DataDir, name: &str) -> Result<Entrance, VisitError> {
    match entrance(data_dir, name) {
        Ok(Some(entrance)) => Ok(entrance),
        Ok(None) => {
            let kept = marked(data_dir).map_err(files(name))?.into_iter().collect();
            Err(VisitError::NotKept { name: name.to_owned(), kept })
        }
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(VisitError::EarlierVersion(name.to_owned())),
        Err(error) => Err(files(name)(error)),
    }
}

/// Locks the sandbox for one visitor: its doorkeeper speaks to one at a time.
fn lock(door: &Path, name: &str) -> Result<File, VisitError> {
    let path: PathBuf = door.with_file_name(LOCK);
    let file = File::create(path).map_err(files(name))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(VisitError::Occupied(name.to_owned())),
        Err(TryLockError::Error(error)) => Err(files(name)(error)),
    }
}

fn files(name: &str) -> impl FnOnce(io::Error) -> VisitError {
    let name = name.to_owned();
    move |cause| VisitError::Files { name, cause }
}

fn not_kept(name: &str, kept: &[String]) -> String {
    let which =
        if name.is_empty() { "say which sandbox".to_owned() } else { format!("the sandbox `{name}` is not kept") };
    match kept {
        [] => "no sandbox is kept; `touchstone run --keep-sandbox on-failure` keeps those that did not pass".to_owned(),
        all => format!("{which}; kept are {}", all.join(", ")),
    }
}
