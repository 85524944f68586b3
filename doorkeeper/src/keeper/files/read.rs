//! Reading a file.

use std::ffi::CString;
use std::os::fd::OwnedFd;

use doorkeeper::protocol::{CHUNK, Event, Failure, Stream, WINDOW};
use rustix::fs::{FileType, readlinkat};
use rustix::io::{Errno, retry_on_intr};

use super::super::failure::{failed, show};
use super::super::outbox::Outbox;
use super::file_type;
use super::job::Progress;
use super::root::{Last, open_root};

/// Returns the target of a link, as it is written.
pub(crate) fn read_link(root: &[u8], path: &[u8]) -> Result<Vec<u8>, Failure> {
    let root = open_root(root)?;
    let target = root.find(path, Last::Keep).and_then(|found| match file_type(&found.stat) {
        FileType::Symlink => readlinkat(&found.descriptor, "", Vec::new()),
        _ => Err(Errno::INVAL),
    });
    target.map(CString::into_bytes).map_err(|errno| root.failure("read the link", path, errno))
}

/// A file that is being read.
pub(crate) struct Read {
    /// The file.
    file: OwnedFd,
    /// Its path, for messages.
    path: Vec<u8>,
    /// Number of bytes that may still be read.
    left: u64,
    /// Number of bytes that the worker allows.
    credit: u64,
}

impl Read {
    /// Finds and opens the file.
    pub(crate) fn begin(root: &[u8], path: Vec<u8>, limit: u64) -> Result<Self, Failure> {
        let root = open_root(root)?;
        let file = root.find(&path, Last::Follow).and_then(|found| found.open_file());
        let file = file.map_err(|errno| root.failure("read", &path, errno))?;
        Ok(Self { file, path, left: limit, credit: u64::from(WINDOW) })
    }

    /// Allows more bytes.
    pub(crate) fn credit(&mut self, bytes: u32) {
        self.credit = self.credit.saturating_add(u64::from(bytes));
    }

    /// Reads and sends one piece. The end is where reading ends: files of `/proc` say that they are empty.
    pub(crate) fn step(&mut self, id: u32, outbox: &mut Outbox) -> Progress {
        if self.left > 0 && self.credit == 0 {
            return Progress::Waiting;
        }
        let wanted = self.left.min(self.credit);
        let mut bytes = vec![0; usize::try_from(wanted).unwrap_or(CHUNK).min(CHUNK)];
        match retry_on_intr(|| rustix::io::read(&self.file, &mut bytes)) {
            Ok(0) => outbox.push(Event::Done { id }),
            Ok(read) => {
                bytes.truncate(read);
                self.left -= read as u64;
                self.credit -= read as u64;
                outbox.push(Event::Data { id, stream: Stream::Out, bytes });
                return Progress::More;
            }
            Err(errno) => outbox.answer(id, Err(failed(errno, format!("read {}", show(&self.path))))),
        }
        Progress::Finished
    }
}
