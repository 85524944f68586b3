//! Sends one message, once.

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, HeaderName};
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use scenario::untrusted;

use super::address::{Names, Target, Unreachable};
use super::signature;

/// Timeout of connecting.
const CONNECTING: Duration = Duration::from_secs(5);
/// Timeout of the whole request.
const SENDING: Duration = Duration::from_secs(15);
/// The most bytes of an answer that are read.
const ANSWER: usize = 1024;
/// The header with the message's id, by which a receiver knows one that arrives twice.
const DELIVERY: HeaderName = HeaderName::from_static("x-touchstone-delivery");

/// A message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'a> {
    /// Its id.
    pub(crate) id: &'a str,
    /// The body, JSON.
    pub(crate) body: &'a str,
    /// Its signature.
    pub(crate) signature: &'a str,
}

/// Answers every question for a name with the addresses that were found, and looked at.
#[derive(Debug)]
struct Pinned(Vec<SocketAddr>);

impl Resolve for Pinned {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

/// Why a message did not arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failed {
    /// It may arrive later.
    Later(String),
    /// It will not.
    Never(String),
}

/// Sends a message to where a webhook leads: only to addresses that it may lead to, without following redirects.
pub(crate) async fn send(target: &Target, names: &dyn Names, message: Message<'_>) -> Result<(), Failed> {
    let addresses = target.addresses(names).await.map_err(|unreachable| match unreachable {
        Unreachable::Refused(error) => Failed::Never(error.to_string()),
        Unreachable::Unknown(reason) => Failed::Later(reason),
    })?;
    // Whoever was first has chosen it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder()
        .redirect(Policy::none())
        .no_proxy()
        .connect_timeout(CONNECTING)
        .timeout(SENDING)
        .user_agent(concat!("touchstone/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(Pinned(addresses));
    let client = client.build().map_err(|error| Failed::Later(told(&error)))?;
    let sent = client
        .post(target.url().clone())
        .header(CONTENT_TYPE, "application/json")
        .header(DELIVERY, message.id)
        .header(signature::HEADER, message.signature)
        .body(message.body.to_owned())
        .send()
        .await
        .map_err(|error| Failed::Later(told(&error)))?;
    judge(sent).await
}

/// Checks that an answer says that the message arrived.
async fn judge(mut answer: reqwest::Response) -> Result<(), Failed> {
    let status = answer.status();
    if status.is_success() {
        return Ok(());
    }
    if status.is_redirection() {
        return Err(Failed::Later(format!("it answered with {status}, and redirects are not followed")));
    }
    // What it says is for the person who looks why nothing arrives; more than a little of it is not read.
    let mut said = Vec::new();
    while said.len() < ANSWER {
        match answer.chunk().await {
            Ok(Some(chunk)) => said.extend_from_slice(&chunk[..chunk.len().min(ANSWER - said.len())]),
            Ok(None) | Err(_) => break,
        }
    }
    let said = untrusted::line(&String::from_utf8_lossy(&said), 200);
    let reason = format!("it answered with {status}: {said}");
    Err(if status == StatusCode::GONE { Failed::Never(reason) } else { Failed::Later(reason) })
}

/// An error with its causes, without the URL, which may be a secret.
fn told(error: &reqwest::Error) -> String {
    let mut words = match error {
        error if error.is_timeout() => "it took too long".to_owned(),
        error if error.is_connect() => "it could not be connected to".to_owned(),
        _ => "it could not be sent".to_owned(),
    };
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    untrusted::line(&words, 300)
}
