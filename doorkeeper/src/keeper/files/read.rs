//! Reading a file.

use std::os::fd::OwnedFd;

use doorkeeper::protocol::{CHUNK, Event, Failure, Stream, WINDOW};
use rustix::io::retry_on_intr;

use super::super::failure::{failed, show};
use super::super::outbox::Outbox;
use super::job::Progress;
use super::root::{Last, open_root};

/// A file that is being read.
pub(crate) struct Read {
    /// The file.
    file: OwnedFd,
    /// Its path, for messages.
    path: Vec<u8>,
    /// How many bytes are read at most yet.
    left: u64,
    /// How many bytes the worker allows.
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
