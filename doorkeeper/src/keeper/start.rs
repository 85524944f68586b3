//! Starts the doorkeeper: from the command line to a connection with the worker.

use std::ffi::OsString;
use std::fmt;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::{io, path::PathBuf};

use doorkeeper::protocol::{DecodeError, Decoder, VERSION};
use rustix::io::Errno;

use super::door::{Door, greet};
use super::identity::Identity;
use crate::sys;

/// Reason why the doorkeeper ends, other than a request of the worker.
#[derive(Debug)]
pub(crate) enum Ending {
    /// The command line is wrong.
    Usage,
    /// It could not set up its user and capabilities.
    Identity(Errno),
    /// It could not connect to the worker.
    Connect {
        /// The socket.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// The greeting could not be exchanged.
    Greeting(io::Error),
    /// The worker said something else than a greeting.
    NoGreeting,
    /// The worker speaks another version.
    Version(u16),
    /// The worker's bytes are no messages.
    Malformed(DecodeError),
    /// The worker sent something that is no request.
    NoRequest,
    /// The connection failed.
    Connection(Errno),
    /// The worker disconnected.
    WorkerGone,
    /// A process outside terminated it.
    Terminated,
}

/// The exit code of a doorkeeper that a process outside terminated: the same that a shell reports for a program that
/// SIGTERM ended.
const TERMINATED: u8 = 143;

impl Ending {
    /// Returns the exit code by which the worker recognises the ending.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Terminated => ExitCode::from(TERMINATED),
            _ => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage => write!(formatter, "usage: doorkeeper SOCKET [WATCHED PATH]"),
            Self::Identity(errno) => write!(formatter, "could not become the doorkeeper's user: {errno}"),
            Self::Connect { path, error } => write!(formatter, "could not connect to {}: {error}", path.display()),
            Self::Greeting(error) => write!(formatter, "could not greet the worker: {error}"),
            Self::NoGreeting => write!(formatter, "the worker did not greet"),
            Self::Version(version) => {
                write!(formatter, "the worker speaks version {version} of the protocol, and this doorkeeper {VERSION}")
            }
            Self::Malformed(error) => write!(formatter, "the worker sent {error}"),
            Self::NoRequest => write!(formatter, "the worker sent a message that is no request"),
            Self::Connection(errno) => write!(formatter, "the connection to the worker failed: {errno}"),
            Self::WorkerGone => write!(formatter, "the worker closed the connection"),
            Self::Terminated => write!(formatter, "ended by a signal"),
        }
    }
}

/// Arguments of the command line.
pub(crate) struct Arguments {
    /// The worker's socket.
    socket: PathBuf,
    /// A path on the file system whose space is watched.
    pub(crate) watched: Option<OsString>,
}

impl Arguments {
    /// Reads the command line.
    pub(crate) fn read(mut arguments: impl Iterator<Item = OsString>) -> Result<Self, Ending> {
        let socket = arguments.next().ok_or(Ending::Usage)?.into();
        let watched = arguments.next();
        if arguments.next().is_some() { Err(Ending::Usage) } else { Ok(Self { socket, watched }) }
    }
}

/// State that is settled before the first request.
pub(crate) struct Start {
    /// User, group and capabilities of the doorkeeper.
    pub(crate) identity: Identity,
    /// Descriptor that becomes readable when a child ended.
    pub(crate) signals: OwnedFd,
    /// The connection to the worker.
    pub(crate) stream: UnixStream,
    /// The place where it connects.
    pub(crate) door: Door,
    /// Decoder that holds the part of the first requests that arrived with the greeting.
    pub(crate) decoder: Decoder,
}

/// Sets the doorkeeper up and connects to the worker.
pub(crate) fn start(arguments: &Arguments) -> Result<Start, Ending> {
    let signals = sys::block_signals().map_err(Ending::Identity)?;
    let identity = Identity::assume().map_err(Ending::Identity)?;
    let failed = |error| Ending::Connect { path: arguments.socket.clone(), error };
    let stream = UnixStream::connect(&arguments.socket).map_err(failed)?;
    let door = Door::find(&arguments.socket).map_err(failed)?;
    let (stream, decoder) = greet(stream)?;
    Ok(Start { identity, signals, stream, door, decoder })
}
