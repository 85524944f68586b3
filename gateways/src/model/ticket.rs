//! A call that was written down and whose end is still to come.

use std::sync::Arc;

use scenario::dialect::Answer;
use scenario::evidence::{Body, FaultMark, ProviderFailure, TokenCount, UpstreamTry};
use tokio::time::Instant;

use super::governed::Observer;
use super::ledger::Ledger;
use super::pace::UnderWay;
use super::refusal::Refusal;

/// Status of a call whose client disconnected before it was answered.
const HUNG_UP: u16 = 499;

/// A call that was recorded. Its end is recorded once: by [`finish`](Self::finish), or when it is dropped because the
/// client disconnected.
pub(super) struct Ticket {
    ledger: Arc<Ledger>,
    index: usize,
    /// Size of the request in bytes.
    request_bytes: usize,
    since: Instant,
    /// True when a call of `max_calls` is reserved for it.
    reserved: bool,
    /// The turn that was used up for it.
    pub(super) turn: Option<usize>,
    /// The model of an upstream that was asked: it costs something after that, whether or not its answer is waited for.
    pub(super) forwarded: Option<String>,
    /// The call counts as under way until the ticket is dropped.
    pub(super) under_way: Option<UnderWay>,
    /// Tries that the upstream failed.
    pub(super) tries: Vec<UpstreamTry>,
    /// The provider's failure, if it failed the call.
    pub(super) provider: Option<ProviderFailure>,
    /// The fault that hits the call.
    pub(super) fault: Option<FaultMark>,
    /// Judges the response when it has ended, and takes its cost.
    pub(super) observer: Option<Observer>,
    finished: bool,
}

/// Outcome of a call.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) status: u16,
    pub(super) stream: bool,
    pub(super) response: Body,
    /// The answer; `None` when it could not be read.
    pub(super) answer: Option<Answer>,
    /// The answer that is billed, when a fault changed it.
    pub(super) billed_answer: Option<Answer>,
    /// The upstream's own answer, when a fault changed it.
    pub(super) original: Option<Body>,
    /// Tokens that a script gives.
    pub(super) tokens: Option<TokenCount>,
    pub(super) turn: Option<usize>,
    pub(super) from_upstream: bool,
    /// True when it counts as a call, with tokens and cost.
    pub(super) billed: bool,
    /// The model whose price counts.
    pub(super) billed_model: String,
    pub(super) problem: Option<String>,
    pub(super) tries: Vec<UpstreamTry>,
    pub(super) provider: Option<ProviderFailure>,
    pub(super) fault: Option<FaultMark>,
    /// The word for programs of a refusal of ours.
    pub(super) code: &'static str,
}

impl Ticket {
    pub(super) fn new(ledger: Arc<Ledger>, index: usize, request_bytes: usize) -> Self {
        Self {
            ledger,
            index,
            request_bytes,
            since: Instant::now(),
            reserved: false,
            turn: None,
            forwarded: None,
            under_way: None,
            tries: Vec::new(),
            provider: None,
            fault: None,
            observer: None,
            finished: false,
        }
    }

    /// Requests admission of a call that may cost something.
    pub(super) fn admit(&mut self, model: &str) -> Result<(), Refusal> {
        self.ledger.admit(model)?;
        self.reserved = true;
        Ok(())
    }

    /// Writes down how the call ended; a second time changes nothing.
    pub(super) fn finish(&mut self, outcome: Outcome) {
        if !std::mem::replace(&mut self.finished, true) {
            let (tries, provider) = (std::mem::take(&mut self.tries), self.provider.take());
            let fault = self.fault.take();
            let outcome = Outcome { turn: outcome.turn.or(self.turn), tries, provider, fault, ..outcome };
            let observer = self.observer.take();
            if let (Some(observer), Some(answer), 200..=299) = (&observer, &outcome.answer, outcome.status) {
                observer.take(answer);
            }
            let cost = self.ledger.finish(self.index, self.request_bytes, self.reserved, self.since, outcome);
            if let Some(observer) = observer {
                observer.add_cost(cost);
            }
        }
    }

    /// Writes down that the call was refused.
    pub(super) fn refuse(&mut self, refusal: &Refusal, body: &[u8]) {
        self.finish(Outcome {
            status: refusal.status.as_u16(),
            response: Body::Kept(scenario::evidence::Blob(body.to_vec())),
            problem: Some(refusal.message.clone()),
            code: refusal.code,
            ..Outcome::default()
        });
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let problem = Some("the agent hung up before it was answered".to_owned());
        let forwarded = self.forwarded.take();
        self.finish(Outcome {
            status: HUNG_UP,
            problem,
            billed: forwarded.is_some(),
            billed_model: forwarded.unwrap_or_default(),
            ..Outcome::default()
        });
    }
}
