//! Listing a folder.
//!
//! Names are sorted within their folder, so all names of a folder have to be known before the first is listed. An agent
//! can make more of them than there is memory: no more are kept than can be listed.

use std::collections::BinaryHeap;
use std::os::fd::OwnedFd;

use doorkeeper::protocol::{CHUNK, Entry, EntryKind, Event, Failure, Listed, WINDOW, encode};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;

use super::super::clock::Turn;
use super::super::outbox::Outbox;
use super::job::Progress;
use super::root::{FolderId, Last, MOST_STEPS, Root, open_above, open_root};
use super::{LONGEST_PATH, kind};

/// Number of partly listed folders that are kept open. Others are found again.
const KEPT_OPEN: usize = 64;
/// Largest size of an entry in a frame, besides its path.
const ENTRY_SIZE: usize = 64;
/// Number of steps that the links of one listing may lead together. That many steps take about a second.
const MOST_LINK_STEPS: usize = 500_000;

/// A folder that is being listed.
pub(crate) struct Walk {
    /// The folder that paths stay in.
    root: Root,
    /// The folders from the path to where the walk is.
    folders: Vec<Folder>,
    /// True when folders below are listed too.
    recursive: bool,
    /// Number of entries that may still be listed.
    left: u64,
    /// Number of steps that links may still lead.
    link_steps: usize,
    /// True when something was left out.
    incomplete: bool,
    /// Entries that wait to be sent.
    batch: Vec<Entry>,
    /// Largest size of the batch in a frame.
    batch_size: usize,
    /// Number of bytes that the worker allows.
    credit: u64,
}

/// A folder on the way.
struct Folder {
    /// Prefix of the names in it: its path and a slash, or nothing.
    prefix: Vec<u8>,
    /// The folder; `None` when it was closed in the meantime.
    directory: Option<OwnedFd>,
    /// Its identity.
    id: FolderId,
    /// The names as they are being read.
    reading: Option<(Dir, BinaryHeap<Vec<u8>>)>,
    /// The names that are to be listed, the next one last.
    names: Vec<Vec<u8>>,
}

impl Walk {
    /// Finds where to start.
    pub(crate) fn begin(root: &[u8], path: &[u8], most: u64, recursive: bool) -> Result<Self, Failure> {
        let root = open_root(root)?;
        let mut walk = Self {
            root,
            folders: Vec::new(),
            recursive,
            left: most,
            link_steps: MOST_LINK_STEPS,
            incomplete: false,
            batch: Vec::new(),
            batch_size: 0,
            credit: u64::from(WINDOW),
        };
        walk.enter(path).map_err(|errno| walk.root.failure("list", path, errno))?;
        Ok(walk)
    }

    /// Lists the entry of the path, and starts with the entries below it.
    fn enter(&mut self, path: &[u8]) -> Result<(), Errno> {
        let found = self.root.find(path, Last::Keep)?;
        let mut prefix = self.root.tidy(path);
        if !prefix.is_empty() {
            self.list(prefix.clone(), &found.stat);
            prefix.push(b'/');
        }
        if kind(&found.stat) == EntryKind::Directory {
            let directory = found.open_directory()?;
            self.folders.push(Folder::open(prefix, directory)?);
        }
        Ok(())
    }

    /// Allows more bytes.
    pub(crate) fn credit(&mut self, bytes: u32) {
        self.credit = self.credit.saturating_add(u64::from(bytes));
    }

    /// Lists for one turn.
    pub(crate) fn step(&mut self, id: u32, turn: &Turn, outbox: &mut Outbox) -> Progress {
        while !turn.is_over() && !outbox.is_full() {
            let finished = self.folders.is_empty();
            if (finished || self.batch_size + LONGEST_PATH + ENTRY_SIZE > CHUNK) && !self.send(id, outbox) {
                return Progress::Waiting;
            }
            if finished {
                outbox.push(Event::Listed { id, listed: Listed { incomplete: self.incomplete } });
                return Progress::Finished;
            }
            self.advance(turn);
        }
        Progress::More
    }

    /// Sends the entries that wait, if there is credit for them.
    fn send(&mut self, id: u32, outbox: &mut Outbox) -> bool {
        if self.batch.is_empty() {
            return true;
        }
        let event = Event::Entries { id, entries: std::mem::take(&mut self.batch) }.into();
        let frame = encode(&event);
        if frame.len() as u64 > self.credit {
            if let doorkeeper::protocol::Message::Event(Event::Entries { entries, .. }) = event {
                self.batch = entries;
            }
            return false;
        }
        self.credit -= frame.len() as u64;
        self.batch_size = 0;
        outbox.push_frame(frame);
        true
    }

    /// Reads names of the innermost folder, or lists its next one, or leaves it.
    fn advance(&mut self, turn: &Turn) {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).saturating_add(1);
        let Some(folder) = self.folders.last_mut() else { return };
        if folder.reading.is_some() {
            if folder.read_names(most, turn) {
                self.forget_unreachable(most);
            }
            return;
        }
        match folder.names.pop() {
            None => self.leave(),
            Some(_) if self.left == 0 => {
                self.incomplete = true;
                self.folders.clear();
            }
            Some(name) => self.visit(&name),
        }
    }

    /// Leaves the innermost folder. The one above it is opened again from there, when it was closed: that takes one step,
    /// where finding it by its path takes as many as it is deep.
    fn leave(&mut self) {
        let left = self.folders.pop();
        let (Some(left), Some(above)) = (left.and_then(|left| left.directory), self.folders.last_mut()) else { return };
        if above.directory.is_none() {
            above.directory = open_above(&left, above.id, OFlags::RDONLY).ok();
        }
    }

    /// Forgets names that come after so many other names that they cannot be listed any more.
    fn forget_unreachable(&mut self, most: usize) {
        let mut room = most;
        for folder in self.folders.iter_mut().rev() {
            let excess = folder.names.len().saturating_sub(room);
            // The next one is last, so the front has those that come latest.
            folder.names.drain(..excess);
            room -= folder.names.len();
        }
    }

    /// Lists one name of the innermost folder, and goes into it when it is a folder.
    fn visit(&mut self, name: &[u8]) {
        let Some(folder) = self.folders.last_mut() else { return };
        let path = [folder.prefix.as_slice(), name].concat();
        let Ok(directory) = folder.directory(&self.root) else { return };
        // What went away since its name was read was not there.
        let Ok(stat) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let below = (self.recursive && kind(&stat) == EntryKind::Directory).then(|| open_below(directory, name));
        self.list(path.clone(), &stat);
        if let Some(Ok(directory)) = below {
            self.descend(path, directory);
        }
    }

    /// Enters a folder.
    fn descend(&mut self, mut path: Vec<u8>, directory: OwnedFd) {
        path.push(b'/');
        // The longest name and its terminating zero have to fit.
        if path.len() + 256 > LONGEST_PATH {
            self.incomplete = true;
        } else if let Ok(folder) = Folder::open(path, directory) {
            self.folders.push(folder);
            if let Some(outer) = self.folders.len().checked_sub(KEPT_OPEN + 1) {
                self.folders[outer].directory = None;
            }
        }
    }

    /// Adds an entry to the batch.
    fn list(&mut self, path: Vec<u8>, stat: &Stat) {
        if self.left == 0 {
            self.incomplete = true;
            return;
        }
        self.left -= 1;
        self.batch_size += path.len() + ENTRY_SIZE;
        let entry = self.describe(path, stat);
        self.batch.push(entry);
    }

    /// Describes an entry.
    fn describe(&mut self, path: Vec<u8>, stat: &Stat) -> Entry {
        let kind_here = kind(stat);
        let target = match kind_here {
            EntryKind::Link => self.follow(&path),
            _ => Some(*stat),
        };
        let nanoseconds = |seconds: i64, part: u64| {
            seconds.saturating_mul(1_000_000_000).saturating_add(i64::try_from(part).unwrap_or(0))
        };
        Entry {
            path,
            kind: kind_here,
            leads_to: target.as_ref().map(kind),
            size: target.map_or(0, |target| target.st_size.unsigned_abs()),
            mode: stat.st_mode & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            inode: stat.st_ino,
            modified_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            changed_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}

impl Walk {
    /// Finds the target of a link. Once the links of this listing have led too far, the target stays unknown, and the
    /// listing is incomplete.
    fn follow(&mut self, path: &[u8]) -> Option<Stat> {
        let allowed = self.link_steps.min(MOST_STEPS);
        let mut left = allowed;
        let found = self.root.find_within(path, Last::Follow, &mut left);
        self.link_steps -= allowed - left;
        self.incomplete |= self.link_steps == 0;
        found.ok().map(|found| found.stat)
    }
}

impl Folder {
    /// Starts with a folder.
    fn open(prefix: Vec<u8>, directory: OwnedFd) -> Result<Self, Errno> {
        let reading = Some((Dir::read_from(&directory)?, BinaryHeap::new()));
        let id = FolderId::of(&directory)?;
        Ok(Self { prefix, directory: Some(directory), id, reading, names: Vec::new() })
    }

    /// The folder, found again when it was closed.
    fn directory(&mut self, root: &Root) -> Result<&OwnedFd, Errno> {
        if self.directory.is_none() {
            self.directory = Some(root.find(&self.prefix, Last::Follow)?.open_directory()?);
        }
        self.directory.as_ref().ok_or(Errno::BADF)
    }

    /// Reads names for one turn and keeps the first in order. `true` means that all are read.
    fn read_names(&mut self, most: usize, turn: &Turn) -> bool {
        let Some((dir, first)) = &mut self.reading else { return true };
        while let Some(Ok(entry)) = dir.read() {
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                first.push(name.to_vec());
            }
            if first.len() > most {
                first.pop();
            }
            if turn.is_over() {
                return false;
            }
        }
        let Some((_, first)) = self.reading.take() else { return true };
        self.names = first.into_sorted_vec();
        self.names.reverse();
        true
    }
}

/// Opens a folder in a folder, to list it.
fn open_below(directory: &OwnedFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(directory, name, flags, Mode::empty())
}
