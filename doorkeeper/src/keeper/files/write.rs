//! Writing files, folders and links. Links are followed freely: whatever they lead to is inside the sandbox.

use std::os::fd::OwnedFd;

use doorkeeper::protocol::{EntryKind, Failure, WriteFile};
use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, fchmod, fchown, fstat, mkdir, openat, rename, stat, symlink, unlinkat,
};
use rustix::io::{Errno, retry_on_intr};

use super::super::failure::{failed, refused, show};
use super::super::identity::Identity;
use super::kind;

/// The permissions of folders that are made on the way.
const PARENT_MODE: u32 = 0o755;

/// Writes (a part of) a file, a folder or a link.
pub(crate) fn write(file: &WriteFile, identity: &Identity) -> Result<(), Failure> {
    if !file.path.starts_with(b"/") || file.kind == EntryKind::Other {
        return Err(refused(format!("write {}: only files, folders and links at absolute paths", show(&file.path))));
    }
    let result = if file.kind == EntryKind::Directory {
        write_directory(file, identity)
    } else {
        match identity.as_owner(file.uid, file.gid, || write_entry(file)) {
            // What its owner may not write any more is not finished yet.
            Err(Errno::ACCESS) if file.append => write_entry(file),
            result => result,
        }
    };
    result.map_err(|errno| failed(errno, format!("write {}", show(&file.path))))
}

/// Makes a folder if there is none, and sets its permissions.
fn write_directory(file: &WriteFile, identity: &Identity) -> Result<(), Errno> {
    identity.as_owner(file.uid, file.gid, || {
        make_parents(&file.path)?;
        make_directory(&file.path)
    })?;
    // A folder that was there can belong to somebody else, and only its owner may change it.
    let there = stat(file.path.as_slice())?;
    if there.st_mode & 0o7777 == file.mode & 0o7777 {
        return Ok(());
    }
    identity.as_owner(there.st_uid, there.st_gid, || {
        rustix::fs::chmod(file.path.as_slice(), Mode::from_raw_mode(file.mode & 0o7777))
    })
}

/// Makes a file or a link, or adds to a file.
fn write_entry(file: &WriteFile) -> Result<(), Errno> {
    if file.append {
        // A pipe that nobody reads would keep the doorkeeper waiting.
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let opened = openat(CWD, file.path.as_slice(), flags, Mode::empty())?;
        return write_all(&opened, &file.content);
    }
    make_parents(&file.path)?;
    let temporary = [file.path.as_slice(), b".doorkeeper"].concat();
    let made = match file.kind {
        EntryKind::Link => make_link(&file.content, &temporary),
        _ => make_file(file, &temporary),
    };
    let result = made.and_then(|()| rename(temporary.as_slice(), file.path.as_slice()));
    if result.is_err() {
        let _ = unlinkat(CWD, temporary.as_slice(), AtFlags::empty());
    }
    result
}

/// Makes a link, in place of one that an interrupted write left behind.
fn make_link(target: &[u8], path: &[u8]) -> Result<(), Errno> {
    let _ = unlinkat(CWD, path, AtFlags::empty());
    symlink(target, path)
}

/// Makes a file with its owner, permissions and content.
fn make_file(file: &WriteFile, path: &[u8]) -> Result<(), Errno> {
    let _ = unlinkat(CWD, path, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let made = openat(CWD, path, flags, Mode::from_raw_mode(0o600))?;
    write_all(&made, &file.content)?;
    finish(&made, file.gid, file.mode)
}

/// Sets group and permissions of a file that the caller owns. In some folders files get the folder's group.
pub(super) fn finish(made: &OwnedFd, gid: u32, mode: u32) -> Result<(), Errno> {
    if fstat(made)?.st_gid != gid {
        fchown(made, None, Some(Gid::from_raw(gid)))?;
    }
    fchmod(made, Mode::from_raw_mode(mode & 0o7777))
}

/// Writes all bytes.
pub(super) fn write_all(file: &OwnedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        let written = retry_on_intr(|| rustix::io::write(file, bytes))?;
        bytes = &bytes[written..];
    }
    Ok(())
}

/// Makes the folders above a path that are not there.
fn make_parents(path: &[u8]) -> Result<(), Errno> {
    let trimmed = path.strip_suffix(b"/").unwrap_or(path);
    let slashes = trimmed.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(index, _)| index);
    for end in slashes.filter(|end| *end > 0) {
        make_directory(&trimmed[..end])?;
    }
    Ok(())
}

/// Makes a folder if there is none.
pub(super) fn make_directory(path: &[u8]) -> Result<(), Errno> {
    match mkdir(path, Mode::from_raw_mode(PARENT_MODE)) {
        // A read-only file system says so before it looks whether the folder is there.
        Err(errno @ (Errno::EXIST | Errno::ROFS | Errno::ACCESS)) => match kind(&stat(path)?) {
            EntryKind::Directory => Ok(()),
            _ if errno == Errno::EXIST => Err(Errno::NOTDIR),
            _ => Err(errno),
        },
        result => result,
    }
}
