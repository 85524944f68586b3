//! Ending every process but the doorkeeper.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use doorkeeper::protocol::Failure;
use rustix::io::Errno;

use super::clock::now;
use super::failure::refused;
use super::identity::Identity;
use crate::sys;

/// Time limit for processes to end.
const BOUND: Duration = Duration::from_secs(10);
/// Number of leftover processes that are named.
const NAMED: usize = 20;

/// A request to end everybody, under way.
pub(crate) struct Sweep {
    /// The requests that it answers.
    pub(crate) ids: Vec<u32>,
    /// When it is given up.
    deadline: Instant,
}

impl Sweep {
    /// Starts to end everybody.
    pub(crate) fn begin() -> Self {
        Self { ids: Vec::new(), deadline: now() + BOUND }
    }

    /// Kills all processes; answers when none remain and all commands were answered, or on timeout.
    pub(crate) fn step(&self, identity: &Identity, all_answered: bool) -> Option<Result<(), Failure>> {
        let late = now() >= self.deadline;
        if kill_others(identity) {
            return (all_answered || late).then_some(Ok(()));
        }
        late.then(|| Err(survived(identity)))
    }
}

/// Kills every process but this one. `true` means that there was none, not even one that ended and was not reaped.
pub(crate) fn kill_others(identity: &Identity) -> bool {
    if identity.is_init {
        return sys::kill(-1, libc::SIGKILL) == Err(Errno::SRCH);
    }
    let others = others(identity);
    for process in &others {
        let _ = sys::kill(process.pid, libc::SIGKILL);
    }
    others.is_empty()
}

/// Signals every process but this one.
pub(crate) fn signal_others(identity: &Identity, signal: i32) {
    if identity.is_init {
        // That there is nobody is no failure.
        let _ = sys::kill(-1, signal);
        return;
    }
    for process in others(identity) {
        let _ = sys::kill(process.pid, signal);
    }
}

/// Makes the failure that names the leftover processes.
fn survived(identity: &Identity) -> Failure {
    let others = others(identity);
    let named: Vec<String> = others.iter().take(NAMED).map(|other| format!("{} ({})", other.pid, other.name)).collect();
    refused(format!("{} processes did not end within {} s: {}", others.len(), BOUND.as_secs(), named.join(", ")))
}

/// A process, as `/proc` shows it.
struct Process {
    /// Its number.
    pid: i32,
    /// The number of its parent.
    parent: i32,
    /// Its name.
    name: String,
}

/// All processes but this one that the doorkeeper answers for: everybody when it is PID 1, else those below it.
fn others(identity: &Identity) -> Vec<Process> {
    let own = rustix::process::getpid().as_raw_pid();
    let mut others: Vec<Process> = processes().filter(|process| process.pid != own).collect();
    if !identity.is_init {
        let below = descendants(own, &others);
        others.retain(|process| below.contains(&process.pid));
    }
    others
}

/// Returns a process and all processes below it.
fn descendants(ancestor: i32, processes: &[Process]) -> BTreeSet<i32> {
    let mut found = BTreeSet::from([ancestor]);
    loop {
        let before = found.len();
        found.extend(
            processes
                .iter()
                .filter(|process| found.contains(&process.parent))
                .map(|process| process.pid)
                .collect::<Vec<_>>(),
        );
        if found.len() == before {
            found.remove(&ancestor);
            return found;
        }
    }
}

/// All processes that `/proc` shows.
fn processes() -> impl Iterator<Item = Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| read_process(entry.file_name().to_str()?.parse().ok()?))
}

/// Reads one process. Its name is in parentheses, and may have some itself.
fn read_process(pid: i32) -> Option<Process> {
    let stat = String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/stat")).ok()?).into_owned();
    let (_, rest) = stat.split_once('(')?;
    let (name, rest) = rest.rsplit_once(')')?;
    let parent = rest.split_whitespace().nth(1)?.parse().ok()?;
    Some(Process { pid, parent, name: name.to_owned() })
}
