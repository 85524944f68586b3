//! A Unix socket that stands for one connection into a sandbox, because database clients want an address.
//!
//! The address is an abstract one: it is in no folder, so nothing is left of it when the worker is killed, and no path is
//! too long for it. Others on this machine can connect to it as well, so only this process is let in.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener as StdUnixListener};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, copy_bidirectional};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::task::JoinHandle;

use crate::entropy;

/// Relays the first connection of this process to its socket, and no other, to a connection that was dialled before.
/// Dropping it ends everything.
#[derive(Debug)]
pub(crate) struct Relay {
    folder: PathBuf,
    socket: PathBuf,
    task: JoinHandle<()>,
    meter: Arc<Meter>,
}

impl Relay {
    /// A socket called `name`, at an address that nobody can guess.
    pub(crate) fn open(stream: TcpStream, name: &str) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let folder = format!("ts-{}", entropy::hex(16));
        let socket = format!("{folder}/{name}");
        let listener = listen(&socket)?;
        let meter = Arc::new(Meter::default());
        let task = tokio::spawn(relay(listener, Metered { stream, meter: Arc::clone(&meter) }));
        // A zero before it tells an abstract address from a path.
        let [folder, socket] = [folder, socket].map(|path| PathBuf::from(format!("\0{path}")));
        Ok(Self { folder, socket, task, meter })
    }

    /// The part before the name of the socket.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The socket.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Allows the server this many bytes from now on; at one more the connection ends.
    pub(crate) fn allow(&self, bytes: u64) {
        self.meter.left.store(bytes, Ordering::Relaxed);
    }

    /// Returns true if the server sent more than was allowed.
    pub(crate) fn overflowed(&self) -> bool {
        self.meter.overflowed.load(Ordering::Relaxed)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn listen(name: &str) -> io::Result<UnixListener> {
    let listener = StdUnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}

/// Waits for the client, closes the door behind it, and copies until either side ends.
async fn relay(listener: UnixListener, mut server: Metered) {
    let mut client = loop {
        match listener.accept().await {
            Ok((client, _)) if is_own(&client) => break client,
            // Somebody else of this machine, who is turned away.
            Ok(_) => {}
            Err(_) => return,
        }
    };
    drop(listener);
    // Why it ended is told to the client by its own end of the connection, and by the meter.
    let _ = copy_bidirectional(&mut client, &mut server).await;
}

/// Returns true if the client is this process.
fn is_own(client: &UnixStream) -> bool {
    let own = i32::try_from(std::process::id()).ok();
    client.peer_cred().is_ok_and(|peer| peer.pid().is_some() && peer.pid() == own)
}

/// Counter of bytes that the server may still send.
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
    use tokio::net::TcpListener;

    use super::*;

    /// A relay, and the server's end of its connection.
    async fn opened(name: &str) -> (Relay, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let dialled = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        (Relay::open(dialled, name).unwrap(), server)
    }

    #[tokio::test]
    async fn bytes_go_both_ways_and_nothing_of_it_is_in_a_folder() {
        let (relay, mut server) = opened(".s.PGSQL.5432").await;
        let (folder, socket) = (relay.folder().to_owned(), relay.socket().to_owned());
        assert_eq!(socket, folder.join(".s.PGSQL.5432"));
        assert!(socket.as_os_str().as_encoded_bytes().starts_with(b"\0"), "{socket:?}");
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
        UnixStream::connect(socket).await.unwrap_err();
    }

    #[tokio::test]
    async fn another_process_is_turned_away_and_does_not_take_the_place() {
        let (relay, mut server) = opened("one").await;
        let name = relay.socket().as_os_str().to_str().unwrap().trim_start_matches('\0').to_owned();
        let program = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect('\\0' + sys.argv[1])\nprint(len(s.recv(1)))";
        let other = tokio::process::Command::new("python3").args(["-c", program, &name]).output().await.unwrap();
        assert_eq!(String::from_utf8_lossy(&other.stdout).trim(), "0", "{other:?}");
        let mut client = UnixStream::connect(relay.socket()).await.unwrap();
        client.write_all(b"1").await.unwrap();
        server.read_exact(&mut [0; 1]).await.unwrap();
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
