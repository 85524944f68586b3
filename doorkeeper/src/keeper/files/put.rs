//! Writing a file below a folder, without following a link out of it.
//!
//! Unlike [`super::write`], this is for a sandbox in which an agent acts: between two looks anything can become a link.
//! So the folder above is found once, and everything is done relative to it.

use std::os::fd::OwnedFd;

use doorkeeper::protocol::{EntryKind, Failure, WriteFile};
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use super::super::identity::Identity;
use super::kind;
use super::root::{Last, Root, open_root, split};
use super::write::{finish, write_all};

/// The permissions of folders that are made on the way.
const PARENT_MODE: u32 = 0o755;

/// Writes a file, or adds to it. An existing file keeps its permissions; an existing link is replaced.
pub(crate) fn put(root: &[u8], file: &WriteFile, identity: &Identity) -> Result<(), Failure> {
    let root = open_root(root)?;
    let written = match split(&file.path) {
        Some((above, name)) if file.kind == EntryKind::File => {
            identity.as_owner(file.uid, file.gid, || put_in(&root, above, name, file))
        }
        _ => Err(Errno::INVAL),
    };
    written.map_err(|errno| root.failure("write", &file.path, errno))
}

fn put_in(root: &Root, above: &[u8], name: &[u8], file: &WriteFile) -> Result<(), Errno> {
    if file.append {
        let folder = root.find(above, Last::Follow)?.open_directory()?;
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        return write_all(&openat(&folder, name, flags, Mode::empty())?, &file.content);
    }
    let folder = make_folders(root, above)?;
    let mode = match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if kind(&stat) == EntryKind::File => stat.st_mode,
        _ => file.mode,
    };
    let temporary = [name, b".doorkeeper"].concat();
    let result = make(&folder, &temporary, file, mode).and_then(|()| renameat(&folder, &temporary, &folder, name));
    if result.is_err() {
        let _ = unlinkat(&folder, &temporary, AtFlags::empty());
    }
    result
}

/// Makes a file with its permissions and content, in place of one that an interrupted write left behind.
fn make(folder: &OwnedFd, name: &[u8], file: &WriteFile, mode: u32) -> Result<(), Errno> {
    let _ = unlinkat(folder, name, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let made = openat(folder, name, flags, Mode::from_raw_mode(0o600))?;
    write_all(&made, &file.content)?;
    finish(&made, file.gid, mode)
}

/// Opens a folder, and makes the missing part of its path.
fn make_folders(root: &Root, path: &[u8]) -> Result<OwnedFd, Errno> {
    let mut missing = Vec::new();
    let mut there = path;
    let mut folder = loop {
        match root.find(there, Last::Follow) {
            Ok(found) => break found.open_directory()?,
            Err(Errno::NOENT) => {
                let (above, name) = split(there).ok_or(Errno::NOENT)?;
                missing.push(name);
                there = above;
            }
            Err(errno) => return Err(errno),
        }
    };
    for name in missing.iter().rev() {
        mkdirat(&folder, *name, Mode::from_raw_mode(PARENT_MODE))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        folder = openat(&folder, *name, flags, Mode::empty())?;
    }
    Ok(folder)
}
