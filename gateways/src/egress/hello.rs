//! The beginning of TLS, read without answering it: whom the client wants to talk to.

use std::io;
use std::time::Duration;

use rustls::server::Acceptor;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::timeout;

/// The largest beginning that is read: a client needs a few kilobytes at most.
const MOST_BYTES: usize = 32 * 1024;
/// Timeout for a client to name its host.
const PATIENCE: Duration = Duration::from_secs(15);

/// First bytes of a client, and the host that they name.
#[derive(Debug)]
pub(super) struct Hello {
    /// The name that it wants to talk to.
    pub(super) name: String,
    /// All bytes that were read.
    pub(super) bytes: Vec<u8>,
}

/// Reads whom a client wants to talk to; `Err` says why that is not known, or is empty when the client said nothing.
pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Hello, String> {
    match timeout(PATIENCE, read_all(stream)).await {
        Ok(hello) => hello,
        Err(_) => Err("the client did not say whom it wants to talk to".to_owned()),
    }
}

async fn read_all(stream: &mut (impl AsyncRead + Unpin)) -> Result<Hello, String> {
    let mut acceptor = Acceptor::default();
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while bytes.len() < MOST_BYTES {
        let size = match stream.read(&mut buffer).await {
            Ok(0) | Err(_) if bytes.is_empty() => return Err(String::new()),
            Ok(0) | Err(_) => break,
            Ok(size) => size,
        };
        bytes.extend_from_slice(&buffer[..size]);
        let accepted = feed(&mut acceptor, &buffer[..size]).map_err(|()| "it is no TLS; only TLS goes out here")?;
        if let Some(name) = accepted {
            let without = || "it names no server (SNI), so nobody knows where it goes".to_owned();
            return Ok(Hello { name: name.ok_or_else(without)?, bytes });
        }
    }
    Err("it is no TLS; only TLS goes out here".to_owned())
}

/// Feeds bytes to the TLS reader; `Some` when it has read enough, with the name when there is one.
fn feed(acceptor: &mut Acceptor, mut bytes: &[u8]) -> Result<Option<Option<String>>, ()> {
    while !bytes.is_empty() {
        let read: io::Result<usize> = acceptor.read_tls(&mut bytes);
        if read.map_err(|_| ())? == 0 {
            return Err(());
        }
        if let Some(accepted) = acceptor.accept().map_err(|_| ())? {
            return Ok(Some(accepted.client_hello().server_name().map(ToOwned::to_owned)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, ClientConnection, RootCertStore};

    use super::read;

    fn hello(name: &str) -> Vec<u8> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("versions");
        let config = builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
        let name = ServerName::try_from(name.to_owned()).expect("a name");
        let mut client = ClientConnection::new(Arc::new(config), name).expect("a client");
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).expect("a beginning");
        bytes
    }

    async fn name(mut bytes: &[u8]) -> Result<String, String> {
        read(&mut bytes).await.map(|hello| hello.name)
    }

    #[tokio::test]
    async fn the_name_is_read_and_the_bytes_are_kept() {
        let bytes = hello("api.example.com");
        let found = read(&mut bytes.as_slice()).await.expect("a name");
        assert_eq!((found.name.as_str(), found.bytes), ("api.example.com", bytes));
    }

    #[tokio::test]
    async fn what_has_no_name_or_is_no_tls_says_so() {
        assert!(name(&hello("1.2.3.4")).await.is_err_and(|why| why.contains("names no server")));
        assert!(name(b"GET / HTTP/1.1\r\n\r\n").await.is_err_and(|why| why.contains("no TLS")));
        assert!(name(&hello("api.example.com")[..50]).await.is_err_and(|why| why.contains("no TLS")));
        let endless = [&[0x16, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff][..], &[0; 40_000]].concat();
        assert!(name(&endless).await.is_err());
        assert_eq!(name(b"").await, Err(String::new()));
    }
}
