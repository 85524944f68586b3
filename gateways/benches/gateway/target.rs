//! Requests and the servers that they go to.

use std::any::Any;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;

/// A server with the request that it is asked.
pub(crate) struct Target {
    /// Address of the server.
    pub(crate) address: SocketAddr,
    /// The request.
    pub(crate) ask: Ask,
    /// The server, which ends with this.
    pub(crate) _server: Box<dyn Any + Send + Sync>,
}

/// A request that is sent again and again.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    /// The path.
    pub(crate) path: String,
    /// The name of the server.
    pub(crate) host: String,
    /// Other headers.
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The body.
    pub(crate) body: Bytes,
}

/// A gateway, and a plain server that gives the same answer.
pub(crate) struct Pair {
    /// Name of the comparison.
    pub(crate) name: &'static str,
    /// True when the answer comes in parts, so that the first of them has a time of its own.
    pub(crate) is_streamed: bool,
    /// The plain server.
    pub(crate) plain: Target,
    /// The gateway.
    pub(crate) gateway: Target,
}

impl Ask {
    /// A `POST` of JSON.
    pub(crate) fn post(path: &str, host: &str, body: impl Into<Bytes>) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Self { path: path.to_owned(), host: host.to_owned(), headers, body: body.into() }
    }

    /// The request, once more.
    pub(crate) fn request(&self) -> Request<Full<Bytes>> {
        let mut request = Request::builder().method(Method::POST).uri(&self.path).header("host", &self.host);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        request.body(Full::new(self.body.clone())).expect("a request")
    }
}
