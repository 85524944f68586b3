//! The place where the worker listens, and where a visitor may listen once the worker has gone.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use doorkeeper::protocol::{Decoder, Message, VERSION};
use doorkeeper::socket::Connection;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, open, statat};
use rustix::process::{chdir, fchdir};

use super::files::file_type;
use super::start::Ending;
use crate::sys;

/// Timeout for the greeting of a visitor.
const GREETING: Duration = Duration::from_secs(10);

/// The folder of the worker's socket, opened before any other process was in the sandbox: nobody who moves folders
/// around later can replace it.
pub(crate) struct Door {
    /// The folder.
    folder: OwnedFd,
    /// The name of the socket in it.
    name: OsString,
}

impl Door {
    /// Finds the folder of a socket.
    pub(crate) fn find(socket: &Path) -> io::Result<Self> {
        let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { folder: open(folder, flags, Mode::empty())?, name: name.to_owned() })
    }

    /// Returns true if a visitor seems to listen: the path is a socket.
    pub(crate) fn has_listener(&self) -> bool {
        let found = statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| file_type(&found) == FileType::Socket)
    }

    /// Connects to the visitor that listens now, unless that is a process of the sandbox itself.
    pub(crate) fn connect(&self, is_init: bool) -> io::Result<UnixStream> {
        fchdir(&self.folder)?;
        let connected = UnixStream::connect(&self.name);
        chdir("/")?;
        let stream = connected?;
        // Somebody outside of the sandbox has no number in it.
        if is_init && sys::peer_process(&stream)? != 0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        stream.set_read_timeout(Some(GREETING))?;
        stream.set_write_timeout(Some(GREETING))?;
        Ok(stream)
    }
}

/// Greets the worker and hears its greeting.
pub(crate) fn greet(stream: UnixStream) -> Result<(UnixStream, Decoder), Ending> {
    let mut connection = Connection::new(stream);
    connection.send(&Message::greeting(), None).map_err(Ending::Greeting)?;
    let (stream, decoder) = match connection.receive().map_err(Ending::Greeting)? {
        None => return Err(Ending::WorkerGone),
        Some((Message::Greeting(greeting), _)) if greeting.version == VERSION => connection.into_parts(),
        Some((Message::Greeting(greeting), _)) => return Err(Ending::Version(greeting.version)),
        Some(_) => return Err(Ending::NoGreeting),
    };
    stream.set_nonblocking(true).map_err(Ending::Greeting)?;
    Ok((stream, decoder))
}
