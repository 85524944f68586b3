//! A connection that measures the duration of its requests.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::target::{Ask, Target};

/// A connection that is kept.
pub(crate) struct Client {
    sender: SendRequest<Full<Bytes>>,
    ask: Ask,
}

/// Duration of one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Took {
    /// Time until the first part of the answer's body.
    pub(crate) first: Duration,
    /// Time until the end of the body.
    pub(crate) all: Duration,
}

impl Client {
    /// Connects.
    pub(crate) async fn connect(target: &Target) -> Self {
        let stream = TcpStream::connect(target.address).await.expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        let (sender, connection) = handshake(TokioIo::new(stream)).await.expect("a handshake");
        tokio::spawn(connection);
        Self { sender, ask: target.ask.clone() }
    }

    /// Sends a request, and reads the answer to its end. Anything but a good answer fails.
    pub(crate) async fn ask(&mut self) -> Took {
        let request = self.ask.request();
        let started = Instant::now();
        self.sender.ready().await.expect("a connection that lasts");
        let response = self.sender.send_request(request).await.expect("an answer");
        assert!(response.status().is_success(), "{response:?}");
        let mut body = response.into_body();
        let mut first = None;
        while let Some(frame) = body.frame().await {
            frame.expect("a part of the answer");
            first.get_or_insert_with(|| started.elapsed());
        }
        let all = started.elapsed();
        Took { first: first.unwrap_or(all), all }
    }
}
