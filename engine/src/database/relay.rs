//! A Unix socket that stands for one connection into a sandbox, because database clients want an address.

use std::fs::Permissions;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, copy_bidirectional};
use tokio::net::{TcpStream, UnixListener};
use tokio::task::JoinHandle;

/// The longest path that a Unix socket can have: `sun_path` without the zero at its end.
const MAX_SOCKET_PATH_BYTES: usize = 107;

/// Relays the first connection to its socket, and no other, to a connection that was dialled before. Everything ends
/// and is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Relay {
    folder: TempDir,
    socket: PathBuf,
    task: JoinHandle<()>,
    meter: Arc<Meter>,
}

impl Relay {
    /// A socket called `name`, in a new folder that only this user can enter.
    pub(crate) fn open(stream: TcpStream, name: &str) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let (folder, socket) = make_folder(name)?;
        let listener = UnixListener::bind(&socket)?;
        let meter = Arc::new(Meter::default());
        let task = tokio::spawn(relay(listener, Metered { stream, meter: Arc::clone(&meter) }));
        Ok(Self { folder, socket, task, meter })
    }

    /// The folder that holds the socket.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The socket.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Lets the server send this many bytes from now on; at one more the connection ends.
    pub(crate) fn allow(&self, bytes: u64) {
        self.meter.left.store(bytes, Ordering::Relaxed);
    }

    /// Whether the server sent more than was allowed.
    pub(crate) fn overflowed(&self) -> bool {
        self.meter.overflowed.load(Ordering::Relaxed)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A folder for the socket: in the usual place for temporary files, or in `/tmp` when the path would be too long.
fn make_folder(name: &str) -> io::Result<(TempDir, PathBuf)> {
    for parent in [std::env::temp_dir(), PathBuf::from("/tmp")] {
        let folder =
            tempfile::Builder::new().prefix("ts-").permissions(Permissions::from_mode(0o700)).tempdir_in(parent)?;
        let socket = folder.path().join(name);
        if socket.as_os_str().as_bytes().len() <= MAX_SOCKET_PATH_BYTES {
            return Ok((folder, socket));
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "the path of the relay's socket is too long"))
}

/// Waits for the client, closes the door behind it, and copies until either side ends.
async fn relay(listener: UnixListener, mut server: Metered) {
    let Ok((mut client, _)) = listener.accept().await else { return };
    drop(listener);
    // Why it ended is told to the client by its own end of the connection, and by the meter.
    let _ = copy_bidirectional(&mut client, &mut server).await;
}

/// What the server may still send.
#[derive(Debug)]
struct Meter {
    left: AtomicU64,
    overflowed: AtomicBool,
}

impl Default for Meter {
    fn default() -> Self {
        Self { left: AtomicU64::new(u64::MAX), overflowed: AtomicBool::new(false) }
    }
}

impl Meter {
    /// Takes `bytes` from what is left; `false` when that is too little.
    fn take(&self, bytes: u64) -> bool {
        let enough =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok();
        if !enough {
            self.overflowed.store(true, Ordering::Relaxed);
        }
        enough
    }
}

/// A connection whose received bytes are counted. Clients keep a whole row in memory before they show it, so only the
/// connection itself can bound what an answer costs.
struct Metered {
    stream: TcpStream,
    meter: Arc<Meter>,
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        match self.meter.take((buffer.filled().len() - before) as u64) {
            true => polled,
            false => Poll::Ready(Err(io::Error::other("the server sent too much"))),
        }
    }
}

impl AsyncWrite for Metered {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, UnixStream};

    use super::*;

    /// A relay, and the server's end of its connection.
    async fn opened(name: &str) -> (Relay, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let dialled = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        (Relay::open(dialled, name).unwrap(), server)
    }

    #[tokio::test]
    async fn bytes_go_both_ways_and_the_folder_is_private_and_goes_with_the_relay() {
        let (relay, mut server) = opened(".s.PGSQL.5432").await;
        let folder = relay.folder().to_owned();
        assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        let mut client = UnixStream::connect(relay.socket()).await.unwrap();
        client.write_all(b"ping").await.unwrap();
        let mut bytes = [0; 4];
        server.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"ping");
        server.write_all(b"pong").await.unwrap();
        client.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"pong");
        drop(relay);
        assert_eq!(client.read(&mut bytes).await.unwrap(), 0, "the connection ends with the relay");
        assert!(!folder.exists());
    }

    #[tokio::test]
    async fn a_second_client_is_turned_away() {
        let (relay, mut server) = opened("one").await;
        let mut first = UnixStream::connect(relay.socket()).await.unwrap();
        first.write_all(b"1").await.unwrap();
        server.read_exact(&mut [0; 1]).await.unwrap();
        UnixStream::connect(relay.socket()).await.unwrap_err();
    }

    #[tokio::test]
    async fn a_server_that_sends_too_much_is_cut_off() {
        let (relay, mut server) = opened("one").await;
        relay.allow(1000);
        let mut client = UnixStream::connect(relay.socket()).await.unwrap();
        server.write_all(&[7; 1000]).await.unwrap();
        client.read_exact(&mut [0; 1000]).await.unwrap();
        assert!(!relay.overflowed());
        server.write_all(&[7; 1]).await.unwrap();
        assert_eq!(client.read(&mut [0; 1]).await.unwrap(), 0);
        assert!(relay.overflowed());
    }
}
