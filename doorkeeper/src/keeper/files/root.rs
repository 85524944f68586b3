//! Finding a path that stays within a folder.
//!
//! The path is walked one name at a time, each opened relative to the folder before it and without following links. So
//! a link is followed here and not by the kernel, and one that leads out is detected. An agent decides how far links
//! lead, so the steps are counted, and each takes the same time, however deep it is.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, open, openat, readlinkat};
use rustix::io::Errno;

use super::super::failure::{failed, show};
use super::file_type;
use doorkeeper::protocol::Failure;

/// Number of links that are followed on the way, as in the kernel.
const MOST_LINKS: usize = 40;
/// Number of names that are walked for one path, those in links included: more than twice as many as fit into the
/// longest path.
pub(super) const MOST_STEPS: usize = 4096;

/// Tells if a link at the end of a path is followed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    /// The link is followed, and its target is found.
    Follow,
    /// The link is not followed, and is found itself.
    Keep,
}

/// A folder that paths stay in.
pub(super) struct Root {
    /// The folder.
    directory: OwnedFd,
    /// Its path.
    path: Vec<u8>,
    /// The names in its path. None means that it is the root of the sandbox, which nothing leads out of.
    names: Vec<Vec<u8>>,
}

/// A file that was found. It is not open for reading: opening a pipe or a device can have effects.
pub(super) struct FoundFile {
    /// Refers to the file.
    pub(super) descriptor: OwnedFd,
    /// Metadata of the file.
    pub(super) stat: Stat,
}

/// Position of the walk along a path.
struct Position {
    /// The folder, or at the end the file.
    current: OwnedFd,
    /// The folders from the root to the one above it, by which each is known again.
    above: Vec<FolderId>,
    /// The names that are still to be walked, the next one last.
    pending: Vec<Vec<u8>>,
    /// Number of links that were followed.
    links: usize,
}

/// Identity of a folder: its file system, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FolderId(u64, u64);

impl FolderId {
    /// Returns the identity of an open folder.
    pub(super) fn of(folder: &OwnedFd) -> Result<Self, Errno> {
        let stat = fstat(folder)?;
        Ok(Self(stat.st_dev, stat.st_ino))
    }
}

/// Opens the folder above one, which must be the one that is known. A process of the sandbox can have moved the folder
/// meanwhile, and then the folder above it may be outside of the root.
pub(super) fn open_above(folder: &OwnedFd, known: FolderId, access: OFlags) -> Result<OwnedFd, Errno> {
    let above = openat(folder, "..", access | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    if FolderId::of(&above)? == known { Ok(above) } else { Err(Errno::NOENT) }
}

impl Root {
    /// Opens the folder.
    pub(super) fn open(path: &[u8]) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = open(path, flags, Mode::empty())?;
        Ok(Self { directory, path: path.to_vec(), names: names(path) })
    }

    /// Finds the file of a path below the folder. A path that leads out is [`Errno::XDEV`].
    pub(super) fn find(&self, path: &[u8], last: Last) -> Result<FoundFile, Errno> {
        self.find_within(path, last, &mut { MOST_STEPS })
    }

    /// Finds the file of a path with at most this many steps, and subtracts those that it needed. Too many are
    /// [`Errno::LOOP`].
    pub(super) fn find_within(&self, path: &[u8], last: Last, steps: &mut usize) -> Result<FoundFile, Errno> {
        let mut position = Position { current: self.reopen()?, above: Vec::new(), pending: Vec::new(), links: 0 };
        self.turn_to(path, &mut position)?;
        while let Some(name) = position.pending.pop() {
            *steps = steps.checked_sub(1).ok_or(Errno::LOOP)?;
            match name.as_slice() {
                b"." => {}
                b".." => self.go_up(&mut position)?,
                name => self.go_down(name, last, &mut position)?,
            }
        }
        let stat = fstat(&position.current)?;
        Ok(FoundFile { descriptor: position.current, stat })
    }

    /// Puts a path before the names that are still to be walked. An absolute one starts at the root again, if it begins
    /// with it.
    fn turn_to(&self, path: &[u8], position: &mut Position) -> Result<(), Errno> {
        let mut names = names(path);
        if path.starts_with(b"/") {
            names = self.below(names).ok_or(Errno::XDEV)?;
            position.above.clear();
            position.current = self.reopen()?;
        }
        if path.ends_with(b"/") || path.ends_with(b"/.") {
            // Whatever ends in a slash is a folder, and a link there is followed.
            names.push(b".".to_vec());
        }
        if position.pending.len() + names.len() > MOST_STEPS {
            return Err(Errno::LOOP);
        }
        position.pending.extend(names.into_iter().rev());
        Ok(())
    }

    /// The names of an absolute path that come after the root's own.
    fn below(&self, mut names: Vec<Vec<u8>>) -> Option<Vec<Vec<u8>>> {
        names.starts_with(&self.names).then(|| names.split_off(self.names.len()))
    }

    /// The way to a path as it is shown: without empty names and `.`, and without the root's own path.
    pub(super) fn tidy(&self, path: &[u8]) -> Vec<u8> {
        let names = names(path);
        let names = if path.starts_with(b"/") { self.below(names).unwrap_or_default() } else { names };
        names.join(&b'/')
    }

    /// Moves to the folder above.
    fn go_up(&self, position: &mut Position) -> Result<(), Errno> {
        match position.above.pop() {
            Some(above) => position.current = open_above(&position.current, above, OFlags::PATH)?,
            None if !self.names.is_empty() => return Err(Errno::XDEV),
            // Above the root of the sandbox is the root.
            None => {}
        }
        Ok(())
    }

    /// Opens a name in the folder: a folder below, a link that is followed, or the end of the path.
    fn go_down(&self, name: &[u8], last: Last, position: &mut Position) -> Result<(), Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let next = openat(&position.current, name, flags, Mode::empty())?;
        let file_type = file_type(&fstat(&next)?);
        let is_last = position.pending.is_empty();
        if file_type == FileType::Symlink && (!is_last || last == Last::Follow) {
            position.links += 1;
            if position.links > MOST_LINKS {
                return Err(Errno::LOOP);
            }
            return self.turn_to(readlinkat(&next, "", Vec::new())?.as_bytes(), position);
        }
        if !is_last && file_type != FileType::Directory {
            return Err(Errno::NOTDIR);
        }
        position.above.push(FolderId::of(&position.current)?);
        position.current = next;
        Ok(())
    }

    /// The folder once more.
    fn reopen(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(&self.directory, ".", flags, Mode::empty())
    }

    /// Explains the failure to find or use a path.
    pub(super) fn failure(&self, tried: &str, path: &[u8], errno: Errno) -> Failure {
        let (path, root) = (show(path), show(&self.path));
        let tried = match errno {
            Errno::XDEV => format!("{tried} {path}: it leads out of {root}"),
            _ => format!("{tried} {path} in {root}"),
        };
        failed(errno, tried)
    }
}

impl FoundFile {
    /// Opens a regular file for reading. Anything else is refused: it could block, or do something.
    pub(super) fn open_file(&self) -> Result<OwnedFd, Errno> {
        match file_type(&self.stat) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(Errno::ISDIR),
            FileType::Symlink => return Err(Errno::LOOP),
            _ => return Err(Errno::NXIO),
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        open(format!("/proc/self/fd/{}", self.descriptor.as_raw_fd()), flags, Mode::empty())
    }

    /// Opens a folder for listing.
    pub(super) fn open_directory(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(&self.descriptor, ".", flags, Mode::empty())
    }
}

/// Opens a folder, or says why it cannot be opened.
pub(super) fn open_root(path: &[u8]) -> Result<Root, Failure> {
    Root::open(path).map_err(|errno| failed(errno, format!("open the folder {}", show(path))))
}

/// A path without its last name, and that name; `None` when it has none, or one that stands for another folder.
pub(super) fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = path.iter().rposition(|byte| *byte != b'/')? + 1;
    let start = path[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let name = &path[start..end];
    let is_name = name != b"." && name != b"..";
    is_name.then_some((&path[..start], name))
}

/// The names in a path, without those that mean nothing.
fn names(path: &[u8]) -> Vec<Vec<u8>> {
    let parts = path.split(|byte| *byte == b'/');
    parts.filter(|part| !part.is_empty() && *part != b".").map(<[u8]>::to_vec).collect()
}
