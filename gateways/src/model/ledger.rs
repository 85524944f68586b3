//! Ledger of calls, tools, and usage.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::StatusCode;
use scenario::dialect::{Answer, tool_results};
use scenario::evidence::{
    Blob, Body, Dialect, Fired, Limit, ModelCall, ProviderFailure, TokenCount, ToolProposal, ToolReport, UpstreamTry,
    Usage,
};
use scenario::spec::sections::ModelLimits;
use serde_json::Value as Json;
use tokio::sync::watch;
use tokio::time::Instant;

use super::entries::Entries;
use super::limits::{ModelGatewayLimits, NAME_BYTES, TOOL_TEXT_BYTES};
use super::refusal::Refusal;
use super::settings::Cost;
use super::ticket::{Outcome, Ticket};
use crate::clock::Clock;
use crate::redact::Redactor;

/// Ledger of one scenario's model.
pub(super) struct Ledger {
    pub(super) entries: Mutex<Entries>,
    fired: watch::Sender<Option<Fired>>,
    limits: ModelLimits,
    bounds: ModelGatewayLimits,
    cost: Cost,
    clock: Arc<Clock>,
    pub(super) redactor: Redactor,
}

/// A call that is about to be answered.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) dialect: Dialect,
    pub(super) model: String,
    pub(super) request: Body,
    /// Size in bytes.
    pub(super) size: usize,
}

impl Ledger {
    pub(super) fn new(
        limits: ModelLimits,
        bounds: ModelGatewayLimits,
        cost: Cost,
        clock: Arc<Clock>,
        redactor: Redactor,
    ) -> Arc<Self> {
        Arc::new(Self {
            entries: Mutex::default(),
            fired: watch::Sender::new(None),
            limits,
            bounds,
            cost,
            clock,
            redactor,
        })
    }

    /// Writes a call down before it is answered, with the results of tools that its conversation holds for the first time.
    pub(super) fn begin(self: &Arc<Self>, begun: Begun, conversation: &Json) -> Ticket {
        let request = redacted_body(begun.request, &self.redactor);
        let mut entries = self.entries();
        let index = entries.calls.len() + usize::try_from(entries.only_counted).unwrap_or(usize::MAX);
        let at_ms = self.clock.elapsed_ms();
        let call = ModelCall {
            at_ms,
            dialect: begun.dialect,
            request_model: self.text(&begun.model, NAME_BYTES),
            ..ModelCall::default()
        };
        if !entries.closed {
            if entries.calls.len() < self.bounds.kept_calls && entries.only_counted == 0 {
                let request = entries.fit(request, &self.bounds);
                entries.calls.push(ModelCall { request, ..call });
            } else {
                entries.only_counted += 1;
            }
            self.add_reports(&mut entries, (index, at_ms), begun.dialect, conversation);
        }
        drop(entries);
        Ticket::new(Arc::clone(self), index, begun.size)
    }

    /// Admits a call that may cost something, or returns the limit that refuses it. It reserves a call, which is given
    /// back at the call's end.
    pub(super) fn admit(&self, model: &str) -> Result<(), Refusal> {
        if let Some(fired) = self.fired() {
            return Err(limited(&fired));
        }
        if self.limits.max_cost_usd.is_some() && self.price(model, &TokenCount::default()).is_none() {
            let message = format!(
                "the model `{model}` has no price, so that `max_cost_usd` cannot be kept; add its price, or ask for another model"
            );
            return Err(Refusal::new(StatusCode::BAD_REQUEST, "model_without_price", message));
        }
        let mut entries = self.entries();
        let calls = entries.usage.calls + entries.reserved;
        if let Some(most) = self.limits.max_calls.map(|most| most.count() as u64).filter(|most| calls >= *most) {
            drop(entries);
            let fired = Fired { limit: Limit::ModelCalls, detail: format!("a call after the {most} that are allowed") };
            self.fire(fired.clone());
            return Err(limited(&fired));
        }
        entries.reserved += 1;
        Ok(())
    }

    /// Records the outcome of a call, and returns its cost.
    pub(super) fn finish(
        &self,
        index: usize,
        request_bytes: usize,
        reserved: bool,
        since: Instant,
        outcome: Outcome,
    ) -> Option<f64> {
        let response = redacted_body(outcome.response, &self.redactor);
        let answer = outcome.answer.unwrap_or_default();
        let billed = outcome.billed;
        // A provider bills what it answered, whatever a fault made of it.
        let counted = outcome.billed_answer.as_ref().unwrap_or(&answer);
        let tokens = match (billed, outcome.tokens.or(counted.usage)) {
            (false, _) => TokenCount::default(),
            // A stream that was cut was counted only up to its beginning.
            (true, Some(tokens)) if outcome.stream && !counted.ended && outcome.tokens.is_none() => {
                let output = estimated(0, counted.bytes()).output.max(tokens.output);
                TokenCount { output, estimated: true, ..tokens }
            }
            (true, Some(tokens)) => tokens,
            (true, None) => estimated(request_bytes as u64, counted.bytes()),
        };
        let cost = billed.then(|| self.cost_of(&outcome.billed_model, counted, &tokens)).flatten();
        let mut entries = self.entries();
        if reserved {
            entries.reserved = entries.reserved.saturating_sub(1);
        }
        if entries.closed {
            return cost;
        }
        if billed {
            entries.bill(&tokens, cost, self.text(&outcome.billed_model, NAME_BYTES));
        }
        entries.note(outcome.code, &self.text(outcome.problem.as_deref().unwrap_or_default(), NAME_BYTES));
        let duration_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let began = entries.calls.get(index).map(|call| call.at_ms);
        let ended = began.map_or_else(|| self.clock.elapsed_ms(), |began| began.saturating_add(duration_ms));
        self.add_proposals(&mut entries, (index, ended), &answer);
        let response = if index < entries.calls.len() { entries.fit(response, &self.bounds) } else { response };
        let original = outcome.original.map(|original| redacted_body(original, &self.redactor));
        let original = original.map(|original| entries.fit(original, &self.bounds));
        if let Some(call) = entries.calls.get_mut(index) {
            call.duration_ms = duration_ms;
            call.response_model = answer.model.map(|model| self.text(&model, NAME_BYTES));
            call.stream = outcome.stream;
            call.status = outcome.status;
            call.response = response;
            call.tokens = tokens;
            call.cost_usd = cost;
            call.finish_reasons = answer.finish_reasons.iter().map(|reason| self.text(reason, NAME_BYTES)).collect();
            call.response_id = answer.id.map(|id| self.text(&id, NAME_BYTES));
            call.turn = outcome.turn;
            call.from_upstream = outcome.from_upstream;
            let tries = outcome.tries.into_iter();
            call.tries = tries.map(|one| UpstreamTry { reason: self.text(&one.reason, NAME_BYTES), ..one }).collect();
            call.provider = outcome.provider.map(|failure| self.redacted(failure));
            call.fault = outcome.fault;
            call.original = original;
            call.problem = outcome.problem.map(|problem| self.text(&problem, NAME_BYTES));
        }
        let usage = entries.usage.clone();
        drop(entries);
        self.check(&usage);
        cost
    }

    /// Fires the limit that the usage exceeds.
    fn check(&self, usage: &Usage) {
        let tokens = self.limits.max_tokens.map(|most| most.count() as u64).filter(|most| usage.tokens() > *most);
        if let Some(most) = tokens {
            let detail = format!("{} tokens, and {most} are allowed", usage.tokens());
            self.fire(Fired { limit: Limit::ModelTokens, detail });
        }
        let spent = usage.cost_usd.unwrap_or(0.0);
        if let Some(most) =
            self.limits.max_cost_usd.map(scenario::spec::types::Dollars::get).filter(|most| spent > *most)
        {
            let detail = format!("{spent:.6} US dollars, and {most} are allowed");
            self.fire(Fired { limit: Limit::ModelCost, detail });
        }
    }

    /// Only the first limit that fires counts.
    fn fire(&self, fired: Fired) {
        self.fired.send_if_modified(|current| {
            let first = current.is_none();
            current.get_or_insert(fired);
            first
        });
    }

    pub(super) fn fired(&self) -> Option<Fired> {
        self.fired.borrow().clone()
    }

    /// Waits for a limit to fire.
    pub(super) async fn wait_for_limit(&self) -> Fired {
        let mut fired = self.fired.subscribe();
        match fired.wait_for(Option::is_some).await.map(|fired| fired.clone()) {
            Ok(Some(fired)) => fired,
            // The sender lives as long as we do, so that this is never reached.
            _ => std::future::pending().await,
        }
    }

    pub(super) fn close(&self) {
        self.entries().closed = true;
    }

    pub(super) fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn price(&self, model: &str, tokens: &TokenCount) -> Option<f64> {
        (self.cost)(model, tokens).filter(|cost| cost.is_finite() && *cost >= 0.0)
    }

    fn cost_of(&self, model: &str, answer: &Answer, tokens: &TokenCount) -> Option<f64> {
        self.price(model, tokens).or_else(|| self.price(answer.model.as_deref()?, tokens))
    }

    /// A failure of the provider as it is kept.
    pub(super) fn redacted(&self, failure: ProviderFailure) -> ProviderFailure {
        ProviderFailure { message: self.text(&failure.message, NAME_BYTES), ..failure }
    }

    /// A text as it is kept: cut, and without secrets.
    fn text(&self, text: &str, most: usize) -> String {
        let cut = &text.as_bytes()[..text.floor_char_boundary(most)];
        // What was cut here, or before, may end in the middle of a secret.
        let whole = cut.len() == text.len() && text.len() + 4 < most;
        let bytes = if whole { self.redactor.bytes(cut) } else { self.redactor.beginning(cut) };
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Adds the results of tools that a request holds for the first time. Those of calls that no answer proposed are left out.
    fn add_reports(&self, entries: &mut Entries, (index, at_ms): (usize, u64), dialect: Dialect, conversation: &Json) {
        for sent in tool_results(dialect, conversation) {
            let Some(proposal) = entries.unreported.remove(sent.id) else { continue };
            let result = self.text(&sent.text(), TOOL_TEXT_BYTES);
            let result = if entries.fits_tool(result.len()) { result } else { String::new() };
            let report = ToolReport { at_ms, model_call: index, result, is_error: sent.is_error };
            entries.trace.add_report(proposal, report);
        }
    }

    /// Adds the tools that an answer calls.
    fn add_proposals(&self, entries: &mut Entries, (index, at_ms): (usize, u64), answer: &Answer) {
        for call in answer.calls() {
            let full = entries.tools_only_counted > 0 || entries.trace.proposals() >= self.bounds.kept_tools;
            // Secrets are taken out of the text, before it becomes a tree.
            let arguments = || self.text(&call.arguments, TOOL_TEXT_BYTES);
            let arguments = (!full).then(|| entries.trace.read_arguments(&arguments()));
            let Some(arguments) = arguments.filter(|arguments| entries.fits_tool(arguments.stored_bytes())) else {
                entries.tools_only_counted += 1;
                continue;
            };
            let (id, tool) = (self.text(&call.id, NAME_BYTES), self.text(&call.name, NAME_BYTES));
            let seq = entries.trace.add_proposal(ToolProposal { at_ms, model_call: index, id, tool, arguments });
            entries.unreported.insert(call.id.clone(), seq);
        }
    }
}

/// The refusal of a request after a limit fired.
fn limited(fired: &Fired) -> Refusal {
    let message = format!("the limit `{}` of this scenario's model fired: {}", fired.limit, fired.detail);
    Refusal::new(StatusCode::TOO_MANY_REQUESTS, "limit_fired", message)
}

/// Tokens by the length of the texts: four bytes each.
fn estimated(request_bytes: u64, answer_bytes: u64) -> TokenCount {
    TokenCount { input: request_bytes.div_ceil(4), output: answer_bytes.div_ceil(4), cache_read: 0, estimated: true }
}

/// A body without secrets.
fn redacted_body(body: Body, redactor: &Redactor) -> Body {
    match body {
        Body::Kept(Blob(bytes)) => Body::Kept(Blob(redactor.bytes(&bytes))),
        Body::Cut { kept: Blob(bytes), size, sha256 } => {
            Body::Cut { kept: Blob(redactor.beginning(&bytes)), size, sha256 }
        }
        Body::Dropped { size } => Body::Dropped { size },
    }
}
