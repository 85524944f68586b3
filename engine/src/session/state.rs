//! Describes the state of a sandbox that somebody works in.

use std::collections::BTreeMap;

use doorkeeper::protocol::{Entry, EntryKind};
use futures::{StreamExt, TryStreamExt, stream};
use scenario::hex;
use scenario::interactive::{DiffReply, FileState, ProcessState, Refusal, StateReply};
use sha2::{Digest as _, Sha256};

use super::{Live, Session, place};
use crate::backend::WORKSPACE;
use crate::door::{Door, DoorError};
use crate::snapshot::Snapshot;

/// Number of entries of the workspace that are listed.
const MOST_ENTRIES: u64 = 20_000;
/// Number of bytes that are read of all files for their digests.
const MOST_HASHED: u64 = 256 * 1024 * 1024;
/// Number of files or processes that are read at once.
const AT_ONCE: usize = 8;
/// Number of processes that are listed.
const MOST_PROCESSES: usize = 1000;
/// Length of a process's command line that is shown.
const MOST_COMMAND: u64 = 4096;

impl Session {
    /// The files of the workspace and the processes, as far as there are not too many.
    pub async fn state(&self) -> Result<StateReply, Refusal> {
        let _place = place(&self.live.files, "looks")?;
        self.live.state().await.map_err(|error| self.live.refused(&error))
    }

    /// Returns the changes in the workspace since the sandbox was opened.
    pub async fn diff(&self) -> Result<DiffReply, Refusal> {
        let _place = place(&self.live.files, "looks")?;
        let world = &self.live.world;
        let before = &world.before.workspace;
        let after = Snapshot::take_after(world.sandbox.door(), before).await;
        let changes = before.changes(&after.map_err(|error| self.live.refused(&error))?).first();
        let safe = |paths: Vec<String>| paths.iter().map(|path| world.redactor.text(path)).collect();
        Ok(DiffReply {
            added: safe(changes.added),
            removed: safe(changes.removed),
            modified: safe(changes.modified),
            incomplete: changes.incomplete,
        })
    }
}

impl Live {
    async fn state(&self) -> Result<StateReply, DoorError> {
        let door = self.world.sandbox.door();
        let captured_at = self.now();
        let listing = door.walk(WORKSPACE, b".", MOST_ENTRIES, true).await?;
        let mut incomplete = listing.incomplete;
        let mut room = MOST_HASHED;
        let files = listing.entries.into_iter().filter(|entry| entry.kind == EntryKind::File).map(|entry| {
            let hashed = entry.size <= room;
            room = room.saturating_sub(if hashed { entry.size } else { 0 });
            incomplete |= !hashed;
            self.describe(entry, hashed)
        });
        let files: Vec<_> = files.collect();
        let files: BTreeMap<_, _> = stream::iter(files).buffer_unordered(AT_ONCE).try_collect().await?;
        let processes = self.processes(door).await?;
        incomplete |= processes.len() >= MOST_PROCESSES;
        Ok(StateReply { captured_at, files, processes, incomplete })
    }

    async fn describe(&self, entry: Entry, hashed: bool) -> Result<(String, FileState), DoorError> {
        let path = self.world.redactor.text(&String::from_utf8_lossy(&entry.path));
        let checksum = if hashed { self.checksum(&entry).await? } else { String::new() };
        Ok((path, FileState { size: entry.size, mode: format!("{:04o}", entry.mode), checksum }))
    }

    /// The digest of a file; empty when it cannot be read, or is gone by now.
    async fn checksum(&self, entry: &Entry) -> Result<String, DoorError> {
        let mut hasher = Sha256::new();
        let door = self.world.sandbox.door();
        match door.read_into(WORKSPACE, &entry.path, MOST_HASHED, |bytes| hasher.update(bytes)).await {
            Ok(()) => {
                let digest = hex(hasher.finalize());
                Ok(format!("sha256:{digest}"))
            }
            Err(DoorError::Failed(_)) => Ok(String::new()),
            Err(error) => Err(error),
        }
    }

    async fn processes(&self, door: &Door) -> Result<Vec<ProcessState>, DoorError> {
        let listing = door.walk("/proc", b".", MOST_ENTRIES, false).await?;
        let number = |entry: &Entry| std::str::from_utf8(&entry.path).ok()?.parse().ok();
        let pids = listing.entries.iter().filter_map(number).filter(|pid: &u32| *pid != 1);
        let pids: Vec<_> = pids.take(MOST_PROCESSES).collect();
        let found = stream::iter(pids).map(|pid| self.process(door, pid)).buffered(AT_ONCE);
        let found: Vec<Option<ProcessState>> = found.try_collect().await?;
        let mut found: Vec<_> = found.into_iter().flatten().collect();
        found.sort_by_key(|process| process.pid);
        Ok(found)
    }

    /// A process; `None` when it is gone by now.
    async fn process(&self, door: &Door, pid: u32) -> Result<Option<ProcessState>, DoorError> {
        let read = async |name: &str| match door.read("/proc", format!("{pid}/{name}").as_bytes(), MOST_COMMAND).await {
            Ok(content) => Ok(Some(content)),
            Err(DoorError::Failed(_)) => Ok(None),
            Err(error) => Err(error),
        };
        let (Some(stat), Some(line)) = (read("stat").await?, read("cmdline").await?) else { return Ok(None) };
        let (name, status) = name_and_status(&String::from_utf8_lossy(&stat));
        let words: Vec<_> = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
        let command = words.join(" ").trim_end().to_owned();
        let command = if command.is_empty() { format!("[{name}]") } else { command };
        Ok(Some(ProcessState { pid, command: self.world.redactor.text(&command), status: status.to_owned() }))
    }
}

/// The name of a process and what it does, from its line in `/proc`. A name can have brackets and spaces of its own.
fn name_and_status(stat: &str) -> (String, &'static str) {
    let (before, after) = stat.rsplit_once(')').unwrap_or((stat, ""));
    let name = before.split_once('(').map_or("", |(_, name)| name);
    let status = match after.trim_start().chars().next() {
        Some('R') => "running",
        Some('S' | 'D' | 'I') => "sleeping",
        Some('T' | 't') => "stopped",
        Some('Z' | 'X') => "zombie",
        _ => "unknown",
    };
    (name.to_owned(), status)
}

#[cfg(test)]
mod tests {
    use super::name_and_status;

    #[test]
    fn a_process_cannot_hide_behind_its_name() {
        let check = |stat: &str, name: &str, status: &str| {
            assert_eq!(name_and_status(stat), (name.to_owned(), status));
        };
        check("7 (sleep) S 1 7 7 0", "sleep", "sleeping");
        check("8 (a) Z (b) R 1 8", "a) Z (b", "running");
        check("9 (x) Z 1", "x", "zombie");
        check("nonsense", "", "unknown");
    }
}
