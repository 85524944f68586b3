//! Answers the connections of mocks.

use std::sync::Arc;

use http::{Request, Response};
use hyper::body::Incoming;

use super::arrival::Arrival;
use super::body::MockBody;
use super::limits::{HEAD_BYTES, HTTP2_HEAD_BYTES, MockLimits, STREAMS, WINDOW_BYTES};
use super::mock::Mock;
use crate::listener::{
    Broken, Connection, DRAIN, HalfClose, Http2Settings, HttpSettings, IdleTimeout, Listener, ListenerLimits, Reset,
};
use crate::memory_budget::Room;

/// State that the connections of all mocks of a sandbox share.
pub(super) struct Server {
    room: Room,
    limits: MockLimits,
}

/// A listener for mocks with these limits.
pub(super) fn listener(limits: &MockLimits) -> Listener {
    let idle = IdleTimeout::Requests(limits.idle_wait);
    Listener::new("a mock", ListenerLimits { connections: limits.connections, idle, drain: DRAIN })
}

impl Server {
    pub(super) fn new(limits: MockLimits) -> Arc<Self> {
        Arc::new(Self { room: Room::new(limits.under_way_bytes), limits })
    }

    /// Serves one connection until it ends.
    pub(super) async fn connection(self: Arc<Self>, connection: Connection, mock: Arc<Mock>) {
        let settings = self.settings();
        let connection = connection.watched(mock.watch().as_ref());
        let reset = connection.reset.clone();
        let answer = move |request| Arc::clone(&self).answer(Arc::clone(&mock), request, reset.clone());
        connection.serve_http(settings, answer).await;
    }

    /// HTTP/1.0, 1.1 and 2, told apart by how the client begins.
    fn settings(&self) -> HttpSettings {
        let http2 = Http2Settings { head_bytes: HTTP2_HEAD_BYTES, streams: STREAMS, window_bytes: WINDOW_BYTES };
        HttpSettings {
            head_bytes: HEAD_BYTES,
            head_wait: self.limits.head_wait,
            half_close: HalfClose::Answer,
            closes_when_crowded: false,
            http2: Some(http2),
        }
    }

    /// Answers one request.
    async fn answer(
        self: Arc<Self>,
        mock: Arc<Mock>,
        request: Request<Incoming>,
        reset: Reset,
    ) -> Result<Response<MockBody>, Broken> {
        let mut share = self.room.share();
        let (parts, body) = request.into_parts();
        let arrival = Arrival::new(mock, &parts, self.limits, &self.room);
        let answer = arrival.answer(&parts.method, body, &mut share).await;
        answer.deliver(&parts.method, parts.version, share, reset).await
    }
}
