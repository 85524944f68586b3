//! Fills a file system, and frees the space again.

use std::os::fd::OwnedFd;

use doorkeeper::protocol::Failure;
use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate, fstatvfs, open};
use rustix::io::Errno;

use super::failure::{failed, show};

/// Number of times that the space is filled again, because another process wrote or removed something in between.
const ROUNDS: usize = 20;

/// A file without a name that takes up room, until it is dropped.
pub(crate) struct Filling {
    _file: OwnedFd,
}

impl Filling {
    /// Fills the file system of a folder, and leaves this many bytes.
    pub(crate) fn take(folder: &[u8], leave: u64) -> Result<Self, Failure> {
        fill(folder, leave).map_err(|errno| failed(errno, format!("fill the file system of {}", show(folder))))
    }
}

fn fill(folder: &[u8], leave: u64) -> Result<Filling, Errno> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let file = open(folder, flags, Mode::from_raw_mode(0o600))?;
    let mut taken = 0;
    for _ in 0..ROUNDS {
        let space = fstatvfs(&file)?;
        let free = space.f_bavail.saturating_mul(space.f_frsize);
        let Some(more) = free.checked_sub(leave).filter(|more| *more >= space.f_frsize) else { break };
        // Whole pages: the rest of the last one is not there for anybody else.
        let more = more / space.f_frsize * space.f_frsize;
        match fallocate(&file, FallocateFlags::empty(), taken, more) {
            Ok(()) => taken += more,
            // Somebody took some of it first.
            Err(Errno::NOSPC) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(Filling { _file: file })
}
