//! Faults of the sandbox itself: its files and its clock are changed while the agent acts, and put right when it has ended.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use doorkeeper::protocol::{Entry, EntryKind, WriteFile};
use gateways::faults::{ChangeError, WorldChanger, WorldMode};
use scenario::spec::sections::chaos::ChangedUnderneath;
use scenario::spec::sections::{Chaos, FileFaultMode};

use super::diffs::Texts;
use crate::attempt::Attempt;
use crate::backend::WORKSPACE;
use crate::door::{Door, DoorError};
use crate::faketime::FakeClock;
use crate::snapshot::{MOST_COMPARED, Snapshot};
use crate::users::User;

/// The most files whose permissions one fault takes away.
const MOST_RESTRICTED: u64 = 10_000;
/// The permissions of a file that was not there before.
const MODE: u32 = 0o644;
/// The permissions to write.
const WRITE: u32 = 0o222;

/// Changes a sandbox while the agent acts.
#[derive(Debug)]
pub(crate) struct SandboxChanger {
    door: Door,
    user: User,
    /// The paths of the spec, by how they are written there.
    paths: BTreeMap<String, String>,
    clock: Option<FakeClock>,
    /// Lock so that only one fault begins or ends at a time.
    turn: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The permissions that were taken away, by rule.
    restricted: BTreeMap<usize, Vec<Restricted>>,
    /// The shifts of the clock in milliseconds, by rule.
    shifts: BTreeMap<usize, i64>,
    /// The workspace before the agent started, with what was changed since and is no work of the agent.
    workspace: Snapshot,
    /// The texts of files that were replaced.
    texts: Texts,
}

/// A file or folder whose permissions were taken away.
#[derive(Debug, Clone)]
struct Restricted {
    path: Vec<u8>,
    before: u32,
    after: u32,
}

impl SandboxChanger {
    /// Changes a sandbox for the faults of a cell; a fault of a path that leaves the workspace changes nothing.
    pub(crate) fn new(
        attempt: &Attempt<'_>,
        chaos: &Chaos,
        door: &Door,
        user: &User,
        clock: Option<&FakeClock>,
    ) -> Self {
        let values = attempt.values();
        let paths = chaos.file_faults.iter().filter_map(|fault| fault.mode.path());
        let paths = paths.filter_map(|path| Some((path.source().to_owned(), path.render(&values).ok()?))).collect();
        Self {
            door: door.clone(),
            user: user.clone(),
            paths,
            clock: clock.cloned(),
            turn: tokio::sync::Mutex::default(),
            state: Mutex::default(),
        }
    }

    /// Starts with what the workspace is like before the agent acts.
    pub(crate) fn starts_with(&self, workspace: &Snapshot) {
        self.state().workspace = workspace.clone();
    }

    /// The workspace before the agent, and the texts of files that were replaced since: that is no work of the agent.
    pub(crate) fn before(&self) -> (Snapshot, Texts) {
        let state = self.state();
        (state.workspace.clone(), state.texts.clone())
    }

    async fn begin_file(&self, rule: usize, mode: &FileFaultMode) -> Result<(), ChangeError> {
        let path = match mode.path() {
            Some(path) => self.paths.get(path.source()).ok_or(ChangeError::OutsideWorkspace)?,
            None => "",
        };
        let begun = match mode {
            FileFaultMode::DiskFull(fault) => {
                self.door.fill(WORKSPACE, u64::try_from(fault.bytes_left.get()).unwrap_or(0)).await
            }
            FileFaultMode::ReadOnly(_) => self.restrict(rule, path, true, |mode| mode & !WRITE).await,
            FileFaultMode::PermissionDenied(_) => self.restrict(rule, path, false, |_| 0).await,
            FileFaultMode::ChangedUnderneath(fault) => self.replace(path, fault).await,
        };
        begun.map_err(failed)
    }

    /// Takes permissions of a file or folder away, and of what is below it.
    async fn restrict(
        &self,
        rule: usize,
        path: &str,
        recursive: bool,
        change: impl Fn(u32) -> u32,
    ) -> Result<(), DoorError> {
        let most = if recursive { MOST_RESTRICTED } else { 1 };
        let listing = self.door.walk(WORKSPACE, path.as_bytes(), most, recursive).await?;
        let able =
            listing.entries.into_iter().filter(|entry| matches!(entry.kind, EntryKind::File | EntryKind::Directory));
        for entry in able {
            let (before, after) = (entry.mode & 0o7777, change(entry.mode & 0o7777));
            if self.set_mode(&entry, after).await? {
                let restricted = Restricted { path: entry.path, before, after };
                self.state().restricted.entry(rule).or_default().push(restricted);
            }
        }
        Ok(())
    }

    /// Restores permissions, unless the agent changed them.
    async fn allow_again(&self, rule: usize) -> Result<(), DoorError> {
        let restricted = self.state().restricted.remove(&rule).unwrap_or_default();
        for Restricted { path, before, after } in restricted {
            if let Some(entry) = self.entry(&path).await?.filter(|entry| entry.mode & 0o7777 == after) {
                self.set_mode(&entry, before).await?;
            }
        }
        Ok(())
    }

    /// Sets the permissions of an entry; `false` when the agent removed it meanwhile. That is no change of the agent's.
    async fn set_mode(&self, entry: &Entry, mode: u32) -> Result<bool, DoorError> {
        match self.door.set_mode(WORKSPACE, &entry.path, mode).await {
            Ok(()) => {}
            Err(DoorError::Failed(_)) => return Ok(false),
            Err(error) => return Err(error),
        }
        let is_untouched = self.state().workspace.has(entry);
        if let Some(now) = self.entry(&entry.path).await?.filter(|now| is_untouched && is_same_content(entry, now)) {
            self.accept(&now).await?;
        }
        Ok(true)
    }

    /// Replaces a file. When the agent had changed it before, that stays the agent's change.
    async fn replace(&self, path: &str, fault: &ChangedUnderneath) -> Result<(), DoorError> {
        let file = WriteFile {
            path: path.into(),
            kind: EntryKind::File,
            uid: self.user.uid,
            gid: self.user.gid,
            mode: MODE,
            content: fault.content.clone().into_bytes(),
            append: false,
        };
        let folders: Vec<_> = path.match_indices('/').map(|(end, _)| path.as_bytes()[..end].to_vec()).collect();
        let mut missing = Vec::new();
        for folder in folders {
            if self.entry(&folder).await?.is_none() {
                missing.push(folder);
            }
        }
        let before = self.entry(path.as_bytes()).await?;
        self.door.put(WORKSPACE, file).await?;
        for folder in missing {
            if let Some(made) = self.entry(&folder).await? {
                self.accept(&made).await?;
            }
        }
        let is_untouched = before.is_none_or(|before| self.state().workspace.has(&before));
        if let Some(now) = self.entry(path.as_bytes()).await?.filter(|_| is_untouched) {
            self.accept(&now).await?;
            self.state().texts.insert(path.into(), fault.content.clone());
        }
        Ok(())
    }

    /// Takes an entry as it is now for what was there before the agent.
    async fn accept(&self, entry: &Entry) -> Result<(), DoorError> {
        let fingerprints = self.door.fingerprints(WORKSPACE, vec![entry.path.clone()], MOST_COMPARED).await?;
        self.state().workspace.put(entry, fingerprints.into_iter().next().flatten());
        Ok(())
    }

    /// Finds the entry of a path; `None` when it cannot be found.
    async fn entry(&self, path: &[u8]) -> Result<Option<Entry>, DoorError> {
        match self.door.walk(WORKSPACE, path, 1, false).await {
            Ok(listing) => Ok(listing.entries.into_iter().next()),
            Err(DoorError::Failed(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sets the clock to what all its faults together say.
    async fn set_clock(&self) -> Result<(), DoorError> {
        let Some(clock) = &self.clock else { return Ok(()) };
        let shift = self.state().shifts.values().sum();
        clock.set(&self.door, shift).await
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed(error: DoorError) -> ChangeError {
    ChangeError::Failed(error.into())
}

/// Returns true if nobody wrote to a file while its permissions were changed.
fn is_same_content(before: &Entry, after: &Entry) -> bool {
    (before.inode, before.size, before.modified_ns) == (after.inode, after.size, after.modified_ns)
}

#[async_trait]
impl WorldChanger for SandboxChanger {
    async fn begin(&self, rule: usize, mode: &WorldMode) -> Result<(), ChangeError> {
        let _turn = self.turn.lock().await;
        match mode {
            WorldMode::File(mode) => self.begin_file(rule, mode).await,
            WorldMode::Clock(mode) => {
                *self.state().shifts.entry(rule).or_default() += mode.by().milliseconds();
                self.set_clock().await.map_err(failed)
            }
        }
    }

    async fn end(&self, rule: usize, mode: &WorldMode) {
        let _turn = self.turn.lock().await;
        let ended = match mode {
            WorldMode::File(FileFaultMode::DiskFull(_)) => self.door.unfill().await,
            WorldMode::File(FileFaultMode::ReadOnly(_) | FileFaultMode::PermissionDenied(_)) => {
                self.allow_again(rule).await
            }
            // What was changed stays so.
            WorldMode::File(FileFaultMode::ChangedUnderneath(_)) => Ok(()),
            WorldMode::Clock(_) => {
                self.state().shifts.remove(&rule);
                self.set_clock().await
            }
        };
        if let Err(error) = ended {
            // Whoever looks at the sandbox next notices, when it is gone.
            tracing::warn!(%error, "a fault of a sandbox could not be ended");
        }
    }
}
