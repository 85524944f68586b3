//! Follows the activity of a connection, which limits how long it may go on like that.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use hyper::body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::limits::Limits;

/// Activity of a connection: the phase it is in, and whether it was asked to hurry.
#[derive(Debug)]
pub(crate) struct Activity {
    state: Mutex<State>,
    /// Told when less time is left than before.
    hurry: Notify,
}

/// State of a connection.
#[derive(Debug)]
struct State {
    phase: Phase,
    /// Time since which the client has not read the bytes that are sent to it.
    stalled: Option<Instant>,
}

impl State {
    fn deadline(&self, limits: &Limits) -> Option<Instant> {
        let phase = match self.phase {
            Phase::New(since) | Phase::Header(since) => Some(since + limits.header),
            Phase::Idle(since) => Some(since + limits.idle),
            Phase::Request => None,
        };
        let stalled = self.stalled.map(|since| since + limits.idle);
        phase.into_iter().chain(stalled).min()
    }
}

/// Phase of a connection, with the time when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// No byte has arrived yet.
    New(Instant),
    /// The head of a request arrives.
    Header(Instant),
    /// A request is being answered; those who answer it have timeouts of their own.
    Request,
    /// No byte of a next request has arrived; the rest of the answer may be on its way.
    Idle(Instant),
}

impl Activity {
    pub(crate) fn new() -> Arc<Self> {
        let state = State { phase: Phase::New(Instant::now()), stalled: None };
        Arc::new(Self { state: Mutex::new(state), hurry: Notify::new() })
    }

    /// Returns true while a request is being answered.
    pub(crate) fn is_answering(&self) -> bool {
        self.state().phase == Phase::Request
    }

    /// Waits until the current phase takes too long.
    pub(crate) async fn expired(&self, limits: &Limits) {
        loop {
            let deadline = self.state().deadline(limits);
            match deadline {
                Some(deadline) if deadline <= Instant::now() => return,
                Some(deadline) => tokio::select! {
                    () = sleep_until(deadline) => {}
                    () = self.hurry.notified() => {}
                },
                None => self.hurry.notified().await,
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn received(&self) {
        let mut state = self.state();
        if matches!(state.phase, Phase::New(_) | Phase::Idle(_)) {
            state.phase = Phase::Header(Instant::now());
            self.hurry.notify_one();
        }
    }

    fn sent(&self) {
        let mut state = self.state();
        state.stalled = None;
        if let Phase::Idle(since) = &mut state.phase {
            *since = Instant::now();
        }
    }

    fn could_not_send(&self) {
        let mut state = self.state();
        if state.stalled.is_none() {
            state.stalled = Some(Instant::now());
            self.hurry.notify_one();
        }
    }

    /// Marks that a request is being answered, until the returned value is dropped.
    pub(crate) fn answer(self: &Arc<Self>) -> Answering {
        self.state().phase = Phase::Request;
        Answering(Arc::clone(self))
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(crate) struct Answering(Arc<Activity>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.state().phase = Phase::Idle(Instant::now());
        self.0.hurry.notify_one();
    }
}

/// A connection whose bytes are noticed.
#[derive(Debug)]
pub(crate) struct Noticed {
    pub(crate) stream: TcpStream,
    pub(crate) activity: Arc<Activity>,
}

impl AsyncRead for Noticed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.activity.received();
        }
        polled
    }
}

impl AsyncWrite for Noticed {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.notice(polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.notice(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl Noticed {
    fn notice(&self, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match polled {
            Poll::Ready(Ok(1..)) => self.activity.sent(),
            Poll::Pending => self.activity.could_not_send(),
            Poll::Ready(_) => {}
        }
        polled
    }
}

/// The body of an answer, which holds a value that lasts as long as the answer.
#[derive(Debug)]
pub(crate) struct Holding<B, T> {
    pub(crate) body: B,
    pub(crate) _held: T,
}

impl<B: Body + Unpin, T: Unpin> Body for Holding<B, T> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
