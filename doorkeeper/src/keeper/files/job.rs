//! Work on files that takes longer than one turn.

use std::time::{Duration, Instant};

use doorkeeper::protocol::Event;

use super::super::clock::{Turn, now};
use super::super::identity::Identity;
use super::super::outbox::Outbox;
use super::{Copy, Fingerprinting, Read, Remove, Walk};

/// Progress of a job in its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The job could go on at once.
    More,
    /// The job waits for credit.
    Waiting,
    /// The job has been answered.
    Finished,
}

/// Interval of the reports that work goes on.
const TELL: Duration = Duration::from_secs(5);

/// Work on files that was asked for.
pub(crate) struct Task {
    job: Job,
    progress: Progress,
    /// When something was told of it last.
    told: Instant,
}

impl Task {
    /// Work that has not begun.
    pub(crate) fn new(job: Job) -> Self {
        Self { job, progress: Progress::More, told: now() }
    }

    /// Returns the progress of the job.
    pub(crate) fn progress(&self) -> Progress {
        self.progress
    }

    /// Works for one turn, and tells that it does when that takes long: an agent can leave much to work on.
    pub(crate) fn step(&mut self, id: u32, identity: &Identity, outbox: &mut Outbox) {
        self.progress = self.job.step(id, identity, outbox);
        if self.progress == Progress::More && now().duration_since(self.told) >= TELL {
            outbox.push(Event::Working { id });
            self.told = now();
        }
    }

    /// Allows more bytes.
    pub(crate) fn credit(&mut self, bytes: u32) {
        self.job.credit(bytes);
        self.progress = Progress::More;
    }
}

/// Work on files.
pub(crate) enum Job {
    /// Reads a file.
    Read(Read),
    /// Lists a folder.
    Walk(Walk),
    /// Takes fingerprints of files.
    Fingerprint(Box<Fingerprinting>),
    /// Copies a folder.
    Copy(Copy),
    /// Removes something.
    Remove(Box<Remove>),
}

impl Job {
    /// Works for one turn.
    fn step(&mut self, id: u32, identity: &Identity, outbox: &mut Outbox) -> Progress {
        let turn = Turn::begin();
        match self {
            Self::Read(read) => read.step(id, outbox),
            Self::Walk(walk) => walk.step(id, &turn, outbox),
            Self::Fingerprint(fingerprinting) => fingerprinting.step(id, &turn, outbox),
            Self::Copy(copy) => copy.step(id, &turn, identity, outbox),
            Self::Remove(remove) => remove.step(id, &turn, identity, outbox),
        }
    }

    /// Allows more bytes.
    fn credit(&mut self, bytes: u32) {
        match self {
            Self::Read(read) => read.credit(bytes),
            Self::Walk(walk) => walk.credit(bytes),
            Self::Fingerprint(_) | Self::Copy(_) | Self::Remove(_) => {}
        }
    }
}
