//! Sends a call to a judge's provider: within limits of size, and again after a transient failure.

use std::fmt;
use std::time::Duration;

use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use bytes::Bytes;
use futures::StreamExt as _;
use http::StatusCode;
use http::header::RETRY_AFTER;
use reqwest::Response;
use reqwest::redirect::Policy;

/// Largest size of a reply.
const MOST_REPLY: usize = 256 * 1024;
/// Length of a refusal that is shown.
const SHOWN: usize = 300;
/// Timeout for connecting.
const CONNECT: Duration = Duration::from_secs(15);

/// Number of tries of a call, and the waits between them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    pub(super) tries: u32,
    /// Before the second try; twice as long before each later one.
    pub(super) first: Duration,
    /// The longest wait, also when the provider asks for a longer one.
    pub(super) longest: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { tries: 3, first: Duration::from_millis(500), longest: Duration::from_secs(30) }
    }
}

/// Reason why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum CallError {
    /// The provider refused.
    #[error("{status}: {message}")]
    Refused {
        /// The status.
        status: StatusCode,
        /// The provider's message.
        message: String,
        /// The wait that it asks for.
        wait: Option<Duration>,
    },
    /// The provider could not be reached, or hung up.
    #[error("{0}")]
    Broken(String),
    /// The provider sent more than is read.
    #[error("the reply is larger than {MOST_REPLY} bytes")]
    TooLarge,
}

impl CallError {
    /// Returns true if another try may succeed.
    fn is_passing(&self) -> bool {
        match self {
            Self::Refused { status, .. } => *status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error(),
            Self::Broken(_) => true,
            Self::TooLarge => false,
        }
    }

    /// Returns true if the judged text can be the reason: its content, its length, or a provider that breaks over it.
    pub(super) fn can_be_provoked(&self) -> bool {
        match self {
            Self::Refused { status, .. } => {
                matches!(status.as_u16(), 400 | 403 | 413 | 414 | 415 | 422 | 451) || status.is_server_error()
            }
            Self::TooLarge => true,
            Self::Broken(_) => false,
        }
    }

    /// Returns the wait before the next try.
    fn wait(&self, tried: u32, patience: &Patience) -> Duration {
        let asked = match self {
            Self::Refused { wait, .. } => *wait,
            _ => None,
        };
        let usual = patience.first.saturating_mul(2_u32.saturating_pow(tried.saturating_sub(1)));
        asked.unwrap_or(usual).min(patience.longest)
    }
}

/// A client for calls to providers: it follows no redirect, because what is judged goes to nobody else.
pub(super) fn client() -> Result<reqwest::Client, CallError> {
    // Whoever comes first installs it; there is only one that it could be.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let built = reqwest::Client::builder().redirect(Policy::none()).connect_timeout(CONNECT).build();
    built.map_err(|error| CallError::Broken(words(error)))
}

/// Sends a request, again when that may help, and returns the whole reply.
pub(super) async fn send(
    client: reqwest::Client,
    request: HttpRequestFactory,
    patience: Patience,
) -> Result<Response, OpenAIError> {
    let mut tried = 0;
    loop {
        tried += 1;
        let error = match once(&client, request.build().await?).await {
            Ok(body) => return Ok(http::Response::new(body).into()),
            Err(error) => error,
        };
        if tried >= patience.tries || !error.is_passing() {
            return Err(OpenAIError::Boxed(Box::new(error)));
        }
        tracing::debug!(%error, tried, "the judge's provider is asked again");
        tokio::time::sleep(error.wait(tried, &patience)).await;
    }
}

async fn once(client: &reqwest::Client, request: reqwest::Request) -> Result<Bytes, CallError> {
    let response = client.execute(request).await.map_err(|error| CallError::Broken(words(error)))?;
    let status = response.status();
    let seconds = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let wait = seconds.map(Duration::from_secs);
    let body = read(response).await?;
    if status.is_success() {
        return Ok(body);
    }
    Err(CallError::Refused { status, message: said(&body), wait })
}

/// Reads a body, as far as it is not too large.
async fn read(response: Response) -> Result<Bytes, CallError> {
    let mut body = Vec::new();
    let mut parts = response.bytes_stream();
    while let Some(part) = parts.next().await {
        let part = part.map_err(|error| CallError::Broken(words(error)))?;
        if body.len() + part.len() > MOST_REPLY {
            return Err(CallError::TooLarge);
        }
        body.extend_from_slice(&part);
    }
    Ok(body.into())
}

/// Returns the provider's message about its refusal.
fn said(body: &[u8]) -> String {
    let json: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let message = json.as_ref().and_then(|json| json.pointer("/error/message")?.as_str());
    let text = message.map_or_else(|| String::from_utf8_lossy(body).into_owned(), ToOwned::to_owned);
    text.trim().chars().take(SHOWN).collect()
}

/// An error of the client with its causes, and without the address.
fn words(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(next) = cause {
        append(&mut words, next);
        cause = next.source();
    }
    words
}

fn append(words: &mut String, cause: &dyn fmt::Display) {
    let cause = cause.to_string();
    if !words.contains(&cause) {
        words.push_str(": ");
        words.push_str(&cause);
    }
}
