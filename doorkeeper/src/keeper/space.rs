//! Free space of file systems.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use doorkeeper::protocol::{Failure, Space};
use rustix::fs::{Mode, OFlags, fstat, fstatvfs, open};
use rustix::io::Errno;

use super::clock::now;
use super::failure::{failed, show};

/// Interval of looks at the watched file system while commands run.
pub(crate) const PERIOD: Duration = Duration::from_millis(50);

/// Watches how full one file system gets.
pub(crate) struct SpaceWatch {
    /// The watched path, once it could be opened.
    watched: Option<OwnedFd>,
    /// The least that was seen free there.
    least_free: u64,
    /// When it was looked at.
    looked: Option<Instant>,
    /// True while the space is filled on purpose.
    paused: bool,
}

impl SpaceWatch {
    /// Watches the file system of a path, if one is given.
    pub(crate) fn new(path: Option<&OsStr>) -> Self {
        let watched = path.and_then(|path| open_path(path.as_bytes()).ok());
        Self { watched, least_free: u64::MAX, looked: None, paused: false }
    }

    /// Returns true if there is a file system to watch.
    pub(crate) fn is_watching(&self) -> bool {
        self.watched.is_some()
    }

    /// Samples the free space, if the last sample is old enough.
    pub(crate) fn sample_sometimes(&mut self) {
        if self.looked.is_none_or(|looked| now().duration_since(looked) >= PERIOD) {
            self.sample();
        }
    }

    /// Stops to look how much is free, or goes on.
    pub(crate) fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// Samples the free space, and keeps the least.
    pub(crate) fn sample(&mut self) {
        let Some(watched) = self.watched.as_ref().filter(|_| !self.paused) else { return };
        self.looked = Some(now());
        if let Ok(space) = look(watched) {
            self.least_free = self.least_free.min(space.free);
        }
    }

    /// Returns the space of a path's file system, and resets the least that was free.
    pub(crate) fn ask(&mut self, path: &[u8]) -> Result<Space, Failure> {
        let asked = open_path(path).and_then(|asked| Ok((look(&asked)?, fstat(&asked)?.st_dev)));
        let (mut space, device) =
            asked.map_err(|errno| failed(errno, format!("look at the space of {}", show(path))))?;
        let same = self.watched.as_ref().and_then(|watched| fstat(watched).ok());
        if same.is_some_and(|watched| watched.st_dev == device) {
            space.least_free = self.least_free.min(space.free);
            self.least_free = u64::MAX;
        }
        Ok(space)
    }
}

/// Opens a path, only to ask about it.
fn open_path(path: &[u8]) -> Result<OwnedFd, Errno> {
    open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

/// Returns the space of a file system.
fn look(descriptor: &OwnedFd) -> Result<Space, Errno> {
    let space = fstatvfs(descriptor)?;
    let bytes = |blocks: u64| blocks.saturating_mul(space.f_frsize);
    let free = bytes(space.f_bavail);
    Ok(Space { total: bytes(space.f_blocks), free, least_free: free, free_inodes: space.f_favail })
}
