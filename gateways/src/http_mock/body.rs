//! The body of a mock's answer.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use crate::listener::{Broken, Reset};
use crate::memory_budget::Share;

/// An answer that breaks off, and the connection with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BreakOff {
    /// Number of bytes of the body that are sent before; its head says that there are more.
    pub(crate) after_bytes: usize,
    /// The end of the connection.
    pub(crate) ending: Ending,
}

/// The end of a connection whose answer breaks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The connection is closed: the client sees a body that is too short.
    Close,
    /// The connection is reset: the client sees an error of the connection.
    Reset,
}

/// The body of an answer, with the memory that is given back once it was handed on.
#[derive(Debug)]
pub(crate) struct MockBody {
    content: Content,
    _share: Share,
}

#[derive(Debug)]
enum Content {
    /// The body is sent as it is.
    Whole(Full<Bytes>),
    /// The body breaks off.
    Broken(Beginning),
    /// The body is sent a few bytes at a time.
    Slow(Dribble),
}

/// A body that comes a few bytes at a time.
#[derive(Debug)]
struct Dribble {
    rest: Bytes,
    /// Number of bytes that are sent at once, and the pause until the next ones.
    piece: usize,
    pause: Duration,
    next: Pin<Box<Sleep>>,
}

/// The beginning of a body that breaks off.
#[derive(Debug)]
struct Beginning {
    /// The part that is sent, until it was handed on.
    sent: Option<Bytes>,
    /// Length of the whole body.
    length: u64,
    /// True when the server had a chance to send the bytes that it was handed.
    is_flushed: bool,
    /// Resets the connection, where it is to be reset.
    reset: Option<Reset>,
}

impl MockBody {
    /// A body that is sent as it is.
    pub(crate) fn whole(body: Bytes, share: Share) -> Self {
        Self { content: Content::Whole(Full::new(body)), _share: share }
    }

    /// Makes a body of which this many bytes are sent in a second.
    pub(crate) fn slow(body: Bytes, share: Share, bytes_per_second: u64) -> Self {
        Self { content: Content::Slow(Dribble::new(body, bytes_per_second)), _share: share }
    }

    /// A body that breaks off, on a connection that this resets.
    pub(crate) fn broken(body: &Bytes, share: Share, break_off: BreakOff, reset: Reset) -> Self {
        let sent = body.slice(..break_off.after_bytes.min(body.len()));
        let beginning = Beginning {
            // One more than is sent, so that a client misses something whatever the body is.
            length: body.len().max(sent.len() + 1) as u64,
            sent: Some(sent).filter(|sent| !sent.is_empty()),
            is_flushed: false,
            reset: (break_off.ending == Ending::Reset).then_some(reset),
        };
        Self { content: Content::Broken(beginning), _share: share }
    }
}

impl Dribble {
    /// The pause between two pieces, unless the rate is lower than one byte a pause.
    const PAUSE: Duration = Duration::from_millis(100);

    fn new(body: Bytes, bytes_per_second: u64) -> Self {
        let rate = bytes_per_second.max(1);
        let (piece, pause) = match usize::try_from(rate / 10).unwrap_or(usize::MAX) {
            0 => (1, Duration::from_millis(1000 / rate)),
            piece => (piece, Self::PAUSE),
        };
        Self { rest: body, piece, pause, next: Box::pin(sleep(pause)) }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        ready!(self.next.as_mut().poll(context));
        self.next = Box::pin(sleep(self.pause));
        let piece = self.rest.split_to(self.piece.min(self.rest.len()));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

impl Beginning {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        if let Some(sent) = self.sent.take() {
            return Poll::Ready(Some(Ok(Frame::data(sent))));
        }
        if !self.is_flushed {
            // An error ends the connection at once, so what was handed on before is sent first.
            self.is_flushed = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Some(reset) = &self.reset {
            reset.arm();
        }
        Poll::Ready(Some(Err(Broken)))
    }
}

impl Body for MockBody {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match &mut self.content {
            Content::Whole(body) => Pin::new(body).poll_frame(context).map_err(|never| match never {}),
            Content::Broken(beginning) => beginning.poll(context),
            Content::Slow(dribble) => dribble.poll(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Whole(body) => body.is_end_stream(),
            Content::Broken(_) => false,
            Content::Slow(dribble) => dribble.rest.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Whole(body) => body.size_hint(),
            Content::Broken(beginning) => SizeHint::with_exact(beginning.length),
            Content::Slow(dribble) => SizeHint::with_exact(dribble.rest.len() as u64),
        }
    }
}
