//! An accepted socket, or a pipe in its place: its bytes keep it alive, and it can end with a reset.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::TcpStream;
use tokio_util::sync::DropGuard;

use super::Activity;

/// Makes a connection end with a reset instead of an orderly end.
#[derive(Debug, Clone, Default)]
pub struct Reset(Arc<AtomicBool>);

impl Reset {
    /// The connection is reset when it ends.
    pub fn arm(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// True when the connection is to be reset.
    pub(super) fn is_armed(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// An accepted socket.
#[derive(Debug)]
pub struct Socket {
    stream: Stream,
    /// Touched by every byte, where bytes count.
    activity: Option<Arc<Activity>>,
    reset: Reset,
}

/// The bytes of a socket.
#[derive(Debug)]
enum Stream {
    /// Bytes of the client.
    Tcp(TcpStream),
    /// Bytes of a client whose connection a fault of the network hits.
    Pipe(Pipe),
}

/// The gateway's end of a pipe.
#[derive(Debug)]
pub(super) struct Pipe {
    /// Its bytes.
    pub(super) stream: DuplexStream,
    /// The first byte, when it was looked at and not read yet.
    pub(super) first: Option<u8>,
    /// Shows the other end that this end is gone.
    pub(super) _gone: DropGuard,
}

impl Socket {
    /// A socket whose bytes touch this activity.
    pub(super) fn new(stream: TcpStream, activity: Option<Arc<Activity>>) -> Self {
        Self { stream: Stream::Tcp(stream), activity, reset: Reset::default() }
    }

    /// A pipe whose bytes touch this activity.
    pub(super) fn piped(pipe: Pipe, activity: Option<Arc<Activity>>) -> Self {
        Self { stream: Stream::Pipe(pipe), activity, reset: Reset::default() }
    }

    /// The first byte, which stays to be read; `None` when the client has ended.
    pub(crate) async fn first_byte(&mut self) -> io::Result<Option<u8>> {
        match &mut self.stream {
            Stream::Tcp(stream) => {
                let mut first = [0];
                let size = stream.peek(&mut first).await?;
                Ok((size > 0).then_some(first[0]))
            }
            Stream::Pipe(pipe) => {
                let mut first = [0];
                let size = pipe.stream.read(&mut first).await?;
                pipe.first = (size > 0).then_some(first[0]);
                Ok(pipe.first)
            }
        }
    }

    /// Returns a handle that makes it end with a reset.
    pub(super) fn reset(&self) -> Reset {
        self.reset.clone()
    }

    fn touch(&self) {
        if let Some(activity) = &self.activity {
            activity.touch();
        }
    }
}

impl From<TcpStream> for Socket {
    fn from(stream: TcpStream) -> Self {
        Self::new(stream, None)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Stream::Tcp(stream) = &self.stream
            && self.reset.is_armed()
        {
            // Where that cannot be done, an orderly end is all there is.
            let _ = stream.set_zero_linger();
        }
    }
}

impl Stream {
    /// The other end, whatever lies between.
    fn write_half(&mut self) -> Pin<&mut (dyn AsyncWrite + Send + Unpin)> {
        match self {
            Self::Tcp(stream) => Pin::new(stream),
            Self::Pipe(pipe) => Pin::new(&mut pipe.stream),
        }
    }

    fn poll_read(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Pipe(pipe) => {
                if buffer.remaining() > 0
                    && let Some(first) = pipe.first.take()
                {
                    buffer.put_slice(&[first]);
                    return Poll::Ready(Ok(()));
                }
                Pin::new(&mut pipe.stream).poll_read(context, buffer)
            }
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = self.stream.poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.touch();
        }
        polled
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = self.stream.write_half().poll_write(context, bytes);
        if polled.is_ready() {
            self.touch();
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.write_half().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.write_half().poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = self.stream.write_half().poll_write_vectored(context, slices);
        if polled.is_ready() {
            self.touch();
        }
        polled
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Tcp(stream) => stream.is_write_vectored(),
            Stream::Pipe(pipe) => pipe.stream.is_write_vectored(),
        }
    }
}
