//! How other processes of ours are called.

use std::time::Duration;

use reqwest::Client;
use reqwest::redirect::Policy;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);

/// A client for processes of ours: it goes straight to them, and nowhere else.
pub(crate) fn client() -> Result<Client, reqwest::Error> {
    // Whoever was first has chosen it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = || Client::builder().no_proxy().redirect(Policy::none()).connect_timeout(CONNECT);
    // A small image has no certificates of the outside. Processes of ours are called without TLS, so none are needed.
    builder().build().or_else(|_| builder().tls_certs_only([]).build())
}
