//! HTTP clients for our own processes and for other servers.

use std::net::IpAddr;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Url};

/// Timeout of a connection attempt.
const CONNECT: Duration = Duration::from_secs(5);

/// A client for processes of ours: it goes straight to them, and nowhere else.
pub(crate) fn client() -> Result<Client, reqwest::Error> {
    choose_cryptography();
    let builder = || Client::builder().no_proxy().redirect(Policy::none()).connect_timeout(CONNECT);
    // A small image has no certificates of the outside. Processes of ours are called without TLS, so none are needed.
    builder().build().or_else(|_| builder().tls_certs_only([]).build())
}

/// A client for a server: through a proxy when the environment names one and the server is not on this machine.
pub(crate) fn outside(url: &Url) -> Result<Client, reqwest::Error> {
    if url.scheme() == "http" && is_here(url) {
        return client();
    }
    choose_cryptography();
    let agent = concat!("touchstone/", env!("CARGO_PKG_VERSION"));
    Client::builder().user_agent(agent).redirect(Policy::none()).connect_timeout(CONNECT * 2).build()
}

/// Returns true if a server is on this machine.
fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn choose_cryptography() {
    // Whoever was first has chosen it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
