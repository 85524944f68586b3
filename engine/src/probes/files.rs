//! Files that the agent left.

use std::sync::atomic::Ordering;

use doorkeeper::protocol::{Entry, EntryKind};
use globset::{GlobBuilder, GlobMatcher};
use rustix::io::Errno;
use scenario::evidence::{Answer, Blob, FileEntry, FileKind, Files};
use scenario::hex;
use sha2::{Digest as _, Sha256};

use super::Prober;
use crate::backend::WORKSPACE;
use crate::door::{Door, DoorError};
use crate::error::EngineError;

/// Number of entries that are searched for those that a glob names.
const MOST_SEARCHED: u64 = 200_000;
/// Largest size of a file whose digest is made.
const MOST_HASHED: u64 = 64 * 1024 * 1024;
/// Number of bytes of files that all checks of a scenario keep together, counted as they are stored.
const MOST_KEPT: u64 = 256 * 1024 * 1024;

impl Prober<'_> {
    /// The entries that a path or glob names, with content where it is asked for.
    pub(super) async fn files(&self, path: &str, content_bytes: u64, most: usize) -> Result<Answer, EngineError> {
        let door = self.world.sandbox.door();
        let found = find(door, path).await.map_err(EngineError::door("look for files"))?;
        let ListedEntries { entries, mut incomplete } = found;
        incomplete |= entries.len() > most;
        let mut files = Files { entries: Vec::new(), incomplete };
        for entry in entries.into_iter().take(most) {
            files.entries.push(self.describe(door, &entry, content_bytes).await?);
        }
        files.entries.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(Answer::Files(files))
    }

    async fn describe(&self, door: &Door, entry: &Entry, content_bytes: u64) -> Result<FileEntry, EngineError> {
        let kind = kind(entry);
        let path = String::from_utf8_lossy(&entry.path).into_owned();
        let mut described = FileEntry { path, kind, size: entry.size, sha256: None, content: None, problem: None };
        if kind != FileKind::File || content_bytes == 0 {
            return Ok(described);
        }
        let expected = entry.size.min(content_bytes);
        if !self.keeps(expected) {
            described.problem = Some(too_much());
            return Ok(described);
        }
        let mut hasher = Sha256::new();
        let mut content = Vec::new();
        let keep = usize::try_from(content_bytes).unwrap_or(usize::MAX);
        let read = door.read_into(WORKSPACE, &entry.path, MOST_HASHED.max(content_bytes), |bytes| {
            hasher.update(bytes);
            let room = keep.saturating_sub(content.len()).min(bytes.len());
            content.extend_from_slice(&bytes[..room]);
        });
        match read.await {
            Ok(()) => {
                described.sha256 = (entry.size <= MOST_HASHED).then(|| hex(hasher.finalize()));
                let is_whole = content.len() as u64 >= entry.size;
                let redactor = &self.world.redactor;
                let safe = if is_whole { redactor.bytes(&content) } else { redactor.beginning(&content) };
                let blob = Blob(safe);
                match self.keeps((blob.stored_len() as u64).saturating_sub(expected)) {
                    true => described.content = Some(blob),
                    false => described.problem = Some(too_much()),
                }
            }
            Err(DoorError::Failed(failure)) => described.problem = Some(failure.message),
            Err(error) => return Err(EngineError::door("read a file")(error)),
        }
        Ok(described)
    }
}

impl Prober<'_> {
    /// Returns true if this many bytes more may be kept.
    fn keeps(&self, bytes: u64) -> bool {
        self.kept_bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= MOST_KEPT
    }
}

fn too_much() -> String {
    format!("the checks keep no more than {MOST_KEPT} bytes of files")
}

struct ListedEntries {
    entries: Vec<Entry>,
    incomplete: bool,
}

/// Finds the entries that a path or glob names.
async fn find(door: &Door, path: &str) -> Result<ListedEntries, DoorError> {
    let Some(glob) = glob(path) else {
        return one(door, path).await;
    };
    let listing = door.walk(WORKSPACE, b".", MOST_SEARCHED, true).await?;
    let matches = |entry: &Entry| glob.is_match(String::from_utf8_lossy(&entry.path).as_ref());
    Ok(ListedEntries { entries: listing.entries.into_iter().filter(matches).collect(), incomplete: listing.incomplete })
}

async fn one(door: &Door, path: &str) -> Result<ListedEntries, DoorError> {
    match door.walk(WORKSPACE, path.as_bytes(), 1, false).await {
        Ok(_) if path == "." => Ok(ListedEntries { entries: vec![root()], incomplete: false }),
        Ok(listing) => Ok(ListedEntries { entries: listing.entries.into_iter().take(1).collect(), incomplete: false }),
        Err(error) if is_absent(&error) => Ok(ListedEntries { entries: Vec::new(), incomplete: false }),
        Err(error) => Err(error),
    }
}

/// Returns true if nothing is there: a step of the path is missing, is no folder, leads out or leads in circles.
fn is_absent(error: &DoorError) -> bool {
    let absent = [Errno::NOENT, Errno::NOTDIR, Errno::XDEV, Errno::LOOP, Errno::NAMETOOLONG];
    error.errno().is_some_and(|errno| absent.contains(&errno))
}

/// The workspace itself.
fn root() -> Entry {
    Entry {
        path: b".".to_vec(),
        kind: EntryKind::Directory,
        leads_to: Some(EntryKind::Directory),
        size: 0,
        mode: 0o777,
        uid: 0,
        gid: 0,
        inode: 0,
        modified_ns: 0,
        changed_ns: 0,
    }
}

fn kind(entry: &Entry) -> FileKind {
    match entry.leads_to {
        Some(EntryKind::File) => FileKind::File,
        Some(EntryKind::Directory) => FileKind::Directory,
        Some(EntryKind::Link | EntryKind::Other) => FileKind::Other,
        None => FileKind::BrokenLink,
    }
}

/// The matcher, when the path is a glob. `*` stays within a folder and `**` does not.
fn glob(path: &str) -> Option<GlobMatcher> {
    if !scenario::spec::types::Glob::is_glob(path) {
        return None;
    }
    GlobBuilder::new(path).literal_separator(true).build().ok().map(|glob| glob.compile_matcher())
}
