//! The address of a server, and its access without a key.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};

use tokio::net::TcpListener;

use crate::output::CommandError;

/// Default port of a server.
const USUAL_PORT: u16 = 8012;

/// The reason why a text is no address to listen at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AddressError {
    /// It is a half, of which this is the whole.
    #[error("an address and a port are wanted, such as {whole}")]
    Half { whole: String },
    /// It is none, or its name is not known.
    #[error("`{text}` is no address with a port: {cause}")]
    Unknown {
        text: String,
        #[source]
        cause: io::Error,
    },
    /// Its name has no address.
    #[error("`{0}` leads nowhere")]
    Nowhere(String),
}

/// Finds an address, such as `127.0.0.1:8012` or `localhost:0`.
pub(crate) fn address(text: &str) -> Result<SocketAddr, AddressError> {
    let mut found = text.to_socket_addrs().map_err(|cause| match whole(text) {
        Some(whole) => AddressError::Half { whole },
        None => AddressError::Unknown { text: text.to_owned(), cause },
    })?;
    found.next().ok_or_else(|| AddressError::Nowhere(text.to_owned()))
}

/// The whole address, of which one half was given: a port, or an address.
fn whole(text: &str) -> Option<String> {
    let port = text.strip_prefix(':').unwrap_or(text).parse::<u16>();
    let address = text.strip_suffix(':').unwrap_or(text).parse::<IpAddr>();
    match (port, address) {
        (Ok(port), _) => Some(format!("127.0.0.1:{port}")),
        (_, Ok(address)) => Some(SocketAddr::new(address, USUAL_PORT).to_string()),
        _ => None,
    }
}

/// Refuses a server without keys that others could reach.
pub(crate) fn require_loopback(address: SocketAddr) -> Result<(), CommandError> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    Err(CommandError::Usage(format!(
        "--no-auth lets everybody who reaches {address} run commands on this machine; it is only for 127.0.0.1 and ::1: leave it away, and make keys with `touchstone key create`"
    )))
}

/// Listens, and says where.
pub(crate) async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), CommandError> {
    let unusable = |error: io::Error| {
        let next = match error.kind() {
            io::ErrorKind::AddrInUse => "; another program listens there: end it, or choose a port with `--listen`",
            io::ErrorKind::AddrNotAvailable => "; this machine has no such address: `--listen` names another",
            io::ErrorKind::PermissionDenied => "; ports below 1024 are for root: `--listen` names another",
            _ => "",
        };
        CommandError::Infrastructure(format!("cannot listen on {address}: {error}{next}"))
    };
    let listener = TcpListener::bind(address).await.map_err(unusable)?;
    let real = listener.local_addr().map_err(unusable)?;
    Ok((listener, real))
}

#[cfg(test)]
mod tests {
    use super::{address, require_loopback};

    #[test]
    fn only_loopback_is_open_to_everybody() {
        for open in ["127.0.0.1:8012", "127.8.9.10:0", "[::1]:80", "localhost:80"] {
            require_loopback(address(open).expect("an address")).expect("allowed");
        }
        for shut in ["0.0.0.0:8012", "[::]:8012", "192.0.2.1:80"] {
            let problem = require_loopback(address(shut).expect("an address")).expect_err("refused").to_string();
            assert!(problem.contains(shut) && problem.contains("touchstone key create"), "{problem}");
        }
    }

    #[test]
    fn half_an_address_is_told_how_the_whole_is_written() {
        for (half, whole) in [
            ("8013", "127.0.0.1:8013"),
            (":8013", "127.0.0.1:8013"),
            ("0.0.0.0", "0.0.0.0:8012"),
            ("127.0.0.1:", "127.0.0.1:8012"),
            ("::1", "[::1]:8012"),
        ] {
            let problem = address(half).expect_err(half).to_string();
            assert_eq!(problem, format!("an address and a port are wanted, such as {whole}"), "{half}");
        }
        let problem = address("127.0.0.1:many").expect_err("no port").to_string();
        assert!(problem.contains("is no address with a port"), "{problem}");
    }
}
