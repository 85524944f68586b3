//! An accepted socket: its bytes keep it alive, and it can end with a reset.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::Activity;

/// Makes a connection end with a reset instead of an orderly end.
#[derive(Debug, Clone, Default)]
pub struct Reset(Arc<AtomicBool>);

impl Reset {
    /// The connection is reset when it ends.
    pub fn arm(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// An accepted socket.
#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
    /// Touched by every byte, where bytes count.
    activity: Option<Arc<Activity>>,
    reset: Reset,
}

impl Socket {
    /// A socket whose bytes touch this activity.
    pub(super) fn new(stream: TcpStream, activity: Option<Arc<Activity>>) -> Self {
        Self { stream, activity, reset: Reset::default() }
    }

    /// The first byte, which stays to be read; `None` when the client has ended.
    pub(crate) async fn first_byte(&self) -> io::Result<Option<u8>> {
        let mut first = [0];
        let size = self.stream.peek(&mut first).await?;
        Ok((size > 0).then_some(first[0]))
    }

    /// What makes it end with a reset.
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
        if self.reset.0.load(Ordering::Acquire) {
            // Where that cannot be done, an orderly end is all there is.
            let _ = self.stream.set_zero_linger();
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
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.touch();
        }
        polled
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        if polled.is_ready() {
            self.touch();
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        if polled.is_ready() {
            self.touch();
        }
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
