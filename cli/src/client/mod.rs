//! A server, as its client sees it: calls that survive short outages, and refusals in words for people.

mod baselines;
mod bundle;
mod events;
mod experiments;
mod following;
mod idle_timeout;
mod options;
mod refusal;
mod status;
mod waiting;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use serde_json::Value as Json;
use store::Retries;
use tokio::time::{Instant, sleep};

pub(crate) use bundle::Submission;
pub(crate) use events::{Happened, Stream, Streamed};
pub(crate) use experiments::{Accepted, Listed, RemoteRun, segment};
pub(crate) use following::{Followed, follow};
use idle_timeout::{SILENCE, with_idle_timeout};
pub(crate) use options::{MaybeServer, ServerOptions};
use refusal::{refused, unreachable};
pub(crate) use status::RemoteStatus;

use crate::http_client;
use crate::output::CommandError;

/// Time that a server which answered before may be unavailable until a command gives up.
const OUTAGE: Duration = Duration::from_secs(60);
/// The same for a server that never answered: the address is probably wrong.
const NEVER_MET: Duration = Duration::from_secs(2);
/// Timeout of an answer; longer ones arrive in parts.
const ANSWER: Duration = Duration::from_secs(60);
/// Timeout of a submission, with all its files.
const SUBMISSION: Duration = Duration::from_secs(600);
/// The first pause between two tries, which becomes longer.
const PAUSE: Duration = Duration::from_millis(250);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A server.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    client: Client,
    url: Url,
    key: Option<String>,
    /// True once the server has answered.
    met: Arc<AtomicBool>,
    /// Requests that are repeated because they failed.
    retries: Retries,
}

impl Server {
    fn new(url: Url, key: Option<String>) -> Result<Self, CommandError> {
        let client = http_client::outside(&url)
            .map_err(|error| CommandError::Infrastructure(format!("the client cannot be made: {error}")))?;
        Ok(Self { client, url, key, met: Arc::default(), retries: Retries::logged() })
    }

    /// Returns its address, for people.
    pub(crate) fn place(&self) -> &str {
        self.url.as_str().trim_end_matches('/')
    }

    /// Sends a GET request and returns its JSON.
    pub(crate) async fn get(&self, path: &str) -> Result<Json, CommandError> {
        self.json(self.ask(path).await?).await
    }

    /// The answer to a question, to be read in parts.
    pub(crate) async fn ask(&self, path: &str) -> Result<Response, CommandError> {
        self.call(|| self.request(Method::GET, path).timeout(ANSWER)).await
    }

    /// A file, in parts as they arrive.
    pub(crate) async fn download(
        &self,
        path: &str,
    ) -> Result<BoxStream<'static, Result<Bytes, CommandError>>, CommandError> {
        let answer = self.call(|| self.request(Method::GET, path)).await?;
        let broke = |error| CommandError::Infrastructure(format!("the download broke: {error}"));
        Ok(with_idle_timeout(answer.bytes_stream(), SILENCE).map(move |part| part.map_err(broke)).boxed())
    }

    /// Sends a POST request and returns its JSON. A request that may have arrived is repeated only when it is
    /// idempotent.
    pub(crate) async fn post(&self, path: &str, body: &Json) -> Result<Json, CommandError> {
        let request = self.request(Method::POST, path).timeout(ANSWER).json(body);
        let answer = request.send().await.map_err(|error| unreachable(self, &error))?;
        self.json(self.accepted(answer).await?).await
    }

    /// Sends an order that is answered without a body.
    pub(crate) async fn post_for_status(&self, path: &str, body: &Json) -> Result<(), CommandError> {
        let request = self.request(Method::POST, path).timeout(ANSWER).json(body);
        let answer = request.send().await.map_err(|error| unreachable(self, &error))?;
        self.accepted(answer).await.map(|_| ())
    }

    /// Sends a POST request with a name, by which the server recognizes a repetition, and returns its JSON.
    pub(crate) async fn post_once(&self, path: &str, name: &str, body: &Json) -> Result<Json, CommandError> {
        let request = || {
            let request = self.request(Method::POST, path).timeout(SUBMISSION).header("idempotency-key", name);
            request.json(body)
        };
        self.json(self.call(request).await?).await
    }

    /// A request with the key.
    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.place()));
        match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    /// Repeats a request while the server is unavailable or busy.
    async fn call(&self, request: impl Fn() -> RequestBuilder) -> Result<Response, CommandError> {
        let began = Instant::now();
        let mut pause = PAUSE;
        let mut observer = self.retries.observe("asking the server");
        loop {
            let (problem, wait) = match request().send().await {
                Ok(answer) if is_passing(answer.status()) => {
                    // What says that nobody is there may be a proxy in front of an address that is wrong.
                    if answer.status() == StatusCode::TOO_MANY_REQUESTS {
                        self.met.store(true, Ordering::Relaxed);
                    }
                    let wait = retry_after(&answer).unwrap_or(pause);
                    (refused(self, answer).await, wait)
                }
                Ok(answer) => {
                    self.met.store(true, Ordering::Relaxed);
                    return self.accepted(answer).await;
                }
                Err(error) => (unreachable(self, &error), pause),
            };
            let patience = if self.met.load(Ordering::Relaxed) { OUTAGE } else { NEVER_MET };
            if began.elapsed() + wait > patience {
                return Err(problem);
            }
            // Who never answered is not waited for long enough to be worth a word.
            if self.met.load(Ordering::Relaxed) {
                observer.failed(&problem);
            }
            sleep(wait).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// The answer, unless it is a refusal.
    async fn accepted(&self, answer: Response) -> Result<Response, CommandError> {
        if answer.status().is_success() { Ok(answer) } else { Err(refused(self, answer).await) }
    }

    async fn json(&self, answer: Response) -> Result<Json, CommandError> {
        let text = answer.text().await.map_err(|error| unreachable(self, &error))?;
        serde_json::from_str(&text).map_err(|error| {
            let place = self.place();
            CommandError::Infrastructure(format!(
                "what {place} answers is no JSON ({error}): is it a Touchstone server?"
            ))
        })
    }
}

/// Returns true if a retry may succeed.
fn is_passing(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

fn retry_after(answer: &Response) -> Option<Duration> {
    let seconds = answer.headers().get("retry-after")?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds).max(PAUSE))
}
