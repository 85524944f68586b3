//! Standard input of a command.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use doorkeeper::protocol::{CHUNK, Failure};
use rustix::io::{Errno, retry_on_intr};

use super::failure::{failed, refused};
use super::outbox::Outbox;

/// The standard input of a command, as long as it is open.
pub(crate) struct Input {
    /// Write end of standard input.
    descriptor: OwnedFd,
    /// Bytes that are still to be written.
    waiting: Vec<u8>,
    /// The request that is answered once all of it was taken.
    request: Option<u32>,
    /// True when it stays open after that.
    more: bool,
}

impl Input {
    /// Standard input that begins with some bytes; `None` when that is nothing, and nothing comes after it.
    pub(crate) fn new(descriptor: OwnedFd, waiting: Vec<u8>, more: bool) -> Option<Self> {
        (more || !waiting.is_empty()).then_some(Self { descriptor, waiting, request: None, more })
    }

    /// The descriptor to wait for, when there is something to write.
    pub(crate) fn interest(&self) -> Option<BorrowedFd<'_>> {
        (!self.waiting.is_empty()).then(|| self.descriptor.as_fd())
    }

    /// Adds bytes; none mean the end. The answer comes when they were taken.
    pub(crate) fn add(&mut self, request: u32, bytes: Vec<u8>) -> Result<(), Failure> {
        if !self.waiting.is_empty() || !self.more {
            return Err(refused("the command has not taken its last input yet"));
        }
        self.more = !bytes.is_empty();
        self.waiting = bytes;
        self.request = Some(request);
        Ok(())
    }

    /// Writes as much as the pipe takes now. Returns false if it is closed: it ended, or nobody reads it.
    pub(crate) fn feed(&mut self, outbox: &mut Outbox) -> bool {
        let piece = &self.waiting[..self.waiting.len().min(CHUNK)];
        if !piece.is_empty() {
            match retry_on_intr(|| rustix::io::write(&self.descriptor, piece)) {
                Ok(written) => drop(self.waiting.drain(..written)),
                Err(Errno::AGAIN) => return true,
                // Nobody reads it, which is the command's own business.
                Err(_) => {
                    self.refuse(outbox);
                    return false;
                }
            }
        }
        if self.waiting.is_empty()
            && let Some(request) = self.request.take()
        {
            outbox.answer(request, Ok(()));
        }
        self.more || !self.waiting.is_empty()
    }

    /// Answers a waiting request with a failure: the command does not read any more.
    pub(crate) fn refuse(&mut self, outbox: &mut Outbox) {
        if let Some(request) = self.request.take() {
            outbox.answer(request, Err(closed()));
        }
    }
}

/// The failure of input for a command that reads no more.
pub(crate) fn closed() -> Failure {
    failed(Errno::PIPE, "write to the command's standard input")
}
