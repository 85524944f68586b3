//! The socket that a doorkeeper connects to, in a private folder that is mounted read-only into the sandbox.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};

use super::connection::Connection;
use super::{Door, DoorError, Peer};

/// The name of the socket in its folder.
const SOCKET: &str = "socket";

/// A socket that waits for one doorkeeper. The socket goes when this is dropped; the folder stays, because it is mounted.
///
/// The worker listens and the doorkeeper connects, so that the folder can be read-only inside: there is no moment at
/// which the agent could connect, and nothing that it could write on the host's disk.
#[derive(Debug)]
pub struct DoorListener {
    folder: PathBuf,
    listener: UnixListener,
}

impl DoorListener {
    /// Listens in a new folder at this path. The folder above must be private: what is inside is open to all, because
    /// nobody knows which user a container's root is outside.
    pub fn open(folder: PathBuf) -> io::Result<Self> {
        DirBuilder::new().mode(0o755).create(&folder)?;
        fs::set_permissions(&folder, Permissions::from_mode(0o755))?;
        Self::bind(folder)
    }

    /// Listens once more in a folder whose doorkeeper stayed without its worker.
    pub(crate) fn reopen(folder: PathBuf) -> io::Result<Self> {
        // Whoever listened there last may have been killed.
        match fs::remove_file(folder.join(SOCKET)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Self::bind(folder),
        }
    }

    fn bind(folder: PathBuf) -> io::Result<Self> {
        // A socket's path is at most 107 bytes; through its folder's descriptor, any folder will do.
        let descriptor = File::open(&folder)?;
        let short = format!("/proc/self/fd/{}/{SOCKET}", descriptor.as_raw_fd());
        let listener = UnixListener::bind(short)?;
        fs::set_permissions(folder.join(SOCKET), Permissions::from_mode(0o777))?;
        Ok(Self { folder, listener })
    }

    /// The folder, to be mounted into the sandbox.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Waits for the doorkeeper, and closes the door behind it.
    pub async fn accept(self, patience: Duration) -> Result<Door, DoorError> {
        let late = || DoorError::Closed { reason: format!("it did not connect within {}s", patience.as_secs()) };
        let accepted = tokio::time::timeout(patience, self.listener.accept()).await.map_err(|_| late())?;
        let (stream, _) = accepted.map_err(closed)?;
        drop(self);
        let peer = Peer::of(&stream).map_err(closed)?;
        let opened = tokio::time::timeout(patience, Connection::open(stream)).await.map_err(|_| late())?;
        Ok(Door { connection: opened?, peer })
    }

    /// Waits for a doorkeeper that is known, and closes the door behind it. Whoever else connects is turned away.
    pub(crate) async fn accept_known(self, doorkeeper: Peer, patience: Duration) -> Result<Door, DoorError> {
        let late = || DoorError::Closed { reason: format!("it did not connect within {}s", patience.as_secs()) };
        let accepted = tokio::time::timeout(patience, self.accept_from(doorkeeper)).await.map_err(|_| late())?;
        let stream = accepted.map_err(closed)?;
        drop(self);
        let opened = tokio::time::timeout(patience, Connection::open(stream)).await.map_err(|_| late())?;
        Ok(Door { connection: opened?, peer: doorkeeper })
    }

    async fn accept_from(&self, doorkeeper: Peer) -> io::Result<UnixStream> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            if Peer::of(&stream)? == doorkeeper {
                return Ok(stream);
            }
        }
    }
}

fn closed(error: io::Error) -> DoorError {
    DoorError::Closed { reason: error.to_string() }
}

impl Drop for DoorListener {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.folder.join(SOCKET));
    }
}
