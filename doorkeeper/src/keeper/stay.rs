//! Staying after the worker has gone, so that a person can look around.
//!
//! A visitor listens where the worker did, and the doorkeeper connects to it: nobody inside can reach that place, and
//! no other process is left when it does. The end of a visit ends everything that was started in it.

use std::net::Shutdown;
use std::time::Duration;

use doorkeeper::protocol::Event;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::door::greet;
use super::failure::refused;
use super::outbox::Outbox;
use super::start::Ending;
use super::sweep::kill_others;
use super::{Keeper, Next};
use crate::sys;

/// Interval of checks whether a visitor listens.
const LOOK: Duration = Duration::from_millis(200);

impl Keeper {
    /// Answers a request to stay. Refuses it while commands or work on files are under way.
    pub(super) fn agree_to_stay(&mut self, id: u32) -> Next {
        if self.commands.is_empty() && self.jobs.is_empty() && self.sweep.is_none() {
            self.outbox.push(Event::Done { id });
            return Next::Stay;
        }
        let failure = refused("commands or work on files are still under way".to_owned());
        self.outbox.push(Event::Failed { id, failure });
        Next::GoOn
    }

    /// Sends the last answers, hangs up, and reaps processes that end, until a visitor is connected or a signal ends
    /// it.
    pub(super) fn wait_for_visitor(&mut self) -> Result<(), Ending> {
        loop {
            std::iter::from_fn(sys::wait_any).for_each(drop);
            if self.outbox.flush(&self.stream).is_err() {
                // The worker has gone already, and hears no answer.
                self.outbox = Outbox::default();
            }
            if self.outbox.is_empty() {
                // The second time there is nobody to hang up on.
                let _ = self.stream.shutdown(Shutdown::Both);
                if self.let_in() {
                    return Ok(());
                }
            }
            self.wait_for_signals().map_err(Ending::Connection)?;
            self.hear_signals()?;
        }
    }

    /// Connects to a visitor that listens. Kills all other processes of the sandbox before that: one that is left could
    /// pose as the visitor.
    fn let_in(&mut self) -> bool {
        if !self.door.has_listener() || !kill_others(&self.identity) {
            return false;
        }
        let Ok(stream) = self.door.connect(self.identity.is_init) else { return false };
        match greet(stream) {
            Ok((stream, decoder)) => {
                (self.stream, self.decoder) = (stream, decoder);
                true
            }
            Err(_) => false,
        }
    }

    /// Serves the requests of a visitor. When it leaves, or its connection fails, the doorkeeper stays as before.
    pub(super) fn receive_visitor(&mut self) -> Result<Next, Ending> {
        match self.serve() {
            Ok(next) => Ok(next),
            Err(Ending::Terminated) => Err(Ending::Terminated),
            Err(_) => {
                self.forget_visitor();
                Ok(Next::Stay)
            }
        }
    }

    /// Ends everything that a visitor started.
    fn forget_visitor(&mut self) {
        self.commands.clear();
        self.jobs.clear();
        self.sweep = None;
        self.outbox = Outbox::default();
        self.end_everybody();
    }

    /// Waits until a signal arrived, the worker takes more of the last answers, or it is time to look for a visitor.
    fn wait_for_signals(&self) -> Result<(), Errno> {
        let mut polled = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if !self.outbox.is_empty() {
            polled.push(PollFd::new(&self.stream, PollFlags::OUT));
        }
        let patience = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
        match poll(&mut polled, Some(&patience)) {
            Ok(_) | Err(Errno::INTR | Errno::NOMEM | Errno::AGAIN) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}
