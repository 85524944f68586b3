//! Passes requests over HTTP/1 on to a container one by one, so that faults can hit them. What speaks another protocol is passed
//! on as it comes.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::governed::{GovernedRequest, Permitted};
use super::opening::{Opened, open};
use super::{FORWARD_IDLE, Target};
use crate::contract_session::ServiceGovernor;
use crate::faulted_requests::{Body, FaultedRequests, Sent, Server};
use crate::faults::ToolFaults;
use crate::hop_by_hop::remove_hop_by_hop;
use crate::listener::{Broken, Connection, HalfClose, HttpSettings, Reset};

/// Largest head of a request: 64 KiB.
const HEAD_BYTES: usize = 64 * 1024;

/// The requests of one port of a container.
#[derive(Debug)]
pub(super) struct Requests {
    faults: Option<ToolFaults>,
    governor: Option<Arc<ServiceGovernor>>,
    target: Target,
    faulted: FaultedRequests,
}

/// The container behind one request, and a connection to it that is open already.
struct Container<'a> {
    target: &'a Target,
    open: Mutex<Option<TcpStream>>,
}

/// Passes a connection on: request by request when it speaks HTTP/1, else as it comes.
pub(super) async fn pass_on(mut connection: Connection, mut to: TcpStream, requests: Arc<Requests>) -> io::Result<()> {
    let client = std::mem::replace(&mut connection.stream, Box::new(tokio::io::empty()));
    let Opened { from_client, greeting, is_http } = open(client, &mut to).await?;
    connection.stream = Box::new(from_client);
    if !is_http && requests.governor.is_some() {
        // A protocol that nobody can judge does not pass.
        connection.reset.arm();
        return Ok(());
    }
    if !is_http {
        connection.stream.write_all(&greeting).await?;
        return connection.relay(to).await;
    }
    let settings = HttpSettings {
        head_bytes: HEAD_BYTES,
        head_wait: FORWARD_IDLE,
        half_close: HalfClose::Answer,
        closes_when_crowded: false,
        http2: None,
    };
    let (open, reset) = (Arc::new(Mutex::new(Some(to))), connection.reset.clone());
    let answer = move |request| {
        let (requests, open, reset) = (Arc::clone(&requests), Arc::clone(&open), reset.clone());
        async move {
            let open = open.lock().unwrap_or_else(PoisonError::into_inner).take();
            requests.answer(request, open, reset).await
        }
    };
    connection.serve_http(settings, answer).await;
    Ok(())
}

impl Requests {
    pub(super) fn new(faults: Option<ToolFaults>, governor: Option<Arc<ServiceGovernor>>, target: Target) -> Self {
        Self { faults, governor, target, faulted: FaultedRequests::default() }
    }

    /// Answers a request, over a connection that is open already or another.
    async fn answer(
        &self,
        request: Request<Incoming>,
        open: Option<TcpStream>,
        reset: Reset,
    ) -> Result<Response<Body>, Broken> {
        let container = Container { target: &self.target, open: Mutex::new(open) };
        let Some(governor) = &self.governor else {
            let request = request.map(|body| body.boxed_unsync());
            return self.faulted.answer(request, self.faults.as_ref(), &container, reset).await;
        };
        let version = request.version();
        match GovernedRequest::permit(request, governor).await {
            Permitted::Passing(request) => self.faulted.answer(request, self.faults.as_ref(), &container, reset).await,
            Permitted::Call(call, request) => {
                let answered = self.faulted.answer(request, self.faults.as_ref(), &container, reset).await;
                call.complete(answered).await
            }
            Permitted::Refused(method, answer) => {
                let delivered = answer.deliver(&method, version, self.faulted.share(), reset).await;
                delivered.map(|response| response.map(|body| body.boxed_unsync()))
            }
        }
    }
}

impl Server for Container<'_> {
    type Failure = Broken;

    async fn send(&self, request: Request<Sent>) -> Result<Response<Incoming>, Broken> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        let stream = match open {
            Some(stream) => stream,
            None => self.target.dial.dial(self.target.port).await.map_err(|_| Broken)?,
        };
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|_| Broken)?;
        // It ends with the answer, or when nobody waits for that any more.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        let mut response = sender.send_request(request).await.map_err(|_| Broken)?;
        remove_hop_by_hop(response.headers_mut());
        Ok(response)
    }
}
