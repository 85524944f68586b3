//! Answers the connections of a model gateway. Only HTTP/1 is spoken, as the clients of providers do when there is no TLS.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;

use super::gateway::Gateway;
use super::limits::{HEAD_BYTES, IDLE_WAIT, ModelGatewayLimits};
pub(super) use crate::listener::Broken;
use crate::listener::{Connection, DRAIN, HalfClose, HttpSettings, IdleTimeout, Listener, ListenerLimits};

/// The body of an answer.
pub(super) type AnswerBody = UnsyncBoxBody<Bytes, Broken>;

/// A listener for a gateway with these limits.
pub(super) fn listener(limits: &ModelGatewayLimits) -> Listener {
    let idle = IdleTimeout::Requests(IDLE_WAIT);
    Listener::new("the model gateway", ListenerLimits { connections: limits.connections, idle, drain: DRAIN })
}

/// Serves one connection until it ends.
pub(super) async fn serve(gateway: Arc<Gateway>, connection: Connection) {
    let settings = HttpSettings {
        head_bytes: HEAD_BYTES,
        head_wait: gateway.bounds.head_wait,
        // Nobody pays for an answer that nobody reads.
        half_close: HalfClose::Leave,
        closes_when_crowded: true,
        http2: None,
    };
    let connection = connection.watched(Some(gateway.redactor()));
    let reset = connection.reset.clone();
    let answer = move |request| {
        let (gateway, reset) = (Arc::clone(&gateway), reset.clone());
        async move { gateway.answer(request, &reset).await }
    };
    connection.serve_http(settings, answer).await;
}
