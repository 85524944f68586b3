use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use scenario::evidence::{AuditEvent, Audited};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::{Egress, Entrance, Gate, Outside, Policy, WhileActing};
use crate::Gateway as _;
use crate::faults::FaultEngine;
use crate::redact::Redactor;

/// Time limit for whatever a test waits for.
pub(super) const DEADLINE: Duration = Duration::from_secs(20);

/// An outside in which every address is one server of this process, which answers with the bytes that it got.
#[derive(Debug, Default)]
struct Fake {
    /// The addresses of names; each question takes the first set and leaves the last.
    names: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    server: Mutex<Option<SocketAddr>>,
    connected: Mutex<Vec<SocketAddr>>,
}

#[async_trait]
impl Outside for Fake {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let mut names = self.names.lock().expect("names");
        let sets = names.get_mut(name).ok_or_else(|| io::Error::other("no such name"))?;
        Ok(if sets.len() > 1 { sets.remove(0) } else { sets[0].clone() })
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        self.connected.lock().expect("connections").push(address);
        let server = self.server.lock().expect("a server").ok_or(io::ErrorKind::ConnectionRefused)?;
        TcpStream::connect(server).await
    }
}

/// A gateway with its three entrances.
pub(super) struct Running {
    egress: Egress,
    outside: Arc<Fake>,
    pub(super) plain: SocketAddr,
    pub(super) tls: SocketAddr,
    pub(super) proxy: SocketAddr,
}

impl Running {
    async fn new(allow: &[&str]) -> Self {
        Self::with(allow, None).await
    }

    /// A gateway with faults.
    pub(super) async fn with(allow: &[&str], faults: Option<Arc<FaultEngine>>) -> Self {
        let outside = Arc::new(Fake::default());
        let sets = [
            ("a.example", vec![vec!["11.0.0.1"]]),
            ("b.example", vec![vec!["11.0.0.2"]]),
            ("private.example", vec![vec!["10.0.0.1", "169.254.169.254"]]),
            ("mixed.example", vec![vec!["192.168.0.1", "11.0.0.3", "::1"]]),
            ("rebound.example", vec![vec!["11.0.0.4"], vec!["11.0.0.5"]]),
        ];
        for (name, sets) in sets {
            let parse = |set: Vec<&str>| set.into_iter().map(|text| text.parse().expect("an address")).collect();
            outside.names.lock().expect("names").insert(name.to_owned(), sets.into_iter().map(parse).collect());
        }
        *outside.server.lock().expect("a server") = Some(echo().await);
        let secrets = BTreeMap::from([("KEY".to_owned(), "s3cret-value".to_owned())]);
        let inside = ["mail".to_owned(), "api.stripe.com".to_owned()];
        let outer: Arc<dyn Outside> = Arc::<Fake>::clone(&outside);
        let gate = Gate::new(outer, inside, Redactor::new(&secrets, "k"), Arc::default(), faults);
        let egress = Egress::new(gate, WhileActing { policy: listed(allow), listens: !allow.is_empty() });
        let mut at = Vec::new();
        for entrance in [Entrance::Plain, Entrance::Tls, Entrance::Proxy] {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
            at.push(listener.local_addr().expect("an address"));
            egress.serve(listener, entrance).expect("serving");
        }
        if !allow.is_empty() {
            egress.begin().await;
        }
        Self { egress, outside, plain: at[0], tls: at[1], proxy: at[2] }
    }

    /// Lists the connections that went out and those that were denied, once everything has ended.
    pub(super) async fn seen(&self) -> String {
        self.egress.seal().await;
        let line = |audited: Audited| match audited.event {
            AuditEvent::Egress { host, port, address, bytes_out, bytes_in } => {
                let some = |bytes| if bytes > 0 { "some" } else { "none" };
                format!("{host}:{port} at {address}, {} out, {} in", some(bytes_out), some(bytes_in))
            }
            AuditEvent::EgressDenied { host, port, reason } => format!("{host}:{port} denied: {reason}"),
            other => panic!("{other:?}"),
        };
        // Connections end in any order.
        let mut lines: Vec<_> = self.egress.seen().into_iter().map(line).collect();
        lines.sort();
        lines.join("\n")
    }

    pub(super) fn connected(&self) -> Vec<String> {
        self.outside.connected.lock().expect("connections").iter().map(ToString::to_string).collect()
    }
}

fn listed(names: &[&str]) -> Policy {
    Policy::Listed { others: false, names: names.iter().map(|name| (*name).to_owned()).collect() }
}

/// A server that answers each request head with its first line and its host, and anything else with `got`.
async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut got = Vec::new();
                while let Ok(1..) = stream.read_buf(&mut got).await {
                    if got[0] == 0x16 {
                        stream.write_all(b"got").await.expect("sending");
                        got.clear();
                    } else if got.ends_with(b"\r\n\r\n") {
                        let text = String::from_utf8_lossy(&got).to_lowercase();
                        let host = text.lines().find(|line| line.starts_with("host:")).unwrap_or_default();
                        let body = format!("{} | {host}", text.lines().next().unwrap_or_default());
                        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
                        stream.write_all(format!("{head}{body}").as_bytes()).await.expect("sending");
                        got.clear();
                    }
                }
            });
        }
    });
    address
}

/// Sends requests on one connection, each after the answer to the one before; the status and body of each.
async fn talk(to: SocketAddr, requests: &[&str]) -> Vec<String> {
    let mut stream = TcpStream::connect(to).await.expect("a connection");
    let mut answers = Vec::new();
    for request in requests {
        stream.write_all(request.as_bytes()).await.expect("sending");
        answers.push(answer(&mut stream).await);
    }
    answers
}

async fn answer(stream: &mut TcpStream) -> String {
    let mut got = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&got).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return format!("{} {}", head.split(' ').nth(1).unwrap_or_default(), body.trim_end());
            }
        }
        let read = timeout(DEADLINE, stream.read_buf(&mut got)).await.expect("an answer in time").expect("reading");
        assert!(read > 0, "ended early: {text}");
    }
}

/// The beginning of TLS with this name.
pub(super) fn hello(name: &str) -> Vec<u8> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("versions");
    let config = builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).expect("a name");
    let mut bytes = Vec::new();
    ClientConnection::new(Arc::new(config), name).expect("a client").write_tls(&mut bytes).expect("a beginning");
    bytes
}

/// Sends bytes and returns the answer, until three bytes are there or the other side ends.
pub(super) async fn sends(stream: &mut TcpStream, bytes: &[u8]) -> String {
    stream.write_all(bytes).await.expect("sending");
    let mut got = [0; 3];
    match timeout(DEADLINE, stream.read_exact(&mut got)).await.expect("an end in time") {
        Ok(_) => String::from_utf8_lossy(&got).into_owned(),
        Err(_) => "ended".to_owned(),
    }
}

#[tokio::test]
async fn every_request_is_judged_by_its_own_host() {
    let running = Running::new(&["a.example"]).await;
    let answers = talk(
        running.plain,
        &[
            "GET /one HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "GET /two HTTP/1.1\r\nHost: b.example\r\n\r\n",
            "GET /three HTTP/1.1\r\nHost: A.Example:80\r\nConnection: x-gone\r\nX-Gone: 1\r\n\r\n",
            "GET http://b.example/four HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "GET http://a.example/five HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "GET /six HTTP/1.1\r\nHost: 11.0.0.1\r\n\r\n",
            "GET /seven HTTP/1.1\r\nHost: a.example:8080\r\n\r\n",
            "GET /eight HTTP/1.1\r\nHost: api.stripe.com\r\n\r\n",
            "GET /nine HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n",
        ],
    )
    .await;
    insta::assert_snapshot!(answers.join("\n"), @r"
    200 get /one http/1.1 | host: a.example
    403 touchstone: b.example: the spec does not let it out of the sandbox; to allow it, add the name to `network.egress.allow`
    200 get /three http/1.1 | host: a.example
    403 touchstone: b.example: the request names `a.example` as its host, and calls another
    200 get /five http/1.1 | host: a.example
    403 touchstone: 11.0.0.1: only a host with a name can be reached, and this is none; call it by its name
    403 touchstone: a.example: only ports 80 and 443 can be reached, and not `8080`
    403 touchstone: api.stripe.com: the name leads to a service of this sandbox; call it directly, without a proxy
    400 touchstone: the request: the request names several hosts
    ");
    insta::assert_snapshot!(running.seen().await, @r"
    11.0.0.1:80 denied: only a host with a name can be reached, and this is none; call it by its name
    :80 denied: the request names several hosts
    a.example:80 at 11.0.0.1, some out, some in
    a.example:80 denied: only ports 80 and 443 can be reached, and not `8080`
    api.stripe.com:80 denied: the name leads to a service of this sandbox; call it directly, without a proxy
    b.example:80 denied: the request names `a.example` as its host, and calls another
    b.example:80 denied: the spec does not let it out of the sandbox; to allow it, add the name to `network.egress.allow`
    ");
    assert!(running.connected().iter().all(|address| address == "11.0.0.1:80"), "{:?}", running.connected());
}

#[tokio::test]
async fn tls_is_judged_by_the_server_that_it_names_and_passed_on_as_it_is() {
    let running = Running::new(&["a.example"]).await;
    let mut said = Vec::new();
    let not_tls = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n".to_vec();
    for bytes in [hello("a.example"), hello("b.example"), hello("1.2.3.4"), not_tls] {
        said.push(sends(&mut TcpStream::connect(running.tls).await.expect("a connection"), &bytes).await);
    }
    assert_eq!(said, ["got", "ended", "ended", "ended"]);
    drop(TcpStream::connect(running.tls).await.expect("a connection"));
    insta::assert_snapshot!(running.seen().await, @r"
    :443 denied: it is no TLS; only TLS goes out here
    :443 denied: it names no server (SNI), so nobody knows where it goes
    a.example:443 at 11.0.0.1, some out, some in
    b.example:443 denied: the spec does not let it out of the sandbox; to allow it, add the name to `network.egress.allow`
    ");
    assert_eq!(running.connected(), ["11.0.0.1:443"]);
}

#[tokio::test]
async fn a_tunnel_leads_where_it_was_opened_for() {
    let running = Running::new(&["a.example", "b.example"]).await;
    let mut said = Vec::new();
    for (target, bytes) in [
        ("a.example:443", hello("a.example")),
        ("a.example:443", hello("b.example")),
        ("a.example:443", b"SSH-2.0-x\r\n".to_vec()),
        ("a.example:22", Vec::new()),
        ("11.0.0.1:443", Vec::new()),
        ("[::1]:443", Vec::new()),
        ("c.example:443", Vec::new()),
    ] {
        let mut stream = TcpStream::connect(running.proxy).await.expect("a connection");
        stream
            .write_all(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").as_bytes())
            .await
            .expect("sending");
        let opened = answer(&mut stream).await;
        let after = if opened.starts_with("200") { sends(&mut stream, &bytes).await } else { String::new() };
        said.push(format!("{target}: {opened} {after}").trim_end().to_owned());
    }
    insta::assert_snapshot!(said.join("\n"), @r"
    a.example:443: 200  got
    a.example:443: 200  ended
    a.example:443: 200  ended
    a.example:22: 403 touchstone: a.example: only ports 80 and 443 can be reached, and not 22
    11.0.0.1:443: 403 touchstone: 11.0.0.1: only a host with a name can be reached, and this is none; call it by its name
    [::1]:443: 403 touchstone: [::1]: only a host with a name can be reached, and this is none; call it by its name
    c.example:443: 403 touchstone: c.example: the spec does not let it out of the sandbox; to allow it, add the name to `network.egress.allow`
    ");
    insta::assert_snapshot!(running.seen().await, @r"
    11.0.0.1:443 denied: only a host with a name can be reached, and this is none; call it by its name
    [::1]:443 denied: only a host with a name can be reached, and this is none; call it by its name
    a.example:22 denied: only ports 80 and 443 can be reached, and not 22
    a.example:443 at 11.0.0.1, none out, none in
    a.example:443 at 11.0.0.1, none out, none in
    a.example:443 at 11.0.0.1, some out, some in
    a.example:443 denied: it is no TLS; only TLS goes out here
    b.example:443 denied: the tunnel was opened for `a.example`, and TLS in it names another server
    c.example:443 denied: the spec does not let it out of the sandbox; to allow it, add the name to `network.egress.allow`
    ");
}

#[tokio::test]
async fn a_tunnel_for_http_and_requests_with_whole_addresses_are_judged_one_by_one() {
    let running = Running::new(&["a.example", "b.example"]).await;
    let answers = talk(
        running.proxy,
        &[
            "GET http://a.example/one?x=1 HTTP/1.1\r\nHost: a.example\r\nProxy-Authorization: x\r\n\r\n",
            "GET http://b.example/two HTTP/1.1\r\nHost: b.example\r\n\r\n",
            "GET http://c.example/three HTTP/1.1\r\nHost: c.example\r\n\r\n",
            "GET http://a.example:8080/four HTTP/1.1\r\nHost: a.example:8080\r\n\r\n",
            "GET https://a.example/five HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "GET /six HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "CONNECT a.example:80 HTTP/1.1\r\nHost: a.example:80\r\n\r\n",
            "GET /seven HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "GET /eight HTTP/1.1\r\nHost: b.example\r\n\r\n",
        ],
    )
    .await;
    insta::assert_snapshot!(answers.join("\n"), @r"
    200 get /one?x=1 http/1.1 | host: a.example
    200 get /two http/1.1 | host: b.example
    403 touchstone: c.example: the spec does not let it out of the sandbox; to allow it, add the name to `network.egress.allow`
    403 touchstone: a.example: only ports 80 and 443 can be reached, and not `8080`
    400 touchstone: a.example: only `http://` is sent on as it is; `https://` needs CONNECT
    400 touchstone: this is a proxy; call it with CONNECT or with a whole address
    200 
    200 get /seven http/1.1 | host: a.example
    403 touchstone: b.example: the request names another host than its tunnel was opened for
    ");
    insta::assert_snapshot!(running.seen().await, @r"
    a.example:80 at 11.0.0.1, some out, some in
    a.example:80 at 11.0.0.1, some out, some in
    a.example:80 denied: only `http://` is sent on as it is; `https://` needs CONNECT
    a.example:80 denied: only ports 80 and 443 can be reached, and not `8080`
    b.example:80 at 11.0.0.2, some out, some in
    b.example:80 denied: the request names another host than its tunnel was opened for
    c.example:80 denied: the spec does not let it out of the sandbox; to allow it, add the name to `network.egress.allow`
    ");
}

#[tokio::test]
async fn a_name_leads_to_the_outside_or_nowhere_and_always_to_the_same_place() {
    let running = Running::new(&["*.example"]).await;
    let get = |host: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let mut statuses = Vec::new();
    for host in ["private.example", "mixed.example", "rebound.example", "rebound.example", "unknown.example"] {
        let answers = talk(running.plain, &[&get(host)]).await;
        statuses.push(answers[0].lines().next().unwrap_or_default().to_owned());
    }
    insta::assert_snapshot!(statuses.join("\n"), @r"
    403 touchstone: private.example: the name leads to a private address, which no sandbox may reach
    200 get / http/1.1 | host: mixed.example
    200 get / http/1.1 | host: rebound.example
    200 get / http/1.1 | host: rebound.example
    502 touchstone: unknown.example: the name could not be looked up: no such name
    ");
    assert_eq!(running.connected(), ["11.0.0.3:80", "11.0.0.4:80", "11.0.0.4:80"]);
}

#[tokio::test]
async fn what_was_open_before_the_agent_started_ends_and_is_not_kept() {
    let running = Running::new(&["a.example"]).await;
    running.egress.apply(Policy::Open).await;
    let mut tunnel = TcpStream::connect(running.tls).await.expect("a connection");
    assert_eq!(sends(&mut tunnel, &hello("b.example")).await, "got");
    let mut plain = TcpStream::connect(running.plain).await.expect("a connection");
    plain.write_all(b"GET / HTTP/1.1\r\nHost: b.example\r\n\r\n").await.expect("sending");
    assert!(answer(&mut plain).await.starts_with("200"));
    running.egress.apply(listed(&["a.example"])).await;
    for stream in [&mut tunnel, &mut plain] {
        let mut rest = Vec::new();
        let ended = timeout(DEADLINE, stream.read_to_end(&mut rest)).await.expect("an end in time");
        assert!(ended.is_err() || rest.is_empty());
    }
    assert_eq!(running.seen().await, "");
}

#[tokio::test]
async fn a_secret_in_a_name_is_not_written_down() {
    let running = Running::new(&["a.example"]).await;
    talk(running.plain, &["GET / HTTP/1.1\r\nHost: S3CRET-value.evil.example\r\n\r\n"]).await;
    let seen = running.seen().await;
    assert!(seen.starts_with("[redacted:KEY:k].evil.example:80 denied"), "{seen}");
}

#[tokio::test]
async fn a_gateway_that_left_frees_its_ports() {
    let running = Running::new(&[]).await;
    running.egress.begin().await;
    for address in [running.plain, running.tls, running.proxy] {
        std::net::TcpListener::bind(address).expect("the port is free");
    }
}
