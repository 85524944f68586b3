//! Protocol between the worker and the doorkeeper.
//!
//! A frame is a length (four bytes, big-endian), a kind (one byte) and the fields of the message. Frames of the worker
//! are [`Request`]s with a number that it chose; the doorkeeper answers with [`Event`]s that carry the number. The first
//! frame in each direction is the greeting, which carries [`VERSION`].
//!
//! Streams (output, file content, entries) are held back by credit: the doorkeeper sends at most [`WINDOW`] bytes a
//! stream and then waits for [`Request::Credit`]. So neither side ever buffers more than that.

mod codec;
mod messages;
mod wire;

pub use codec::{DecodeError, Decoder, Message, encode};
pub use messages::{
    Copied, Entry, EntryKind, Event, Exited, Failure, Fingerprint, Greeting, Listed, Request, Space, Spawn, Status,
    Stream, Transport, Used, WindowSize, WriteFile,
};

/// The version of the protocol. Both sides come from one build, so any other version is a mistake.
pub const VERSION: u16 = 5;
/// The longest frame, without its length.
pub const MAX_FRAME: usize = 4 * 1024 * 1024;
/// The most bytes that one frame of a stream carries.
pub const CHUNK: usize = 64 * 1024;
/// Number of bytes of one stream that may be under way before the worker has to give credit.
pub const WINDOW: u32 = 256 * 1024;
/// The user that the doorkeeper turns itself into. No command may be started as this user.
pub const DOORKEEPER_UID: u32 = 65532;
