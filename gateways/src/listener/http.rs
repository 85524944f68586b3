//! HTTP on an accepted connection.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, Version, header};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;

use super::{Connection, Tasks, UnderWay};

/// The meaning of a client that closes its side before it was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HalfClose {
    /// The client has said all it has to say, and still wants the answer.
    Answer,
    /// The client has gone, and the server stops work on an answer that nobody reads.
    Leave,
}

/// The bounds of HTTP on a connection.
#[derive(Debug, Clone, Copy)]
pub struct HttpSettings {
    /// Largest head of a request with HTTP/1.
    pub head_bytes: usize,
    /// Timeout for the head of a request with HTTP/1, counted from the end of the request before.
    pub head_wait: Duration,
    /// The meaning of a client that closes its side.
    pub half_close: HalfClose,
    /// True when a connection ends after its answer while permits are scarce, so that idle ones do not keep others out.
    pub closes_when_crowded: bool,
    /// The bounds of HTTP/2; without them only HTTP/1 is spoken.
    pub http2: Option<Http2Settings>,
}

/// The bounds of HTTP/2 on a connection.
#[derive(Debug, Clone, Copy)]
pub struct Http2Settings {
    /// Largest head of a request, where names and values count as they are and not as they travel.
    pub head_bytes: u32,
    /// Number of requests that may be under way.
    pub streams: u32,
    /// Number of bytes that may be sent ahead.
    pub window_bytes: u32,
}

/// An answer that broke off. The connection is cut, so that the client knows.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the answer broke off")]
pub struct Broken;

impl HttpSettings {
    /// A builder of connections that speak HTTP/1 alone.
    pub(crate) fn http1(&self) -> http1::Builder {
        let mut builder = http1::Builder::new();
        builder.half_close(self.half_close == HalfClose::Answer).max_buf_size(self.head_bytes);
        builder.timer(TokioTimer::new()).header_read_timeout(self.head_wait);
        builder
    }

    /// Makes a builder of connections, which finds the version by the client's first bytes.
    fn builder(&self, tasks: Tasks) -> Builder<Tasks> {
        let mut builder = Builder::new(tasks);
        builder.http1().half_close(self.half_close == HalfClose::Answer).max_buf_size(self.head_bytes);
        builder.http1().timer(TokioTimer::new()).header_read_timeout(self.head_wait);
        let Some(http2) = self.http2 else { return builder.http1_only() };
        // A head that is refused is seen by nobody, because it is compressed.
        builder.http2().max_header_list_size(http2.head_bytes);
        builder.http2().max_concurrent_streams(http2.streams).timer(TokioTimer::new());
        builder.http2().initial_stream_window_size(http2.window_bytes);
        builder.http2().initial_connection_window_size(http2.window_bytes);
        builder
    }
}

impl Connection {
    /// Answers requests until the connection ends. A request is under way until its answer was handed on. One that is not answered
    /// ends the connection.
    pub async fn serve_http<Answering, Answered>(
        self,
        settings: HttpSettings,
        answer: impl Fn(Request<Incoming>) -> Answering,
    ) where
        Answering: Future<Output = Result<Response<Answered>, Broken>> + Send + 'static,
        Answered: Body<Data = Bytes> + Send + Unpin + 'static,
        Answered::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let Self { stream, activity, tasks, occupancy, gateway, .. } = self;
        let service = service_fn(|request: Request<Incoming>| {
            let (under_way, occupancy) = (activity.begin(), occupancy.clone());
            let may_close = settings.closes_when_crowded && request.version() < Version::HTTP_2;
            let answering = answer(request);
            async move {
                let mut response = answering.await?;
                if may_close && occupancy.is_crowded() {
                    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Broken>(response.map(|body| AnswerBody { body, _under_way: under_way }))
            }
        });
        if let Err(error) = settings.builder(tasks).serve_connection(TokioIo::new(stream), service).await {
            tracing::debug!(error, "a connection to {gateway} broke");
        }
    }
}

/// The body of an answer, whose request is under way until it is dropped.
#[derive(Debug)]
pub struct AnswerBody<Answered> {
    body: Answered,
    _under_way: UnderWay,
}

impl<Answered: Body + Unpin> Body for AnswerBody<Answered> {
    type Data = Answered::Data;
    type Error = Answered::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
