//! The three ways into the egress gateway: HTTP, TLS, and a proxy.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};

use super::client::Client;
use super::gate::{Gate, Refusal};
use super::hello;
use super::plain::{self, Requests, refuse, text_body};
use super::policy::host_name;
use super::upstream::Upstream;
use crate::faulted_requests::Body;
use crate::listener::{Broken, Connection, HalfClose, HttpSettings};

/// The port of HTTP over TLS.
pub(super) const TLS_PORT: u16 = 443;
/// The bounds of requests.
const HTTP: HttpSettings = HttpSettings {
    head_bytes: 64 * 1024,
    head_wait: Duration::from_secs(60),
    half_close: HalfClose::Answer,
    closes_when_crowded: false,
    http2: None,
};

/// A way into the egress gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entrance {
    /// Entrance for HTTP: each request says which host it is for.
    Plain,
    /// Entrance for TLS: its beginning says which host it is for.
    Tls,
    /// Entrance for clients that know that there is a proxy.
    Proxy,
}

/// Serves one connection until it ends.
pub(super) async fn serve(entrance: Entrance, connection: Connection, gate: Arc<Gate>) {
    let Connection { stream, reset, activity, .. } = connection.watched(Some(gate.redactor()));
    let client = Client { gate, reset, activity };
    match entrance {
        Entrance::Plain => plain(stream, client, None).await,
        Entrance::Tls => tls(stream, client).await,
        Entrance::Proxy => proxy(stream, client).await,
    }
}

/// Answers the requests of a connection.
async fn plain<S>(stream: S, client: Client, only: Option<String>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let requests = Requests::new(client, only);
    let service = service_fn(|request: Request<Incoming>| requests.answer(request));
    if let Err(error) = HTTP.http1().serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "a connection to the egress gateway broke");
    }
}

/// Passes TLS on to the host that its beginning names.
async fn tls<S>(mut stream: S, client: Client)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let gate = &client.gate;
    let opened = async {
        let hello = hello::read(&mut stream).await.map_err(|reason| Refusal::forbidden("", reason))?;
        let name = gate.judge(&hello.name)?;
        if !client.may_connect(&name).await {
            return Ok(None);
        }
        Ok(Some((gate.open(&name, TLS_PORT).await?, hello.bytes)))
    };
    match opened.await {
        Ok(Some((upstream, bytes))) => relay(stream, upstream, &bytes).await,
        // A fault ends it.
        Ok(None) => {}
        // Who said nothing wanted nothing.
        Err(Refusal { reason, .. }) if reason.is_empty() => {}
        Err(refusal) => gate.deny(TLS_PORT, &refusal),
    }
}

/// Carries bytes both ways until either side ends. Nothing is read or changed.
async fn relay(mut stream: impl AsyncRead + AsyncWrite + Unpin, mut upstream: Upstream, first: &[u8]) {
    if upstream.write_all(first).await.is_ok() {
        let _ = copy_bidirectional(&mut stream, &mut upstream).await;
    }
}

/// A tunnel that a client of the proxy asked for.
struct Tunnel {
    upgrade: OnUpgrade,
    host: String,
    /// The connection; without one, requests are judged one by one.
    upstream: Option<Upstream>,
}

/// Serves a client that knows that there is a proxy: requests with whole addresses, and tunnels.
async fn proxy<S>(stream: S, client: Client)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let requests = Requests::new(client.clone(), None);
    let tunnel = Mutex::new(None);
    let service = service_fn(|request: Request<Incoming>| async {
        if request.method() == Method::CONNECT {
            connect(request, &client, &tunnel).await
        } else if request.uri().authority().is_none() {
            let text = "touchstone: this is a proxy; call it with CONNECT or with a whole address\n";
            let mut response = Response::new(text_body(text.to_owned()));
            *response.status_mut() = StatusCode::BAD_REQUEST;
            Ok(response)
        } else {
            requests.answer(request).await
        }
    });
    let served = HTTP.http1().serve_connection(TokioIo::new(stream), service).with_upgrades().await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection to the proxy broke");
    }
    drop(requests);
    let tunnel = tunnel.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(tunnel) = tunnel {
        tunnel.run(client).await;
    }
}

/// Answers the wish for a tunnel.
async fn connect(
    mut request: Request<Incoming>,
    client: &Client,
    tunnel: &Mutex<Option<Tunnel>>,
) -> Result<Response<Body>, Broken> {
    let gate = &client.gate;
    let port = request.uri().port_u16().unwrap_or(0);
    let opened = async {
        let host = request.uri().host().unwrap_or_default().to_owned();
        if port != plain::PORT && port != TLS_PORT {
            let reason = format!("only ports 80 and 443 can be reached, and not {port}");
            return Err(Refusal::forbidden(&host, reason));
        }
        let name = gate.judge(&host)?;
        // It is connected to before the client is told that it is there.
        let upstream = match port {
            TLS_PORT if !client.may_connect(&name).await => return Ok(None),
            TLS_PORT => Some(gate.open(&name, port).await?),
            _ => None,
        };
        Ok(Some((name, upstream)))
    };
    match opened.await {
        Ok(None) => Err(Broken),
        Ok(Some((host, upstream))) => {
            let opened = Tunnel { upgrade: hyper::upgrade::on(&mut request), host, upstream };
            *tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened);
            Ok(Response::new(text_body(String::new())))
        }
        Err(refusal) => {
            gate.deny(port, &refusal);
            Ok(refuse(&refusal))
        }
    }
}

impl Tunnel {
    /// Carries the client's bytes, once it is seen that they are for the host of the tunnel.
    async fn run(self, client: Client) {
        let Ok(upgraded) = self.upgrade.await else { return };
        let mut stream = TokioIo::new(upgraded);
        let Some(upstream) = self.upstream else { return plain(stream, client, Some(self.host)).await };
        let refused = match hello::read(&mut stream).await {
            Ok(hello) if host_name(&hello.name).as_ref() == Some(&self.host) => {
                return relay(stream, upstream, &hello.bytes).await;
            }
            Ok(hello) => {
                let reason = format!("the tunnel was opened for `{}`, and TLS in it names another server", self.host);
                Refusal::forbidden(&hello.name, reason)
            }
            Err(reason) if reason.is_empty() => return,
            Err(reason) => Refusal::forbidden(&self.host, reason),
        };
        client.gate.deny(TLS_PORT, &refused);
    }
}
