//! Carries the bytes of a connection that a fault of the network hits.
//!
//! Between the client's socket and the gateway lies a pipe, and bytes are carried from one to the other: late, slowly, or not
//! while a partition lasts. Each direction has a queue, so that a delay does not become a rate, and order is kept. What a
//! queue does not take stays in the kernel, so nothing is lost and memory is bounded. When the agent has ended, everything
//! passes as it comes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, split};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{Activity, Reset};
use crate::faults::{ConnectionFaults, Hold, InFlight};

/// Number of bytes that are read at once.
const CHUNK: usize = 16 << 10;
/// Number of chunks that wait in each direction.
const QUEUED: usize = 32;
/// Capacity of the pipe to the gateway in bytes.
pub(super) const PIPE: usize = 64 << 10;
/// Times a second that bytes pass at a limited rate.
const TICKS: u64 = 20;

/// Bytes as they came; none of them is the end.
struct Chunk {
    came: Instant,
    bytes: Vec<u8>,
    _in_flight: InFlight,
}

/// The beginning of a connection that a partition may hold.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// The connection can be served.
    Served,
    /// The connection was refused, the client has given up, or the agent has ended.
    Over,
}

/// Waits until a partition that holds a new connection is over. Without an end, the client's bytes go nowhere.
pub(super) async fn begin(stream: &mut TcpStream, faults: &ConnectionFaults, activity: &Arc<Activity>) -> Beginning {
    let _under_way = activity.begin();
    if faults.is_refused {
        // Where that cannot be done, an orderly end is all there is.
        let _ = stream.set_zero_linger();
        return Beginning::Over;
    }
    match faults.held() {
        None => Beginning::Served,
        Some(Hold::Until(end)) => {
            let _in_flight = faults.in_flight();
            until(end, faults).await;
            Beginning::Served
        }
        Some(Hold::Forever) => {
            let mut nowhere = tokio::io::sink();
            tokio::select! {
                _ = tokio::io::copy(stream, &mut nowhere) => {}
                () = faults.released() => {}
            }
            Beginning::Over
        }
    }
}

/// Waits for a moment, or for the end of the agent.
async fn until(moment: Instant, faults: &ConnectionFaults) {
    tokio::select! {
        () = sleep_until(moment) => {}
        () = faults.released() => {}
    }
}

/// The two ends of a connection, and the faults between them.
pub(super) struct Faulted {
    /// The client's socket.
    pub(super) stream: TcpStream,
    /// The pipe, whose other end the gateway has.
    pub(super) pipe: DuplexStream,
    /// The faults.
    pub(super) faults: ConnectionFaults,
    /// Kept busy while bytes wait, so that the connection does not count as idle.
    pub(super) activity: Arc<Activity>,
    /// Makes the connection end with a reset.
    pub(super) reset: Reset,
    /// Cancelled when the gateway is done with the connection.
    pub(super) gone: CancellationToken,
}

impl Faulted {
    /// Carries bytes until the gateway is done and everything that it said has arrived, or the client is gone.
    pub(super) async fn carry(self) {
        let Self { mut stream, pipe, faults, activity, reset, gone } = self;
        let line = Line { faults: &faults, activity: &activity, reset: &reset };
        let (from_client, to_client) = stream.split();
        let (from_gateway, to_gateway) = split(pipe);
        let down = async {
            if line.carry(from_gateway, to_client).await.is_ok() {
                gone.cancelled().await;
            }
        };
        let up = async {
            // A client that broke off is gone for the gateway too: the pipe ends with this.
            let _ = line.carry(from_client, to_gateway).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = down => {}
            () = up => {}
        }
        if reset.is_armed() {
            // Where that cannot be done, an orderly end is all there is.
            let _ = stream.set_zero_linger();
        }
    }
}

/// State that both directions share.
#[derive(Clone, Copy)]
struct Line<'a> {
    faults: &'a ConnectionFaults,
    activity: &'a Arc<Activity>,
    reset: &'a Reset,
}

impl Line<'_> {
    /// Carries bytes in one direction until its end.
    async fn carry(&self, from: impl AsyncRead + Unpin, to: impl AsyncWrite + Unpin) -> io::Result<()> {
        let (sender, receiver) = channel(QUEUED);
        let taking = async {
            self.take(from, sender).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            delivered = self.deliver(receiver, to) => delivered,
            () = taking => Ok(()),
        }
    }

    /// Notes when bytes come, until their end. One that breaks off ends too.
    async fn take(&self, mut from: impl AsyncRead + Unpin, queue: Sender<Chunk>) {
        let mut buffer = vec![0; CHUNK];
        loop {
            let size = from.read(&mut buffer).await.unwrap_or(0);
            let bytes = buffer[..size].to_vec();
            let chunk = Chunk { came: Instant::now(), bytes, _in_flight: self.faults.in_flight() };
            if queue.send(chunk).await.is_err() || size == 0 {
                return;
            }
        }
    }

    async fn deliver(&self, mut queue: Receiver<Chunk>, mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
        while let Some(chunk) = queue.recv().await {
            let _under_way = self.activity.begin();
            if !self.faults.delay.is_zero() {
                until(chunk.came + self.faults.delay, self.faults).await;
            }
            self.pass_partition().await;
            if chunk.bytes.is_empty() {
                // A reset takes the place of an orderly end.
                return if self.reset.is_armed() {
                    Err(io::ErrorKind::ConnectionReset.into())
                } else {
                    to.shutdown().await
                };
            }
            self.write(&chunk.bytes, &mut to).await?;
        }
        Ok(())
    }

    /// Waits while a partition lasts.
    async fn pass_partition(&self) {
        while let Some(hold) = self.faults.holds_bytes() {
            match hold {
                Hold::Until(end) => until(end, self.faults).await,
                Hold::Forever => self.faults.released().await,
            }
            if self.faults.is_released() {
                return;
            }
        }
    }

    /// Writes bytes, at the rate that is allowed.
    async fn write(&self, bytes: &[u8], to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let Some(rate) = self.faults.bytes_per_second else { return to.write_all(bytes).await };
        let slice = usize::try_from(rate / TICKS).unwrap_or(CHUNK).clamp(1, CHUNK);
        let mut free = Instant::now();
        for part in bytes.chunks(slice) {
            free += time_of(part.len(), rate);
            until(free, self.faults).await;
            to.write_all(part).await?;
        }
        Ok(())
    }
}

/// The time that bytes take at a rate.
fn time_of(bytes: usize, rate: u64) -> Duration {
    let nanoseconds = u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(1_000_000_000) / rate.max(1);
    Duration::from_nanos(nanoseconds)
}
