//! Forwards calls to a provider, and tries again when it fails. The agent notices only that an answer takes longer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use scenario::evidence::{ProviderFailure, UpstreamTry};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::TaskTracker;

use super::failure::{Failure, FailureClass};
use super::limits::{ANSWER_BYTES, RetryLimits};
use super::pace::Pace;
use super::provider::{Call, ProviderHealth, Verdict};
use super::proxy::{Proxy, chain};
use super::refusal::Refusal;
use super::request::ModelRequest;
use super::ticket::Ticket;
use crate::clock::Clock;
use crate::entropy;
use crate::memory_budget::Share;

/// Number of failed tries of a call that are kept.
const MOST_TRIES: usize = 50;

/// The way to a provider, and the knowledge of its health.
#[derive(Debug)]
pub(super) struct Forwarding {
    pub(super) proxy: Proxy,
    pace: Arc<Pace>,
    health: ProviderHealth,
    limits: RetryLimits,
    /// The time since the agent started, and how long it may act.
    clock: Arc<Clock>,
    time: Option<Duration>,
    /// Diagnoses of the provider that go on when the agent hung up.
    diagnoses: TaskTracker,
}

/// An answer of the upstream, of which at least the first byte has come.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) response: reqwest::Response,
    /// Parts of the body that have been read.
    pub(super) read: Vec<Bytes>,
    /// The error that broke it off, when it did while it was read.
    pub(super) broken: Option<reqwest::Error>,
}

/// A call while it is tried. When it is dropped before its end, the agent hung up.
struct Trying {
    forwarding: Arc<Forwarding>,
    call: Call,
    since: Instant,
    /// The last failure, and when it was.
    failure: Option<(Failure, Instant)>,
    ended: bool,
}

impl Forwarding {
    pub(super) fn new(
        proxy: Proxy,
        pace: Arc<Pace>,
        limits: RetryLimits,
        clock: Arc<Clock>,
        time: Option<Duration>,
    ) -> Arc<Self> {
        let health = ProviderHealth::new(limits.question_wait);
        Arc::new(Self { proxy, pace, health, limits, clock, time, diagnoses: TaskTracker::new() })
    }

    /// Forwards a call until it is answered, or until trying again is of no use. What the provider failed is noted.
    pub(super) async fn forward(
        self: &Arc<Self>,
        asked: &ModelRequest,
        parts: &Parts,
        body: Bytes,
        ticket: &mut Ticket,
    ) -> Result<Arrived, Refusal> {
        ticket.under_way = Some(self.pace.begin(asked.size));
        let mut trying = Trying::new(self, self.call(asked, &body));
        let failure = match self.insist(asked, parts, &body, &mut trying, ticket).await {
            Ok(arrived) => return Ok(arrived),
            Err(failure) => failure,
        };
        if self.pace.exceeded().is_some() {
            trying.ended = true;
            return Arrived::failed(failure);
        }
        let at = trying.failure.as_ref().map_or(trying.since, |(_, at)| *at);
        let verdict = self.health.diagnose(&self.proxy, &failure, &trying.call, at).await;
        let failure = match verdict {
            Verdict::Provider(provider) => {
                self.health.failed(trying.call.fingerprint, &provider);
                ticket.provider = Some(provider);
                failure
            }
            // It may have recovered just now.
            Verdict::Agent if failure.class == FailureClass::Unavailable => {
                match self.try_once(asked, parts, body, &mut trying, ticket).await {
                    Ok(arrived) => return Ok(arrived),
                    Err(failure) => failure,
                }
            }
            Verdict::Agent => failure,
        };
        trying.ended = true;
        Arrived::failed(failure)
    }

    /// Tries until there is an answer, the failure is not worth another try, or the time for it is over.
    async fn insist(
        &self,
        asked: &ModelRequest,
        parts: &Parts,
        body: &Bytes,
        trying: &mut Trying,
        ticket: &mut Ticket,
    ) -> Result<Arrived, Failure> {
        let was_down = self.health.is_down();
        let (mut until, mut tried) = (None, 0);
        loop {
            let failure = match self.try_once(asked, parts, body.clone(), trying, ticket).await {
                Ok(arrived) => return Ok(arrived),
                Err(failure) => failure,
            };
            let until = *until.get_or_insert_with(|| Instant::now() + self.budget());
            let wait = self.wait(&failure, tried);
            let pointless = failure.class == FailureClass::Refused || was_down || self.pace.exceeded().is_some();
            if pointless || Instant::now() + wait >= until {
                return Err(failure);
            }
            sleep(wait).await;
            tried += 1;
        }
    }

    /// Tries once, and notes the result.
    async fn try_once(
        &self,
        asked: &ModelRequest,
        parts: &Parts,
        body: Bytes,
        trying: &mut Trying,
        ticket: &mut Ticket,
    ) -> Result<Arrived, Failure> {
        // From now on it costs something, until the upstream says that it does not.
        ticket.forwarded = asked.route.is_billed().then(|| trying.call.model.clone());
        let tried = match self.proxy.forward(asked, parts, body).await {
            Ok(response) => Arrived::of(response).await,
            Err(refusal) => Err(Failure::unreachable(refusal)),
        };
        match &tried {
            Ok(arrived) => {
                trying.ended = true;
                if arrived.response.status().is_success() {
                    self.health.answered(&trying.call.fingerprint, asked.route.dialect, &trying.call.model);
                }
            }
            Err(failure) => {
                ticket.forwarded = None;
                trying.failure = Some((failure.clone(), Instant::now()));
                let after_ms = u64::try_from(trying.since.elapsed().as_millis()).unwrap_or(u64::MAX);
                let reason = self.proxy.scrubbed(&failure.reason);
                if ticket.tries.len() < MOST_TRIES {
                    ticket.tries.push(UpstreamTry { after_ms, status: failure.status, reason });
                }
            }
        }
        tried
    }

    /// Returns the time for retries of a call: not so long that the agent has no time left to do without an answer.
    pub(super) fn budget(&self) -> Duration {
        let elapsed = Duration::from_millis(self.clock.elapsed_ms());
        let left = self.time.map_or(Duration::MAX, |time| time.saturating_sub(elapsed) / 2);
        left.min(self.limits.time)
    }

    /// Returns the wait before the next try, after this many tries; a part of it is random, so that scenarios side by
    /// side do not all come back at once.
    fn wait(&self, failure: &Failure, tried: u32) -> Duration {
        if let Some(asked) = failure.retry_after {
            return asked.max(self.limits.first_wait);
        }
        let mut chance = [0];
        entropy::fill(&mut chance);
        let usual = self.limits.first_wait.saturating_mul(2_u32.saturating_pow(tried)).min(self.limits.longest_wait);
        usual.mul_f64(0.75 + f64::from(chance[0]) / 510.0)
    }

    /// A stream broke after its first byte had passed, so that it cannot be tried again.
    pub(super) fn broke_off(self: &Arc<Self>, call: &Call, problem: &str) {
        let refusal = Refusal::passing(StatusCode::BAD_GATEWAY, "upstream_broke_off", problem);
        self.diagnose_later(call.clone(), Failure::unreachable(refusal), Instant::now());
    }

    /// Diagnoses the provider when nobody waits for the answer any more.
    fn diagnose_later(self: &Arc<Self>, call: Call, failure: Failure, at: Instant) {
        if self.pace.exceeded().is_some() || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let forwarding = Arc::clone(self);
        self.diagnoses.spawn(async move {
            let verdict = forwarding.health.diagnose(&forwarding.proxy, &failure, &call, at).await;
            if let Verdict::Provider(provider) = verdict {
                forwarding.health.failed(call.fingerprint, &provider);
            }
        });
    }

    /// Waits until it is known whose failures there were. Each question has a time limit.
    pub(super) async fn settle(&self) {
        self.diagnoses.close();
        let longest = self.limits.question_wait.saturating_mul(2);
        if timeout(longest, self.diagnoses.wait()).await.is_err() {
            tracing::warn!("the provider of the model was still being asked when the records ended");
        }
    }

    /// The calls that the provider failed, and whether it did not answer any since.
    pub(super) fn failures(&self) -> (Vec<ProviderFailure>, bool) {
        (self.health.failures(), self.health.is_down())
    }

    pub(super) fn call(&self, asked: &ModelRequest, body: &Bytes) -> Call {
        let digest = Sha256::new().chain_update(&asked.route.path).chain_update([0]).chain_update(body).finalize();
        let (dialect, model) = (asked.route.dialect, self.proxy.model(asked).to_owned());
        Call { fingerprint: digest.into(), dialect, model }
    }
}

impl Arrived {
    /// Waits for the first byte: until then another try can take its place.
    async fn of(mut response: reqwest::Response) -> Result<Self, Failure> {
        if let Some(class) = FailureClass::of(response.status()) {
            return Err(Failure::answered(class, response).await);
        }
        match response.chunk().await {
            Ok(first) => Ok(Self { response, read: first.into_iter().collect(), broken: None }),
            Err(error) => {
                let message = format!("the upstream's answer broke off: {}", chain(&error.without_url()));
                Err(Failure::unreachable(Refusal::passing(StatusCode::BAD_GATEWAY, "upstream_broke_off", message)))
            }
        }
    }

    fn failed(failure: Failure) -> Result<Self, Refusal> {
        failure.into_answer().map(|response| Self { response, read: Vec::new(), broken: None })
    }

    /// Reads the answer to its end. `None` when it breaks off, or is larger than an answer that is read may be: it passes then.
    pub(super) async fn collect(&mut self, share: &mut Share) -> Option<Vec<u8>> {
        let mut size = self.read.iter().map(Bytes::len).sum::<usize>();
        loop {
            match self.response.chunk().await {
                Ok(Some(part)) => {
                    size += part.len();
                    let fits = size <= ANSWER_BYTES && share.grow(part.len());
                    self.read.push(part);
                    if !fits {
                        return None;
                    }
                }
                Ok(None) => return Some(self.read.concat()),
                Err(error) => {
                    self.broken = Some(error);
                    return None;
                }
            }
        }
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }
}

impl Trying {
    fn new(forwarding: &Arc<Forwarding>, call: Call) -> Self {
        Self { forwarding: Arc::clone(forwarding), call, since: Instant::now(), failure: None, ended: false }
    }
}

impl Drop for Trying {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let silent_since = self.since + self.forwarding.limits.silence;
        let (failure, at) = match self.failure.take() {
            Some(failed) => failed,
            None if Instant::now() >= silent_since => {
                let message = "the upstream did not answer before the agent hung up";
                let refusal = Refusal::passing(StatusCode::GATEWAY_TIMEOUT, "upstream_timeout", message);
                (Failure::unreachable(refusal), Instant::now())
            }
            None => return,
        };
        self.forwarding.diagnose_later(self.call.clone(), failure, at);
    }
}
