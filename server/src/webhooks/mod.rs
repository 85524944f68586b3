//! Messages to the outside: where they may go, how they are signed, and how they are sent.
//!
//! A webhook leads wherever somebody with a key says, from a machine that may reach more than they do. So an address of
//! this machine or of a private network is refused: when the webhook is written down, as far as its URL tells, and again
//! for each message, after its name was looked up. What was looked at is what is connected to, and no redirect is followed.

mod address;
mod send;
mod signature;

pub(crate) use address::{SystemNames, target};
pub(crate) use send::{Failed, Message, send};
pub(crate) use signature::sign;
