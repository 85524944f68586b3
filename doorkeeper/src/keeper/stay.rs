//! Staying after the worker has gone, so that a person can look around.

use std::net::Shutdown;

use doorkeeper::protocol::Event;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::failure::refused;
use super::outbox::Outbox;
use super::start::Ending;
use super::{Keeper, Next};
use crate::sys;

impl Keeper {
    /// Answers a request to stay. Whoever asks has ended everything else before.
    pub(super) fn agree_to_stay(&mut self, id: u32) -> Next {
        if self.commands.is_empty() && self.jobs.is_empty() && self.sweep.is_none() {
            self.outbox.push(Event::Done { id });
            return Next::Stay;
        }
        let failure = refused("commands or work on files are still under way".to_owned());
        self.outbox.push(Event::Failed { id, failure });
        Next::GoOn
    }

    /// Says what is left to say, hangs up, and takes the processes that end, until a signal ends it.
    pub(super) fn stay(&mut self) -> Result<(), Ending> {
        loop {
            std::iter::from_fn(sys::wait_any).for_each(drop);
            if self.outbox.flush(&self.stream).is_err() {
                // The worker has gone already, and hears no answer.
                self.outbox = Outbox::default();
            }
            if self.outbox.is_empty() {
                // The second time there is nobody to hang up on.
                let _ = self.stream.shutdown(Shutdown::Both);
            }
            self.wait_for_signals().map_err(Ending::Connection)?;
            self.hear_signals()?;
        }
    }

    /// Waits until a signal arrived, or the worker takes more of what is left to say.
    fn wait_for_signals(&self) -> Result<(), Errno> {
        let mut polled = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if !self.outbox.is_empty() {
            polled.push(PollFd::new(&self.stream, PollFlags::OUT));
        }
        match poll(&mut polled, None) {
            Ok(_) | Err(Errno::INTR | Errno::NOMEM | Errno::AGAIN) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}
