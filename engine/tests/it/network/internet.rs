//! A network that plays the internet: a namespace of its own with a few addresses on its loopback, and servers on them.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use gateways::egress::Outside;
use rcgen::{CertificateParams, KeyPair};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio_rustls::TlsAcceptor;

/// The addresses at which there are servers.
const ADDRESSES: [&str; 3] = ["11.0.0.1", "11.0.0.2", "11.0.0.3"];

type Call = (SocketAddr, oneshot::Sender<io::Result<std::net::TcpStream>>);

/// A network that plays the internet.
#[derive(Debug)]
pub(super) struct Internet {
    calls: mpsc::UnboundedSender<Call>,
    /// The addresses of names; each question takes the first set and leaves the last.
    names: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    /// Addresses that were connected to.
    connected: Mutex<Vec<SocketAddr>>,
    /// Names that were asked for.
    asked: Mutex<Vec<String>>,
    /// The certificate of its servers, which is its own authority.
    pub(super) certificate: String,
}

impl Internet {
    /// An internet with these names, and what each leads to.
    pub(super) async fn new(names: &[(&str, &[&[&str]])]) -> Arc<Self> {
        let (certificate, acceptor) = certificate(names.iter().map(|(name, _)| (*name).to_owned()).collect());
        let (calls, called) = mpsc::unbounded_channel();
        let (ready, is_ready) = oneshot::channel();
        std::thread::spawn(move || live(called, acceptor, ready));
        is_ready.await.expect("a network of its own: the tests need root, `unshare` and `ip`");
        let parse = |set: &&[&str]| set.iter().map(|text| text.parse().expect("an address")).collect();
        let names = names.iter().map(|(name, sets)| ((*name).to_owned(), sets.iter().map(parse).collect()));
        let names = Mutex::new(names.collect());
        Arc::new(Self { calls, names, connected: Mutex::default(), asked: Mutex::default(), certificate })
    }

    /// Lists the addresses that were connected to, once each.
    pub(super) fn connected(&self) -> Vec<String> {
        let mut found: Vec<_> = self.connected.lock().expect("connections").iter().map(ToString::to_string).collect();
        found.sort();
        found.dedup();
        found
    }

    /// The names that were asked for, once each.
    pub(super) fn asked(&self) -> Vec<String> {
        let mut found = self.asked.lock().expect("names").clone();
        found.sort();
        found.dedup();
        found
    }
}

#[async_trait]
impl Outside for Internet {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.lock().expect("names").push(name.to_owned());
        let mut names = self.names.lock().expect("names");
        let sets = names.get_mut(name).ok_or_else(|| io::Error::other("no such name"))?;
        Ok(if sets.len() > 1 { sets.remove(0) } else { sets[0].clone() })
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        self.connected.lock().expect("connections").push(address);
        let (sender, receiver) = oneshot::channel();
        self.calls.send((address, sender)).map_err(io::Error::other)?;
        TcpStream::from_std(receiver.await.map_err(io::Error::other)??)
    }
}

/// A certificate for these names, and what serves it.
fn certificate(names: Vec<String>) -> (String, TlsAcceptor) {
    let key = KeyPair::generate().expect("a key");
    let certificate = CertificateParams::new(names).expect("names").self_signed(&key).expect("a certificate");
    let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().expect("versions").with_no_client_auth();
    let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = builder.with_single_cert(vec![certificate.der().clone()], private).expect("a certificate");
    (certificate.pem(), TlsAcceptor::from(Arc::new(config)))
}

/// The life of the network: a thread in a namespace of its own, until nobody can call it any more.
fn live(mut called: mpsc::UnboundedReceiver<Call>, acceptor: TlsAcceptor, ready: oneshot::Sender<()>) {
    move_away();
    run("ip", &["link", "set", "lo", "up"]);
    for address in ADDRESSES {
        run("ip", &["address", "add", &format!("{address}/32"), "dev", "lo"]);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async move {
        for address in ADDRESSES {
            let plain = TcpListener::bind((address, 80)).await.expect("a listener");
            let secure = TcpListener::bind((address, 443)).await.expect("a listener");
            tokio::spawn(serve(plain, address, None));
            tokio::spawn(serve(secure, address, Some(acceptor.clone())));
        }
        ready.send(()).expect("somebody waits");
        while let Some((address, sender)) = called.recv().await {
            let connected = TcpStream::connect(address).await.and_then(TcpStream::into_std);
            let _ = sender.send(connected);
        }
    });
}

/// Moves this thread into a network namespace that nothing leads out of.
fn move_away() {
    let mut holder =
        Holder(Command::new("unshare").args(["--net", "sleep", "60"]).stdout(Stdio::null()).spawn().expect("unshare"));
    let own = std::fs::read_link("/proc/thread-self/ns/net").expect("a namespace");
    let path = format!("/proc/{}/ns/net", holder.0.id());
    while std::fs::read_link(&path).is_ok_and(|namespace| namespace == own) {
        assert!(holder.0.try_wait().expect("a process").is_none(), "the tests need root");
        std::thread::sleep(Duration::from_millis(2));
    }
    let namespace = File::open(path).expect("a namespace");
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).expect("root");
}

/// A process that ends with this.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().expect("a program of the host");
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

async fn serve(listener: TcpListener, address: &'static str, acceptor: Option<TlsAcceptor>) {
    while let Ok((stream, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            match acceptor {
                None => converse(stream, address).await,
                Some(acceptor) => {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        converse(stream, address).await;
                    }
                }
            }
        });
    }
}

/// Answers requests without a body: with the server's address, and the host that the request names.
async fn converse(mut stream: impl AsyncRead + AsyncWrite + Unpin, address: &str) {
    let mut got = Vec::new();
    while let Ok(1..) = stream.read_buf(&mut got).await {
        if got.ends_with(b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&got).to_lowercase();
            let host = text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
            let body = format!("{address} as {host}");
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
            got.clear();
        }
    }
}
