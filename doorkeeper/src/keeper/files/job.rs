//! Work on files that takes longer than one turn.

use super::super::clock::Turn;
use super::super::identity::Identity;
use super::super::outbox::Outbox;
use super::{Copy, Read, Remove, Walk};

/// How far a job came in its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It could go on at once.
    More,
    /// It waits for credit.
    Waiting,
    /// It was answered.
    Finished,
}

/// Work on files.
pub(crate) enum Job {
    /// Reads a file.
    Read(Read),
    /// Lists a folder.
    Walk(Walk),
    /// Copies a folder.
    Copy(Copy),
    /// Removes something.
    Remove(Box<Remove>),
}

impl Job {
    /// Works for one turn.
    pub(crate) fn step(&mut self, id: u32, identity: &Identity, outbox: &mut Outbox) -> Progress {
        let turn = Turn::begin();
        match self {
            Self::Read(read) => read.step(id, outbox),
            Self::Walk(walk) => walk.step(id, &turn, outbox),
            Self::Copy(copy) => copy.step(id, &turn, identity, outbox),
            Self::Remove(remove) => remove.step(id, &turn, identity, outbox),
        }
    }

    /// Allows more bytes.
    pub(crate) fn credit(&mut self, bytes: u32) {
        match self {
            Self::Read(read) => read.credit(bytes),
            Self::Walk(walk) => walk.credit(bytes),
            Self::Copy(_) | Self::Remove(_) => {}
        }
    }
}
