//! Removing a file, or a folder with all that is in it.

use std::os::fd::OwnedFd;

use doorkeeper::protocol::{Event, Failure};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;

use super::super::clock::Turn;
use super::super::identity::Identity;
use super::super::outbox::Outbox;
use super::job::Progress;
use super::root::{Last, Root, open_root, split};

/// Depth limit of folders: each on the way is open.
const DEEPEST: usize = 200;

/// The removal of a path, with everything below it.
pub(crate) struct Remove {
    /// The folder that the path stays in.
    root: Root,
    /// The path, for messages.
    path: Vec<u8>,
    /// User and group that remove it.
    owner: (u32, u32),
    /// The folder that it is in.
    above: OwnedFd,
    /// Its name there.
    name: Vec<u8>,
    /// The folders from it to where removing is.
    folders: Vec<Folder>,
}

/// A folder that is being emptied.
struct Folder {
    /// Its name in the folder above.
    name: Vec<u8>,
    /// The folder.
    directory: OwnedFd,
    /// The names in it.
    names: Dir,
}

impl Remove {
    /// Finds the entry to remove. A link is removed itself, and not its target.
    pub(crate) fn begin(root: &[u8], path: Vec<u8>, owner: (u32, u32)) -> Result<Self, Failure> {
        let root = open_root(root)?;
        let found = split(&path).ok_or(Errno::INVAL).and_then(|(above, name)| {
            let above = root.find(above, Last::Follow)?.open_directory()?;
            Ok((above, name.to_vec()))
        });
        match found {
            Ok((above, name)) => Ok(Self { root, path, owner, above, name, folders: Vec::new() }),
            Err(errno) => Err(root.failure("remove", &path, errno)),
        }
    }

    /// Removes for one turn.
    pub(crate) fn step(&mut self, id: u32, turn: &Turn, identity: &Identity, outbox: &mut Outbox) -> Progress {
        let (uid, gid) = self.owner;
        match identity.as_owner(uid, gid, || self.work(turn)) {
            Ok(true) => outbox.push(Event::Done { id }),
            Ok(false) => return Progress::More,
            Err(errno) => outbox.answer(id, Err(self.root.failure("remove", &self.path, errno))),
        }
        Progress::Finished
    }

    /// Removes for one turn; whether all is gone.
    fn work(&mut self, turn: &Turn) -> Result<bool, Errno> {
        if self.folders.is_empty() {
            match remove_entry(&self.above, &self.name)? {
                None => return Ok(true),
                Some(folder) => self.folders.push(folder),
            }
        }
        while !turn.is_over() {
            if self.advance()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes the next entry of the innermost folder, goes into it, or leaves the folder; whether all is gone.
    fn advance(&mut self) -> Result<bool, Errno> {
        let Some(folder) = self.folders.last_mut() else { return Ok(true) };
        match folder.names.read() {
            Some(entry) => {
                let entry = entry?;
                let name = entry.file_name().to_bytes();
                if name != b"."
                    && name != b".."
                    && let Some(below) = remove_entry(&folder.directory, name)?
                {
                    if self.folders.len() == DEEPEST {
                        return Err(Errno::NAMETOOLONG);
                    }
                    self.folders.push(below);
                }
                Ok(false)
            }
            None => self.leave(),
        }
    }

    /// Removes a folder that is empty now. When something was put into it meanwhile, it is emptied again.
    fn leave(&mut self) -> Result<bool, Errno> {
        let Some(mut folder) = self.folders.pop() else { return Ok(true) };
        let above = self.folders.last().map_or(&self.above, |above| &above.directory);
        match unlinkat(above, folder.name.as_slice(), AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(self.folders.is_empty()),
            Err(Errno::NOTEMPTY) => {
                folder.names = Dir::read_from(&folder.directory)?;
                self.folders.push(folder);
                Ok(false)
            }
            Err(errno) => Err(errno),
        }
    }
}

/// Removes an entry of a folder; one that is a folder itself is opened, to be emptied first.
fn remove_entry(above: &OwnedFd, name: &[u8]) -> Result<Option<Folder>, Errno> {
    match unlinkat(above, name, AtFlags::empty()) {
        Ok(()) => return Ok(None),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(errno) => return Err(errno),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(above, name, flags, Mode::empty()) {
        Ok(directory) => {
            let names = Dir::read_from(&directory)?;
            Ok(Some(Folder { name: name.to_vec(), directory, names }))
        }
        // It is no folder: it may just not be removed.
        Err(Errno::NOTDIR | Errno::LOOP) => Err(Errno::PERM),
        Err(errno) => Err(errno),
    }
}
