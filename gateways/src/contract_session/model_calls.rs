//! Requests to a model and its responses, as the model gateway sees them.

use std::sync::Arc;

use tool_contracts::{
    Exchange, Judged, ModelRequestSeen, ProposedCall, Reason, Released, Removed, RequestDecision, Verdict,
};

use super::{ContractSession, line_of};

/// The decision on a request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JudgedRequest {
    /// The reason why it is refused.
    pub refusal: Option<Reason>,
    /// The tools that the model is not shown.
    pub removed: Vec<Removed>,
}

/// The decision on a response.
#[derive(Debug, Clone, PartialEq)]
pub enum Gated {
    /// The response reaches the agent as it is.
    Whole,
    /// Only these of its calls reach the agent.
    Stripped(Vec<bool>),
    /// A text reaches the agent in place of its calls.
    Text(String),
    /// The response is withheld.
    Refused(Refused),
}

/// A response that was refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// The reason that comes first.
    pub reason: Reason,
    /// The tool of the call that it is about.
    pub tool: String,
    /// Reason against each call of the response, in their order. Calls that were allowed have none.
    pub calls: Vec<Option<String>>,
}

impl ContractSession {
    /// True when the agent has started, so that its requests are judged.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.inner.has_begun()
    }

    /// Judges a request before it goes to the model. Waits while a call is held.
    pub async fn judge_request(&self, seen: &ModelRequestSeen) -> JudgedRequest {
        if let Some(reason) = self.inner.refused_by_workflow() {
            return JudgedRequest { refusal: Some(reason), removed: Vec::new() };
        }
        let _turn = self.inner.turn.lock().await;
        let RequestDecision { refusal, removed } = self.inner.with(|live, now| live.request(now, seen));
        JudgedRequest { refusal, removed }
    }

    /// Decides on the calls of a response. Waits while calls are held.
    pub async fn judge_response(&self, calls: Vec<ProposedCall>, exchange: Option<Exchange>) -> Gated {
        let turn = Arc::clone(&self.inner.turn).lock_owned().await;
        let calls = self.inner.with(|live, _| live.prepare(calls));
        self.inner.ask_world(&calls).await;
        let step = self.inner.with(|live, now| live.propose(now, calls, exchange));
        if step.next_held().is_none() || !self.governs() {
            let judged = step.calls.clone();
            let released = self.inner.with(|live, now| live.release(now, step));
            return self.gated(&judged, released);
        }
        // An agent that hangs up leaves no hold behind that nobody ends.
        let inner = Arc::clone(&self.inner);
        let (judged, released) = self
            .inner
            .holds
            .run(async move {
                let (mut step, mut turn) = (step, Some(turn));
                inner.resolve_holds(&mut step, &mut turn).await;
                let judged = step.calls.clone();
                let released = inner.with(|live, now| live.release(now, step));
                drop(turn);
                (judged, released)
            })
            .await;
        self.gated(&judged, released)
    }

    /// Takes a response that reached the agent, in a mode in which nothing is refused.
    pub(crate) fn observe_response(&self, calls: Vec<ProposedCall>, exchange: Option<Exchange>) {
        self.inner.with(|live, now| {
            let calls = live.prepare(calls);
            let step = live.propose(now, calls, exchange);
            live.release(now, step);
        });
    }

    /// Adds the cost of a response, in dollars.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "costs are small and not negative")]
    pub(crate) fn add_cost(&self, dollars: Option<f64>) {
        let micros = (dollars.unwrap_or(0.0).max(0.0) * 1e6).round() as u64;
        self.inner.with(|live, now| live.add_cost(now, micros));
    }

    fn gated(&self, judged: &[Judged], released: Released) -> Gated {
        let Some((call, reason)) = released.refusal.clone().filter(|_| self.governs()) else { return Gated::Whole };
        if released.is_whole() {
            return Gated::Whole;
        }
        if !released.is_empty() {
            return Gated::Stripped(released.calls);
        }
        let gate = self.inner.live().set().run.gate;
        if gate == tool_contracts::options::ResponseGate::StripBlocked {
            return Gated::Text(refusal_text(judged));
        }
        let calls = judged.iter().map(refusal_of).collect();
        Gated::Refused(Refused { reason, tool: call.tool, calls })
    }
}

/// The reason against a call; `None` when it was allowed by itself.
fn refusal_of(judged: &Judged) -> Option<String> {
    let reason = judged.decision.reasons.first().filter(|_| judged.decision.verdict != Verdict::Allow)?;
    Some(format!("{}: {}", reason.code, line_of(reason)))
}

/// The text that tells which calls were refused.
fn refusal_text(judged: &[Judged]) -> String {
    let lines = judged.iter().filter_map(|one| {
        let tool = scenario::untrusted::line(&one.call.tool, 100);
        Some(format!("The call of `{tool}` was refused. {}", refusal_of(one)?))
    });
    lines.collect::<Vec<_>>().join("\n")
}
