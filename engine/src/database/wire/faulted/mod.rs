//! Faults between a client and a database: on whole messages, where their statements are known.
//!
//! A statement that fails is not answered by us alone. The server gets another message in its place, and its answer is replaced:
//! so answers keep their order, and a transaction is in the state that the client believes.

mod call;
mod connection;
mod failure;
mod lost;
mod pieces;
#[cfg(test)]
mod tests;

use gateways::faults::Fault;
use scenario::spec::StatementCall;
use scenario::spec::sections::ServiceMode;

pub(super) use call::{Standing, call_of};
pub(super) use connection::{Converse, FaultedConnection};
pub(super) use failure::Failure;

use super::frames::Kind;
use super::{Conversation, Unfollowable};

/// A statement whose place something else took on the way to the server.
#[derive(Debug)]
pub(super) struct Refused {
    /// The fault.
    pub(super) fault: Fault<ServiceMode>,
    /// True when the client was told.
    pub(super) is_told: bool,
}

impl Refused {
    /// A statement that the client does not know to have failed yet.
    pub(super) fn new(fault: Fault<ServiceMode>) -> Self {
        Self { fault, is_told: false }
    }
}

/// A conversation whose statements can be faulted. All messages are whole, with their headers.
pub(super) trait Faultable: Conversation {
    /// Returns the protocol, which decides how its messages are cut.
    fn kind(&self) -> Kind;

    /// Finds out which tables statements read, too.
    fn want_reads(&mut self);

    /// Returns true if the client has logged in, and sends statements.
    fn is_logged_in(&self) -> bool;

    /// The statements that a message of the client runs; `None` when it runs none.
    fn call(&self, message: &[u8]) -> Option<StatementCall>;

    /// Makes a statement fail: returns the message for the server in its place.
    fn refuse(&mut self, message: &[u8], fault: Fault<ServiceMode>) -> Result<Vec<u8>, Unfollowable>;

    /// Returns the replacement that the client gets for a message of the server, before that is followed; `None` when
    /// it gets the message as it is.
    fn replacement(&mut self, message: &[u8]) -> Option<Vec<u8>>;

    /// Faults whose statements failed for another reason, or got no answer.
    fn undone(&mut self) -> Vec<Fault<ServiceMode>>;

    /// The last message of a session that an administrator ended.
    fn killed(&self) -> Vec<u8>;

    /// Returns the number of ends of answers that the server owes for messages so far.
    fn owed(&self) -> usize;

    /// Returns the number of ends of answers that it owes for this message besides, once the client has sent everything
    /// that belongs to it.
    fn owed_later(&self, message: &[u8]) -> usize;

    /// Tells if a message of the server says that a commit failed (`true`) or was made (`false`).
    fn tells_failure(&self, message: &[u8]) -> Option<bool>;
}
