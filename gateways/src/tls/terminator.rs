//! Takes TLS off connections that have it.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::ring;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::Authority;
use crate::listener::Socket;

/// Timeout for a client to begin, and then for the handshake.
const PATIENCE: Duration = Duration::from_secs(20);
/// The first byte of TLS.
const HANDSHAKE: u8 = 0x16;

/// A connection whose bytes can be read and written.
pub trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Duplex for S {}

/// Protocol inside TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    /// HTTP of either version: a mock answers.
    AnyHttp,
    /// The protocol that a service speaks without TLS, which is not HTTP/2.
    Service,
}

/// Takes TLS off connections that have it.
#[derive(Clone)]
pub struct Terminator {
    acceptor: TlsAcceptor,
}

impl Terminator {
    /// Makes a terminator with certificates of this authority.
    pub fn new(authority: &Arc<Authority>, inside: Inside) -> io::Result<Self> {
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
        let mut config = builder.with_no_client_auth().with_cert_resolver(Arc::<Authority>::clone(authority));
        let protocols: &[&[u8]] = match inside {
            Inside::AnyHttp => &[b"h2", b"http/1.1"],
            Inside::Service => &[b"http/1.1"],
        };
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)) })
    }

    /// Returns the content of a connection: the first byte says whether that is TLS.
    pub(crate) async fn open(&self, mut socket: Socket) -> io::Result<Box<dyn Duplex>> {
        let first = timeout(PATIENCE, socket.first_byte()).await??;
        if first != Some(HANDSHAKE) {
            return Ok(Box::new(socket));
        }
        let opened = timeout(PATIENCE, self.acceptor.accept(socket)).await??;
        Ok(Box::new(opened))
    }
}

impl fmt::Debug for Terminator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Terminator")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, ServerName};
    use rustls::{ClientConfig, RootCertStore};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio_rustls::TlsConnector;

    use super::super::Authority;
    use super::{Inside, Terminator};

    /// Starts a server that echoes bytes, and makes a client configuration that trusts its authority.
    async fn echo(inside: Inside) -> (std::net::SocketAddr, Arc<ClientConfig>) {
        let authority = Authority::new(vec!["fallback.example".to_owned()]).expect("an authority");
        let terminator = Terminator::new(&authority, inside).expect("a terminator");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = terminator.open(stream.into()).await else { continue };
                let mut buffer = [0; 5];
                stream.read_exact(&mut buffer).await.expect("five bytes");
                stream.write_all(&buffer).await.expect("sending");
                stream.shutdown().await.expect("an end");
            }
        });
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).expect("a certificate")).expect("a root");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("versions");
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        (address, Arc::new(config))
    }

    async fn said(mut stream: impl super::Duplex) -> String {
        stream.write_all(b"hello").await.expect("sending");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an answer");
        answer
    }

    #[tokio::test]
    async fn every_name_has_a_certificate_that_is_trusted() {
        let (address, config) = echo(Inside::AnyHttp).await;
        for name in ["api.stripe.com", "other.example", "api.stripe.com"] {
            let stream = TcpStream::connect(address).await.expect("a connection");
            let name = ServerName::try_from(name).expect("a name");
            let stream = TlsConnector::from(Arc::clone(&config)).connect(name, stream).await.expect("trust");
            assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
            assert_eq!(said(stream).await, "hello");
        }
        assert_eq!(said(TcpStream::connect(address).await.expect("a connection")).await, "hello", "without TLS too");
    }

    #[tokio::test]
    async fn a_service_is_not_promised_http_2() {
        let (address, config) = echo(Inside::Service).await;
        let stream = TcpStream::connect(address).await.expect("a connection");
        let name = ServerName::try_from("api.stripe.com").expect("a name");
        let stream = TlsConnector::from(config).connect(name, stream).await.expect("trust");
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"http/1.1".as_slice()));
    }

    #[tokio::test]
    async fn who_names_nobody_gets_a_certificate_of_the_service() {
        let (address, config) = echo(Inside::AnyHttp).await;
        let mut config = ClientConfig::clone(&config);
        config.enable_sni = false;
        let stream = TcpStream::connect(address).await.expect("a connection");
        let name = ServerName::try_from("fallback.example").expect("a name");
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.expect("trust");
        assert_eq!(said(stream).await, "hello");
    }
}
