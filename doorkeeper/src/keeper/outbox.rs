//! Frames that wait to be sent to the worker.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use doorkeeper::protocol::{Event, Failure, encode};
use doorkeeper::socket::send_some;
use rustix::io::Errno;

/// While more than this waits, nothing that streams is read.
const FULL: usize = 1024 * 1024;

/// A frame that waits.
struct Waiting {
    /// Its bytes.
    bytes: Vec<u8>,
    /// Number of bytes that were sent.
    sent: usize,
    /// The descriptor that travels with its first byte.
    descriptor: Option<OwnedFd>,
}

/// Frames in the order in which they are sent.
#[derive(Default)]
pub(crate) struct Outbox {
    /// The frames.
    frames: VecDeque<Waiting>,
    /// Number of bytes in all frames together.
    bytes: usize,
}

impl Outbox {
    /// Adds an event.
    pub(crate) fn push(&mut self, event: Event) {
        self.add(encode(&event.into()), None);
    }

    /// Adds an event with its descriptor, which is closed here once it was sent.
    pub(crate) fn push_descriptor(&mut self, id: u32, descriptor: OwnedFd) {
        self.add(encode(&Event::Descriptor { id }.into()), Some(descriptor));
    }

    /// Adds the answer to a request that is either done or failed.
    pub(crate) fn answer(&mut self, id: u32, result: Result<(), Failure>) {
        self.push(match result {
            Ok(()) => Event::Done { id },
            Err(failure) => Event::Failed { id, failure },
        });
    }

    /// Adds a frame that is encoded already.
    pub(crate) fn push_frame(&mut self, frame: Vec<u8>) {
        self.add(frame, None);
    }

    /// Adds a frame.
    fn add(&mut self, bytes: Vec<u8>, descriptor: Option<OwnedFd>) {
        self.bytes += bytes.len();
        self.frames.push_back(Waiting { bytes, sent: 0, descriptor });
    }

    /// Returns true if it is so full that streams have to wait.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > FULL
    }

    /// Returns true if there is nothing to send.
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Sends as much as the socket takes now.
    pub(crate) fn flush(&mut self, socket: &UnixStream) -> Result<(), Errno> {
        while let Some(frame) = self.frames.front_mut() {
            let descriptor = frame.descriptor.as_ref().map(AsFd::as_fd);
            match send_some(socket, &frame.bytes[frame.sent..], descriptor) {
                Ok(sent) => self.forget(sent),
                // The kernel bounds how many descriptors are under way; it takes more when the worker has read some.
                Err(Errno::AGAIN | Errno::TOOMANYREFS | Errno::NOBUFS | Errno::NOMEM) => return Ok(()),
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Takes bytes that were sent from the first frame.
    fn forget(&mut self, sent: usize) {
        let Some(frame) = self.frames.front_mut() else { return };
        frame.sent += sent;
        frame.descriptor = None;
        self.bytes -= sent;
        if frame.sent == frame.bytes.len() {
            self.frames.pop_front();
        }
    }
}
