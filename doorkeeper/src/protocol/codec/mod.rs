//! Messages to frames and back.

use std::fmt;

use super::messages::{Event, Greeting, Request};
use super::wire::Wire;
use super::{MAX_FRAME, VERSION};

/// The bytes of a frame's length.
const PREFIX: usize = 4;

/// Anything that one side can say to the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// The first frame in each direction.
    Greeting(Greeting),
    /// A request of the worker.
    Request(Request),
    /// An answer of the doorkeeper.
    Event(Event),
}

impl Message {
    /// The greeting of this build.
    #[must_use]
    pub fn greeting() -> Self {
        Self::Greeting(Greeting { version: VERSION })
    }
}

impl From<Request> for Message {
    fn from(request: Request) -> Self {
        Self::Request(request)
    }
}

impl From<Event> for Message {
    fn from(event: Event) -> Self {
        Self::Event(event)
    }
}

/// Defines the kind byte of every message once, for writing and for reading.
macro_rules! kinds {
    ($($kind:literal => $outer:ident :: $variant:ident { $($field:ident),* })*) => {
        /// Appends the kind and the fields.
        fn put(message: &Message, frame: &mut Vec<u8>) {
            match message {
                Message::Greeting(greeting) => {
                    frame.push(0);
                    greeting.put(frame);
                }
                $(Message::$outer($outer::$variant { $($field),* }) => {
                    frame.push($kind);
                    $($field.put(frame);)*
                })*
            }
        }

        /// Takes the kind and the fields.
        fn take(frame: &mut &[u8]) -> Result<Message, DecodeError> {
            match u8::take(frame)? {
                0 => Ok(Message::Greeting(Greeting::take(frame)?)),
                $($kind => Ok(Message::$outer($outer::$variant { $($field: Wire::take(frame)?),* })),)*
                kind => Err(DecodeError::UnknownKind(kind)),
            }
        }
    };
}

kinds! {
    1 => Request::Spawn { id, spawn }
    2 => Request::Signal { id, command, signal }
    3 => Request::KillAll { id }
    4 => Request::Listen { id, transport, address }
    5 => Request::Connect { id, address }
    6 => Request::Read { id, root, path, limit }
    7 => Request::Write { id, file }
    8 => Request::Walk { id, root, path, most, recursive }
    9 => Request::Copy { id, from, to }
    10 => Request::Space { id, path }
    11 => Request::Credit { id, stream, bytes }
    12 => Request::Cancel { id }
    13 => Request::Shutdown {}
    14 => Request::Stay { id }
    15 => Request::Put { id, root, file }
    16 => Request::Remove { id, root, path, uid, gid }
    17 => Request::Used { id }
    18 => Request::Fingerprint { id, root, paths, most_bytes }
    19 => Request::ReadLink { id, root, path }
    20 => Request::Input { id, command, bytes }
    21 => Request::Resize { id, command, size }
    22 => Request::SetMode { id, root, path, mode }
    23 => Request::Fill { id, path, leave }
    24 => Request::Unfill { id }
    25 => Request::SignalAll { id, signal }
    128 => Event::Done { id }
    129 => Event::Failed { id, failure }
    130 => Event::Started { id, pid }
    131 => Event::Data { id, stream, bytes }
    132 => Event::Exited { id, exited }
    133 => Event::Descriptor { id }
    134 => Event::Entries { id, entries }
    135 => Event::Listed { id, listed }
    136 => Event::Copied { id, copied }
    137 => Event::Space { id, space }
    138 => Event::Used { id, used }
    139 => Event::Fingerprints { id, fingerprints, bytes }
    140 => Event::Working { id }
}

/// Makes a frame of a message, with its length in front.
///
/// A message that is longer than [`MAX_FRAME`] becomes a frame that the other side refuses; callers that write files or
/// standard input keep each message below it.
#[must_use]
pub fn encode(message: &Message) -> Vec<u8> {
    let mut frame = vec![0; PREFIX];
    put(message, &mut frame);
    let length = u32::try_from(frame.len() - PREFIX).unwrap_or(u32::MAX);
    frame[..PREFIX].copy_from_slice(&length.to_be_bytes());
    frame
}

impl Event {
    /// Returns the bytes of credit that the event uses up: the bytes of [`Event::Data`], the whole frame (with its
    /// length) of [`Event::Entries`], and nothing for all others. The worker gives them back with [`Request::Credit`].
    #[must_use]
    pub fn credit(&self) -> u32 {
        let bytes = match self {
            Self::Data { bytes, .. } => bytes.len(),
            Self::Entries { .. } => encode(&Message::Event(self.clone())).len(),
            _ => 0,
        };
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

/// Reason why bytes are not a message. The connection is of no use afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecodeError {
    /// The frame is longer than [`MAX_FRAME`], or empty.
    Length(u32),
    /// The frame ends before its message does.
    Truncated,
    /// The frame goes on after its message.
    TrailingBytes(usize),
    /// The kind of message is unknown.
    UnknownKind(u8),
    /// A field has a value that is none of its own.
    UnknownTag {
        /// The type of the field.
        of: &'static str,
        /// The value.
        tag: u8,
    },
    /// A list has more items than any message needs.
    TooMany {
        /// Number of descriptors.
        count: usize,
    },
    /// A text is not UTF-8.
    NotText,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(length) => write!(formatter, "a frame of {length} bytes, where 1 to {MAX_FRAME} are allowed"),
            Self::Truncated => write!(formatter, "a frame that ends before its message does"),
            Self::TrailingBytes(count) => write!(formatter, "a frame with {count} bytes after its message"),
            Self::UnknownKind(kind) => write!(formatter, "a message of the unknown kind {kind}"),
            Self::UnknownTag { of, tag } => write!(formatter, "a {of} with the unknown value {tag}"),
            Self::TooMany { count } => write!(formatter, "a list with {count} items"),
            Self::NotText => write!(formatter, "a text that is not UTF-8"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Turns bytes, in whatever pieces they arrive, into messages.
#[derive(Debug, Default)]
pub struct Decoder {
    /// Received bytes; messages before `start` were taken.
    buffer: Vec<u8>,
    /// Start of the next frame.
    start: usize,
}

impl Decoder {
    /// Adds bytes that arrived. Take all messages before feeding more: then no more than one frame waits here.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Takes the next message, or `None` when it has not arrived completely.
    ///
    /// # Errors
    ///
    /// When the bytes are not a message. All later calls fail too.
    pub fn take(&mut self) -> Result<Option<Message>, DecodeError> {
        let waiting = &self.buffer[self.start..];
        let Some((prefix, rest)) = waiting.split_first_chunk::<PREFIX>() else { return Ok(None) };
        let prefix = u32::from_be_bytes(*prefix);
        let length = prefix as usize;
        if length == 0 || length > MAX_FRAME {
            return Err(DecodeError::Length(prefix));
        }
        let Some(mut frame) = rest.get(..length) else { return Ok(None) };
        let message = take(&mut frame)?;
        if !frame.is_empty() {
            return Err(DecodeError::TrailingBytes(frame.len()));
        }
        self.start += PREFIX + length;
        Ok(Some(message))
    }

    /// Returns true if a part of a message has arrived. When the connection ends now, it ended in the middle of one.
    #[must_use]
    pub fn is_within_message(&self) -> bool {
        self.start < self.buffer.len()
    }
}

#[cfg(test)]
mod tests;
