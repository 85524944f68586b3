//! HTTP to a service inside the sandbox.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;

use crate::contract_session::MARK;
use crate::dial::Dial;

/// Largest answer: 8 MiB.
const ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// Number of idle connections that are kept for later requests.
const IDLE: usize = 8;

/// Place of a service inside the sandbox.
#[derive(Debug, Clone)]
pub struct ServicePlace {
    /// Its name.
    pub name: String,
    /// Connects to its address.
    pub dial: Arc<dyn Dial>,
    /// Its port.
    pub port: u16,
    /// The mark of requests of calls that were decided on, where the service is under contracts.
    pub mark: Option<String>,
}

/// Sends requests to a service, over connections that are used again.
pub(super) struct ServiceClient {
    place: ServicePlace,
    idle: Mutex<Vec<SendRequest<Full<Bytes>>>>,
    /// True when connections are no longer kept.
    is_closed: AtomicBool,
}

/// A whole answer.
#[derive(Debug)]
pub(super) struct ServiceAnswer {
    /// Its status.
    pub(super) status: StatusCode,
    /// Its body.
    pub(super) body: Bytes,
}

/// The reason why a service did not answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum ServiceFailure {
    #[error("no connection ({0})")]
    Connect(#[source] io::Error),
    #[error("the connection broke ({0})")]
    Broke(#[from] hyper::Error),
    #[error("its answer is not read to the end ({0})")]
    Body(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl ServiceClient {
    pub(super) fn new(place: ServicePlace) -> Self {
        Self { place, idle: Mutex::default(), is_closed: AtomicBool::new(false) }
    }

    /// The `Host` of requests.
    pub(super) fn host(&self) -> String {
        match self.place.port {
            80 => self.place.name.clone(),
            port => format!("{}:{port}", self.place.name),
        }
    }

    /// Sends a request, and reads the answer to its end.
    pub(super) async fn send(&self, request: Request<Full<Bytes>>) -> Result<ServiceAnswer, ServiceFailure> {
        let (sender, response) = self.begin(request).await?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, ANSWER_BYTES).collect().await.map_err(ServiceFailure::Body)?.to_bytes();
        self.keep(sender);
        Ok(ServiceAnswer { status: head.status, body })
    }

    /// Sends a request, and waits for the head of its answer. The sender must live until the body was read.
    pub(super) async fn begin(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(SendRequest<Full<Bytes>>, Response<Incoming>), ServiceFailure> {
        if let Some(mark) = self.place.mark.as_deref().and_then(|mark| HeaderValue::from_str(mark).ok()) {
            request.headers_mut().insert(HeaderName::from_static(MARK), mark);
        }
        while let Some(mut sender) = self.take() {
            // One that the service has closed meanwhile sent nothing, and another is tried.
            if sender.ready().await.is_ok() {
                match sender.try_send_request(request.clone()).await {
                    Ok(response) => return Ok((sender, response)),
                    Err(mut failed) => match failed.take_message() {
                        Some(_) => continue,
                        None => return Err(failed.into_error().into()),
                    },
                }
            }
        }
        let stream = self.place.dial.dial(self.place.port).await.map_err(ServiceFailure::Connect)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // It ends when the sender is dropped.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        let response = sender.send_request(request).await?;
        Ok((sender, response))
    }

    fn take(&self) -> Option<SendRequest<Full<Bytes>>> {
        let mut idle = self.idle();
        idle.retain(|sender| !sender.is_closed());
        idle.pop()
    }

    /// Keeps a connection whose answer was read to its end for later requests.
    pub(super) fn keep(&self, sender: SendRequest<Full<Bytes>>) {
        let mut idle = self.idle();
        if idle.len() < IDLE && !sender.is_closed() && !self.is_closed.load(Ordering::Acquire) {
            idle.push(sender);
        }
    }

    /// Closes idle connections, and keeps no more: a service that ends would wait for them.
    pub(super) fn close_idle(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<SendRequest<Full<Bytes>>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ServiceClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ServiceClient").field("place", &self.place).finish_non_exhaustive()
    }
}

/// The value of a header that is text.
pub(super) fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use async_trait::async_trait;
    use bytes::Bytes;
    use http::Request;
    use http_body_util::Full;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::{ServiceClient, ServicePlace};
    use crate::dial::Dial;

    #[derive(Debug)]
    struct Here;

    #[async_trait]
    impl Dial for Here {
        async fn dial(&self, port: u16) -> io::Result<TcpStream> {
            TcpStream::connect(("127.0.0.1", port)).await
        }
    }

    #[tokio::test]
    async fn idle_connections_are_closed_so_that_no_service_waits_for_them() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
        let port = listener.local_addr().expect("an address").port();
        let service = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut read = vec![0; 4096];
            let _ = stream.read(&mut read).await.expect("a request");
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.expect("an answer");
            stream.read(&mut read).await.expect("the end")
        });
        let client =
            ServiceClient::new(ServicePlace { name: "shop".to_owned(), dial: Arc::new(Here), port, mark: None });
        let request = Request::get("/").body(Full::new(Bytes::new())).expect("a request");
        assert_eq!(client.send(request).await.expect("an answer").body, "ok");
        assert_eq!(client.idle().len(), 1, "it is kept for the next request");
        client.close_idle();
        assert_eq!(service.await.expect("it ends"), 0, "the service sees the end of the connection");
    }
}
