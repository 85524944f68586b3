//! The beginning of a connection, which tells if it speaks HTTP.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

use crate::tls::Duplex;

/// The methods with which a request begins.
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"];
/// Number of bytes that decide the protocol: the longest method, a blank, and the beginning of a target.
const LONGEST: usize = 9;

/// The protocol that the beginning of a connection is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Http,
    Other,
    /// More bytes are needed to tell.
    Unknown,
}

/// A connection whose beginning was read: those bytes are read again.
#[derive(Debug)]
pub(super) struct Opened<Stream> {
    pub(super) from_client: Again<Stream>,
    /// Bytes that the server sent before the client did.
    pub(super) greeting: Vec<u8>,
    pub(super) is_http: bool,
}

/// Reads until it is known if the client speaks HTTP. A server that speaks first does not.
pub(super) async fn open<Client: Duplex>(mut client: Client, server: &mut impl Duplex) -> io::Result<Opened<Client>> {
    let (mut begun, mut greeting) = (Vec::new(), Vec::new());
    let mut protocol = Protocol::Unknown;
    while protocol == Protocol::Unknown {
        let (mut bytes, mut greeted) = ([0; LONGEST], [0; 1024]);
        tokio::select! {
            biased;
            read = client.read(&mut bytes) => {
                let size = read?;
                begun.extend_from_slice(&bytes[..size]);
                protocol = if size == 0 { Protocol::Other } else { protocol_of(&begun) };
            }
            read = server.read(&mut greeted) => {
                greeting.extend_from_slice(&greeted[..read?]);
                protocol = Protocol::Other;
            }
        }
    }
    let from_client = Again { first: begun.into(), stream: client };
    Ok(Opened { from_client, greeting, is_http: protocol == Protocol::Http })
}

fn protocol_of(begun: &[u8]) -> Protocol {
    let may_be = |method: &&&str| {
        let method = method.as_bytes();
        begun.iter().zip(method.iter().chain(b" ")).all(|(one, other)| one == other)
    };
    match METHODS.iter().find(may_be) {
        None => Protocol::Other,
        Some(method) => match begun.get(method.len() + 1) {
            None => Protocol::Unknown,
            // A path, a whole URL, or the `*` of OPTIONS.
            Some(b'/' | b'h' | b'*') => Protocol::Http,
            Some(_) => Protocol::Other,
        },
    }
}

/// A stream with bytes that were read before.
#[derive(Debug)]
pub(super) struct Again<Stream> {
    first: Bytes,
    stream: Stream,
}

impl<Stream: Duplex> AsyncRead for Again<Stream> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.first.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let size = self.first.len().min(buffer.remaining());
        buffer.put_slice(&self.first[..size]);
        self.first.advance(size);
        Poll::Ready(Ok(()))
    }
}

impl<Stream: Duplex> AsyncWrite for Again<Stream> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::{Protocol, protocol_of};

    #[test]
    fn a_method_and_a_target_are_http() {
        for http in ["GET /x HTTP/1.1", "OPTIONS * HTTP/1.1", "GET http://shop/ HTTP/1.1", "DELETE /"] {
            assert_eq!(protocol_of(http.as_bytes()), Protocol::Http, "{http}");
        }
        for other in ["GET key\r\n", "PING\r\n", "*1\r\n$4\r\nPING", "PRI * HTTP/2.0", "\u{16}\u{3}", "get /x"] {
            assert_eq!(protocol_of(other.as_bytes()), Protocol::Other, "{other}");
        }
        for more in ["", "P", "GET", "GET ", "OPTIONS"] {
            assert_eq!(protocol_of(more.as_bytes()), Protocol::Unknown, "{more}");
        }
    }
}
