//! Steps: the calls of one response, judged in their order, held, and let out or not.

use serde_json::{Value as Json, json};

use super::{Known, LiveSession, Now, Via};
use crate::apply::Event;
use crate::call::{Batch, Call, Exchange};
use crate::canonical::{canonical, hash_text};
use crate::decide::per_tool::exchange;
use crate::decide::per_tool::response_format::response_codes;
use crate::decide::{Decision, Reason, Verdict, decide_without_approval};
use crate::finding::Finding;
use crate::hold::{Resolution, resolve_hold};
use crate::step::release_step;

/// A call as a response proposes it.
#[derive(Debug, Clone, PartialEq)]
pub struct ProposedCall {
    /// The model's id; empty when it gave none.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The arguments; a string when they are no JSON.
    pub arguments: Json,
}

/// A call and the decision on it so far.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The call, with its id in the session.
    pub call: Call,
    /// The decision.
    pub decision: Decision,
}

/// The origin of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// A response of the model.
    Response,
    /// An execution without a proposal.
    Execution(Via),
    /// An execution of a proposal with other arguments.
    Drift(Via),
}

/// The calls of a response while they are decided.
#[derive(Debug, Clone)]
pub struct Step {
    /// The calls, in their order.
    pub calls: Vec<Judged>,
    pub(super) exchange: Option<Exchange>,
    pub(super) origin: Origin,
    /// True when a call was held, so that the others may be out of date.
    pub(super) has_waited: bool,
}

/// The end of a step.
#[derive(Debug, Clone)]
pub struct Released {
    /// For each call, whether it is let out.
    pub calls: Vec<bool>,
    /// The call that is refused first, and the reason.
    pub refusal: Option<(Call, Reason)>,
}

impl Step {
    /// The place of the next call that waits for an approval.
    #[must_use]
    pub fn next_held(&self) -> Option<usize> {
        self.calls.iter().position(|judged| judged.decision.verdict == Verdict::Hold)
    }

    fn accepted_before(&self, place: usize) -> Vec<Call> {
        let before = self.calls.iter().take(place).filter(|judged| judged.decision.verdict != Verdict::Block);
        before.map(|judged| judged.call.clone()).collect()
    }
}

impl Released {
    /// True when every call is let out.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.calls.iter().all(|released| *released)
    }

    /// True when no call is let out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.calls.iter().any(|released| *released)
    }
}

impl LiveSession {
    /// Assigns ids in the session to the calls of a response.
    pub fn prepare(&mut self, proposed: Vec<ProposedCall>) -> Vec<Call> {
        let call = |call: ProposedCall| Call { id: self.call_id(&call.id), tool: call.tool, arguments: call.arguments };
        proposed.into_iter().map(call).collect()
    }

    /// Judges the calls of a response in their order. The world's answers about them are known by then.
    pub fn propose(&mut self, now: &Now, calls: Vec<Call>, exchange: Option<Exchange>) -> Step {
        let codes = exchange.as_ref().filter(|_| self.decides).map(|seen| response_codes(&self.set, seen));
        for code in codes.into_iter().flatten() {
            self.find(now, &Finding::of_session(code, "response_format_invariants", code.explanation()));
        }
        self.judge(now, calls, exchange, Origin::Response)
    }

    pub(super) fn judge(&mut self, now: &Now, calls: Vec<Call>, exchange: Option<Exchange>, origin: Origin) -> Step {
        let mut step = Step { calls: Vec::new(), exchange, origin, has_waited: false };
        for call in calls {
            let decision = self.decision_on(&step, &call);
            self.note_decision(now, &step, &call, &decision, json!({}));
            step.calls.push(Judged { call, decision });
        }
        step
    }

    fn decision_on(&self, step: &Step, call: &Call) -> Decision {
        if !self.decides {
            return Decision::allowed();
        }
        let batch = self.batch(step, step.calls.len());
        match &step.origin {
            Origin::Drift(_) => {
                // The proposal was counted when it was let out: it is judged as if it were not there.
                self.decided(&self.state.without_call(&call.id), &batch, call)
            }
            Origin::Response | Origin::Execution(_) => self.decided(&self.state, &batch, call),
        }
    }

    /// The calls that were accepted before a place of a step.
    fn batch(&self, step: &Step, place: usize) -> Batch {
        let number = match step.origin {
            Origin::Drift(_) => self.state.attempt_steps,
            Origin::Response | Origin::Execution(_) => self.state.attempt_steps + 1,
        };
        Batch {
            step: number,
            accepted: step.accepted_before(place),
            exchange: step.exchange.clone(),
            exchange_reasons: None,
        }
    }

    /// Records that a call is held, and pauses the session. `approval` is the id of the approval request.
    pub fn hold(&mut self, now: &Now, step: &mut Step, place: usize, approval: Option<&str>) {
        step.has_waited = true;
        let Some(Judged { call, decision }) = step.calls.get(place) else { return };
        let Some(hold) = &decision.hold else { return };
        let context: Vec<_> = hold.context.iter().map(|(label, value)| json!([label, value])).collect();
        let fields = json!({
            "call": call.id,
            "tool": call.tool,
            "checkpoints": hold.checkpoints,
            "context": context,
            "timeout_seconds": hold.timeout_seconds,
            "state_version": self.state.version,
            "approval": approval,
        });
        self.log.add(now, "hold", fields);
        self.apply(now, &Event::Paused);
    }

    /// Ends a hold. The call is judged again by the state of now; a session that ended meanwhile refuses it.
    pub fn resolve(&mut self, now: &Now, step: &mut Step, place: usize, resolution: Resolution, by: &str, note: &str) {
        self.apply(now, &Event::Resumed);
        let Some(Judged { call, decision }) = step.calls.get(place).cloned() else { return };
        let word = resolution.name();
        let fields = json!({"call": call.id, "tool": call.tool, "decision": word, "by": by, "note": note});
        self.log.add(now, "approval", fields);
        let batch = self.batch(step, place);
        let state = match step.origin {
            Origin::Drift(_) => self.state.without_call(&call.id),
            Origin::Response | Origin::Execution(_) => self.state.clone(),
        };
        let (resolved, findings) = match &decision.hold {
            Some(hold) if !self.is_over() => resolve_hold(&self.set, &state, &batch, &call, hold, resolution),
            _ => (decide_without_approval(&self.set, &state, &batch, &call), Vec::new()),
        };
        findings.iter().for_each(|finding| self.find(now, finding));
        let over = self.is_over();
        self.note_decision_in(now, &step.origin, &batch, &call, &resolved, json!({"resolution": word, "over": over}));
        if let Some(judged) = step.calls.get_mut(place) {
            judged.decision = Decision { hold: None, ..resolved };
        }
    }

    /// Releases calls by the rule of the gate, and counts the step.
    pub fn release(&mut self, now: &Now, mut step: Step) -> Released {
        if step.has_waited {
            self.judge_again(now, &mut step);
        }
        let verdicts: Vec<_> = step.calls.iter().map(|judged| (judged.call.clone(), judged.decision.verdict)).collect();
        let first = step.calls.iter().find(|judged| judged.decision.verdict != Verdict::Allow);
        let refused = first.and_then(|one| Some((one.call.clone(), one.decision.reasons.first()?.clone())));
        if let Origin::Drift(via) = step.origin {
            return self.release_drift(now, via, &step, refused);
        }
        let (calls, is_step) = match self.decides {
            true => release_step(&self.set, &self.state, &verdicts),
            false => release_step(&self.set.observing(), &self.state, &verdicts),
        };
        let released: Vec<bool> = calls.iter().map(|call| call.is_released).collect();
        let written: Vec<_> = calls
            .iter()
            .map(|call| json!({"call": call.call.id, "verdict": call.verdict, "released": call.is_released}))
            .collect();
        let via = match step.origin {
            Origin::Execution(via) | Origin::Drift(via) => via,
            Origin::Response => Via::Llm,
        };
        let number = self.state.attempt_steps + 1;
        self.log.add(
            now,
            "llm_response",
            json!({"step": number, "is_step": is_step, "via": via.name(), "calls": written}),
        );
        for (judged, is_released) in step.calls.iter().zip(&released) {
            self.remember(judged, *is_released, &step.origin);
        }
        self.apply(now, &Event::StepDecided { calls, is_step });
        Released { refusal: refused.filter(|_| !released.iter().all(|one| *one)), calls: released }
    }

    /// Judges calls again that were allowed before a hold was awaited.
    fn judge_again(&mut self, now: &Now, step: &mut Step) {
        for place in 0..step.calls.len() {
            let Some(Judged { call, decision }) = step.calls.get(place).cloned() else { continue };
            if decision.verdict != Verdict::Allow || step.calls.len() == 1 {
                continue;
            }
            let batch = self.batch(step, place);
            let again = decide_without_approval(&self.set, &self.state, &batch, &call);
            if again.verdict != Verdict::Allow {
                self.note_decision_in(now, &step.origin, &batch, &call, &again, json!({"resolution": "again"}));
                if let Some(judged) = step.calls.get_mut(place) {
                    judged.decision = again;
                }
            }
        }
    }

    fn release_drift(&mut self, now: &Now, via: Via, step: &Step, refused: Option<(Call, Reason)>) -> Released {
        let Some(judged) = step.calls.first() else { return Released { calls: Vec::new(), refusal: None } };
        let id = judged.call.id.clone();
        let is_released = judged.decision.verdict == Verdict::Allow || !self.governs();
        if is_released {
            let fields = json!({"call": id, "via": via.name(), "arguments": judged.call.arguments});
            self.log.add(now, "arguments_executed", fields);
            let arguments = judged.call.arguments.clone();
            self.apply(now, &Event::ArgumentsExecuted { call: id, arguments });
        } else {
            self.log.add(now, "withdrawn", json!({"call": id}));
            self.apply(now, &Event::Withdrawn { call: id });
        }
        Released { calls: vec![is_released], refusal: refused.filter(|_| !is_released) }
    }

    /// Reasons with the file and the line of their rules.
    pub(super) fn reasons(&self, tool: &str, reasons: &[Reason]) -> Vec<Json> {
        let written = |reason: &Reason| {
            let mut written = json!(reason);
            if let Some(place) = self.set.rule_place(tool, &reason.rule) {
                written["file"] = place.file.as_str().into();
                written["line"] = place.span.line.into();
            }
            written
        };
        reasons.iter().map(written).collect()
    }

    fn remember(&mut self, judged: &Judged, is_released: bool, origin: &Origin) {
        let Judged { call, decision } = judged;
        if *origin == Origin::Response {
            if is_released {
                self.correlator.supersede(&call.tool, &call.arguments);
            }
            self.correlator.propose(&call.id, &call.tool, &call.arguments, is_released);
        }
        self.known.insert(call.id.clone(), Known { call: call.clone(), decision: decision.clone() });
    }

    fn note_decision(&mut self, now: &Now, step: &Step, call: &Call, decision: &Decision, more: Json) {
        let batch = self.batch(step, step.calls.len());
        self.note_decision_in(now, &step.origin, &batch, call, decision, more);
    }

    /// The verdicts of rules that read the whole exchange, which is not in the log: it is an input of the decision. An empty list is
    /// an exchange that breaks none, and `false` is one that was not seen.
    fn exchange_record(&self, batch: &Batch, call: &Call) -> Json {
        match exchange::reasons(&self.set, &self.state, batch, call) {
            Some(reasons) => json!(reasons),
            None if self.set.reads_exchange(&call.tool) => false.into(),
            None => Json::Null,
        }
    }

    fn note_decision_in(
        &mut self,
        now: &Now,
        origin: &Origin,
        batch: &Batch,
        call: &Call,
        decision: &Decision,
        more: Json,
    ) {
        if !self.decides {
            return;
        }
        let (via, is_drift) = match origin {
            Origin::Response => (Via::Llm, false),
            Origin::Execution(via) => (*via, false),
            Origin::Drift(via) => (*via, true),
        };
        let accepted: Vec<_> = batch.accepted.iter().map(|call| &call.id).collect();
        let mut fields = json!({
            "step": batch.step,
            "batch": accepted.len(),
            "call": call.id,
            "tool": call.tool,
            "via": via.name(),
            "arguments": call.arguments,
            "args_hash": hash_text(&canonical(&call.arguments)),
            "accepted": (!accepted.is_empty()).then_some(accepted),
            "drift": is_drift.then_some(true),
            "exchange": self.exchange_record(batch, call),
            "verdict": decision.verdict,
            "applied": self.governs(),
            "layer": decision.layer,
            "phase": self.phase_json(),
            "state_version": self.state.version,
            "reasons": self.reasons(&call.tool, &decision.reasons),
            "sentence": decision.explain(),
            "contract": self.set.hash,
        });
        if let (Json::Object(fields), Json::Object(more)) = (&mut fields, more) {
            fields.extend(more);
        }
        self.log.add(now, "decision", fields);
        for code in &decision.notes {
            self.find(now, &Finding::of_call(*code, &call.tool, &call.id, code.explanation()));
            if *code == crate::code::Code::EngineError {
                self.log.add(now, "unguarded", json!({"call": call.id}));
                self.apply(now, &Event::CallUnguarded);
            }
        }
    }
}
