//! A new sandbox for a check, and what it takes over from the one that the agent left besides the workspace.

use std::collections::{BTreeMap, BTreeSet};

use doorkeeper::protocol::{Entry, EntryKind, WriteFile};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use rustix::io::Errno;
use scenario::evidence::Answer;
use scenario::spec::types::ImagePath;

use super::Prober;
use super::command::part_with;
use crate::backend::names::NAME_FILES;
use crate::backend::{End, Sandbox};
use crate::door::{Door, DoorError};
use crate::error::EngineError;

/// Number of entries that all paths together can have.
const MOST_ENTRIES: u64 = 50_000;
/// Number of bytes that all files together can have.
const MOST_BYTES: u64 = 256 << 20;
/// Number of files that are copied at once.
const AT_ONCE: usize = 8;

/// Reason why paths were not copied.
enum Failed {
    /// Files that the agent left cannot be copied.
    Agent(String),
    /// Paths that the spec names cannot be copied from anywhere.
    Ours(EngineError),
}

impl From<DoorError> for Failed {
    fn from(cause: DoorError) -> Self {
        match cause {
            DoorError::Failed(failure) => Self::Agent(failure.message),
            cause if cause.is_silence() => Self::Agent(cause.to_string()),
            cause => Self::Ours(EngineError::door("copy paths of the image into a new sandbox")(cause)),
        }
    }
}

impl Prober<'_> {
    /// A new sandbox with a copy of the workspace, and of paths of the image. What cannot be copied is the agent's doing: that
    /// is an answer.
    pub(super) async fn fresh(&self, carried: &[ImagePath]) -> Result<Result<Box<dyn Sandbox>, Answer>, EngineError> {
        let fresh = match self.world.sandbox.fresh().await {
            Ok(fresh) => fresh,
            Err(EngineError::Door { cause, .. }) if matches!(cause, DoorError::Failed(_)) || cause.is_silence() => {
                return Ok(Err(unavailable(format!("the workspace that the agent left cannot be copied: {cause}"))));
            }
            Err(error) => return Err(error),
        };
        let writer = Writer { from: self.world.sandbox.door(), to: fresh.door(), has_owners: fresh.has_other_users() };
        match carry(&writer, carried).await {
            Ok(()) => Ok(Ok(fresh)),
            Err(failed) => {
                let is_full = fresh.door().is_closed() && fresh.post_mortem().await.end == End::OutOfMemory;
                part_with(&*fresh).await;
                let reason = match failed {
                    Failed::Agent(reason) => reason,
                    Failed::Ours(_) if is_full => "it does not fit into the memory of a new sandbox".to_owned(),
                    Failed::Ours(error) => return Err(error),
                };
                Ok(Err(unavailable(format!("what the agent left in the image cannot be copied: {reason}"))))
            }
        }
    }
}

fn unavailable(reason: String) -> Answer {
    Answer::Unavailable { reason, limit: None }
}

/// Makes paths of one sandbox what they are in another.
///
/// The copied files are untrusted, and must not get anywhere else: no path leads through a link of the original image,
/// none is below another, and a path that is a folder there becomes a folder here before anything is written into it.
async fn carry(writer: &Writer<'_>, paths: &[ImagePath]) -> Result<(), Failed> {
    let (from, to) = (writer.from, writer.to);
    for path in paths {
        refuse_links(to, path).await?;
    }
    let mut room = Room { entries: MOST_ENTRIES, bytes: MOST_BYTES };
    for path in paths {
        let left = list(from, path, room.entries).await?;
        room.take(&left)?;
        let there = list(to, path, MOST_ENTRIES).await?;
        remove_others(to, &left, &there).await?;
        writer.write(&left).await?;
    }
    Ok(())
}

/// Room that is left for copying.
struct Room {
    entries: u64,
    bytes: u64,
}

impl Room {
    fn take(&mut self, tree: &Tree) -> Result<(), Failed> {
        let bytes = tree.values().filter(|entry| entry.kind == EntryKind::File).map(|entry| entry.size);
        let bytes = bytes.fold(0, u64::saturating_add);
        match (self.entries.checked_sub(tree.len() as u64), self.bytes.checked_sub(bytes)) {
            (Some(entries), Some(bytes)) => {
                *self = Self { entries, bytes };
                Ok(())
            }
            _ => Err(too_much()),
        }
    }
}

fn too_much() -> Failed {
    Failed::Agent(format!("there are more than {MOST_ENTRIES} entries or {} MiB", MOST_BYTES >> 20))
}

/// Entries by their paths below `/`, folders before what is in them.
type Tree = BTreeMap<Vec<u8>, Entry>;

/// Lists everything at and below a path but mounts; nothing when nothing is there.
async fn list(door: &Door, path: &ImagePath, most: u64) -> Result<Tree, Failed> {
    let relative = path.as_str().trim_start_matches('/').as_bytes();
    match door.walk("/", relative, most, true).await {
        Ok(listing) if listing.incomplete => Err(too_much()),
        Ok(listing) => {
            let entries = listing.entries.into_iter().filter(|entry| !is_mounted(&entry.path));
            Ok(entries.map(|entry| (entry.path.clone(), entry)).collect())
        }
        Err(error) if error.errno() == Some(Errno::NOENT) => Ok(Tree::new()),
        Err(error) => Err(error.into()),
    }
}

/// Returns true if the file is one of those with names of hosts, which are ours in every sandbox.
fn is_mounted(path: &[u8]) -> bool {
    path.strip_prefix(b"etc/").is_some_and(|name| NAME_FILES.iter().any(|file| file.as_bytes() == name))
}

/// Refuses a path that leads through a link of the original image: what it leads to could be part of another path.
async fn refuse_links(door: &Door, path: &ImagePath) -> Result<(), Failed> {
    let steps: Vec<_> = path.as_str().split('/').filter(|step| !step.is_empty()).collect();
    for end in 1..steps.len() {
        let above = steps[..end].join("/");
        let kind = match door.walk("/", above.as_bytes(), 1, false).await {
            Ok(listing) => listing.entries.first().map(|entry| entry.kind),
            Err(error) if error.errno() == Some(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if kind == Some(EntryKind::Link) {
            let reason = format!("`/{above}` is a link in the image; name the path that it leads to");
            return Err(Failed::Ours(EngineError::WrongSpec { place: format!("verify.fresh: {path}"), reason }));
        }
    }
    Ok(())
}

/// Removes what is not there any more, and what is something else now.
async fn remove_others(to: &Door, left: &Tree, there: &Tree) -> Result<(), Failed> {
    let is_kept = |path: &Vec<u8>, entry: &Entry| left.get(path).is_some_and(|now| now.kind == entry.kind);
    let mut removed: BTreeSet<&[u8]> = BTreeSet::new();
    for (path, entry) in there {
        if is_kept(path, entry) || folders_above(path).any(|above| removed.contains(above)) {
            continue;
        }
        to.remove("/", path, (0, 0)).await?;
        removed.insert(path);
    }
    Ok(())
}

/// The folders that a path is in.
fn folders_above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| &path[..end])
}

/// The entries of one kind.
fn of_kind(tree: &Tree, kind: EntryKind) -> Vec<Entry> {
    tree.values().filter(|entry| entry.kind == kind).cloned().collect()
}

/// Writes entries into the other sandbox.
struct Writer<'a> {
    from: &'a Door,
    to: &'a Door,
    /// True when there are other users than root.
    has_owners: bool,
}

impl Writer<'_> {
    /// Writes a tree: folders first, which are open to all owners until everything is in them.
    async fn write(&self, tree: &Tree) -> Result<(), Failed> {
        let folders = of_kind(tree, EntryKind::Directory);
        for folder in &folders {
            self.make(folder, 0o777, Vec::new()).await?;
        }
        for link in of_kind(tree, EntryKind::Link) {
            let target = self.from.read_link("/", &link.path).await?;
            self.make(&link, link.mode, target).await?;
        }
        let files = of_kind(tree, EntryKind::File).into_iter().map(|file| self.write_file(file));
        stream::iter(files).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
        for folder in &folders {
            self.make(folder, folder.mode, Vec::new()).await?;
        }
        Ok(())
    }

    async fn write_file(&self, file: Entry) -> Result<(), Failed> {
        match self.from.read("/", &file.path, file.size).await {
            Ok(content) => self.make(&file, file.mode, content).await,
            // Nobody in the sandbox can read it, so it is not the agent's: it is there already.
            Err(error) if error.errno() == Some(Errno::ACCESS) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn make(&self, entry: &Entry, mode: u32, content: Vec<u8>) -> Result<(), Failed> {
        let path = [b"/", entry.path.as_slice()].concat();
        let (uid, gid) = if self.has_owners { (entry.uid, entry.gid) } else { (0, 0) };
        let file = WriteFile { path, kind: entry.kind, uid, gid, mode, content, append: false };
        match self.to.write(file).await {
            // A folder that belongs to nobody in the sandbox stays as it is.
            Err(error) if entry.kind == EntryKind::Directory && error.errno() == Some(Errno::PERM) => Ok(()),
            written => Ok(written?),
        }
    }
}
