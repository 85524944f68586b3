//! Connections whose bytes are counted.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::gate::Gate;

/// Counts of the bytes read from a connection and written to it.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    read: AtomicU64,
    written: AtomicU64,
}

impl Traffic {
    /// Returns the number of bytes written, and of those read.
    fn totals(&self) -> (u64, u64) {
        (self.written.load(Ordering::Acquire), self.read.load(Ordering::Acquire))
    }
}

/// A connection whose bytes are counted.
#[derive(Debug)]
pub(super) struct Metered<S> {
    stream: S,
    traffic: Arc<Traffic>,
}

impl<S> Metered<S> {
    /// Counts the bytes of a connection.
    pub(super) fn new(stream: S) -> Self {
        Self { stream, traffic: Arc::default() }
    }

    /// Returns the counts.
    pub(super) fn traffic(&self) -> Arc<Traffic> {
        Arc::clone(&self.traffic)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.traffic.read.fetch_add((buffer.filled().len() - before) as u64, Ordering::AcqRel);
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(written)) = polled {
            self.traffic.written.fetch_add(written as u64, Ordering::AcqRel);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Record of a connection's destination, written with its bytes when it ends.
#[derive(Debug)]
pub(super) struct Record {
    gate: Arc<Gate>,
    host: String,
    address: SocketAddr,
    traffic: Arc<Traffic>,
}

impl Record {
    /// A connection to this name at this address.
    pub(super) fn new(gate: &Arc<Gate>, host: &str, address: SocketAddr) -> Self {
        Self { gate: Arc::clone(gate), host: host.to_owned(), address, traffic: Arc::default() }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.gate.note(&self.host, self.address, self.traffic.totals());
    }
}

/// A connection to the outside. That it was there is written down when it is dropped.
#[derive(Debug)]
pub(super) struct Upstream {
    stream: Metered<TcpStream>,
    record: Record,
}

impl Upstream {
    /// A connection that is to be written down like this.
    pub(super) fn new(stream: TcpStream, mut record: Record) -> Self {
        let stream = Metered::new(stream);
        record.traffic = stream.traffic();
        Self { stream, record }
    }

    /// Splits it into the connection, and the record that is written once it is dropped.
    pub(super) fn into_parts(self) -> (Metered<TcpStream>, Record) {
        (self.stream, self.record)
    }
}

impl AsyncRead for Upstream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Upstream {
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
