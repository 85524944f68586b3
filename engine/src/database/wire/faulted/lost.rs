//! A commit whose answer the client does not get.

use gateways::faults::Fault;
use scenario::spec::sections::ServiceMode;

/// The longest answer that is held back until it is known what became of the commit.
const LONGEST_ANSWER: usize = 16 << 20;

/// A commit that is under way.
#[derive(Debug)]
pub(super) struct Lost {
    fault: Fault<ServiceMode>,
    /// Number of ends of answers until its own.
    owed: usize,
    /// The answers until then.
    held: Vec<u8>,
    has_failed: bool,
}

/// The outcome of a commit.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The outcome is not known yet.
    Open(Lost),
    /// The commit was made: the client gets no further bytes.
    Made,
    /// The commit failed, or its answer is too long to be held back: the client gets it, and there was no fault.
    Refused(Vec<u8>, Fault<ServiceMode>),
}

impl Lost {
    /// A commit after which the server owes so many ends of answers.
    pub(super) fn new(fault: Fault<ServiceMode>, owed: usize) -> Self {
        Self { fault, owed, held: Vec::new(), has_failed: false }
    }

    /// Takes a message of the server: what the client would get of it, how many ends of answers it is, and whether it tells that
    /// something failed.
    pub(super) fn heard(mut self, to_client: &[u8], ends: usize, failed: Option<bool>) -> Outcome {
        self.held.extend_from_slice(to_client);
        self.has_failed = failed.unwrap_or(self.has_failed);
        self.owed = self.owed.saturating_sub(ends);
        let is_over = self.owed == 0;
        match is_over {
            true if !self.has_failed => Outcome::Made,
            false if self.held.len() <= LONGEST_ANSWER => Outcome::Open(self),
            _ => Outcome::Refused(self.held, self.fault),
        }
    }

    /// The fault, when the connection ended before anything was known.
    pub(super) fn into_fault(self) -> Fault<ServiceMode> {
        self.fault
    }
}
