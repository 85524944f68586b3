//! Executions: the start of a tool's use, and its outcome.

use serde_json::{Value as Json, json};

use super::step::Origin;
use super::{LiveSession, Now, Step, Via};
use crate::apply::{Event, apply};
use crate::call::{Call, Outcome, Provenance};
use crate::canonical::hash_text;
use crate::code::Code;
use crate::decide::Reason;
use crate::finding::Finding;

/// The largest output that is in a record: 16 KiB.
const OUTPUT_BYTES: usize = 16 * 1024;

/// An execution that is about to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutionSeen {
    /// The way on which it came.
    pub via: Via,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Json,
    /// The model's id of the call, where the agent's client tells it.
    pub model_id: Option<String>,
}

/// An execution, and how far the decision on it is.
#[derive(Debug, Clone)]
pub struct Execution {
    /// The call's id in the session.
    pub call: String,
    /// The progress of the decision.
    pub stage: ExecutionStage,
}

/// The progress of the decision on an execution.
#[derive(Debug, Clone)]
pub enum ExecutionStage {
    /// It may go on: its proposal was let out.
    Allowed,
    /// It may not.
    Blocked(Reason),
    /// It is to be judged now, once the world has answered about it; then holds are to be resolved, and the step to be
    /// released.
    ToJudge(ExecutionToJudge),
}

/// An execution that is to be judged.
#[derive(Debug, Clone)]
pub struct ExecutionToJudge {
    /// The call.
    pub call: Call,
    origin: Origin,
}

impl LiveSession {
    /// Looks at an execution before it is carried out.
    pub fn execute(&mut self, now: &Now, seen: ExecutionSeen) -> Execution {
        if self.governs() && self.is_over() {
            return self.refused_at_the_end(now, &seen);
        }
        let id = seen.model_id.as_ref().map(|id| self.by_model_id.get(id).cloned().unwrap_or_else(|| id.clone()));
        let pairing = self.correlator.execute(&seen.tool, &seen.arguments, id.as_deref());
        let Some(call) = pairing.proposal else { return self.unproposed(now, seen) };
        let governs = self.governs();
        let is_refused = pairing.findings.contains(&Code::BlockedCallExecuted) && governs;
        for code in pairing.findings.iter().filter(|code| !is_refused || **code != Code::BlockedCallExecuted) {
            self.find(now, &Finding::of_call(*code, &seen.tool, &call, code.explanation()));
        }
        if is_refused {
            // It is not carried out, so that it breaks nothing.
            self.log.add(now, "refused_execution", json!({"call": call, "tool": seen.tool, "via": seen.via.name()}));
            let stage = ExecutionStage::Blocked(self.stored_refusal(&call));
            return Execution { call, stage };
        }
        if pairing.findings.contains(&Code::ArgumentDrift) && self.decides {
            let drifted = Call { id: call.clone(), tool: seen.tool, arguments: seen.arguments };
            let to_judge = ExecutionToJudge { call: drifted, origin: Origin::Drift(seen.via) };
            return Execution { call, stage: ExecutionStage::ToJudge(to_judge) };
        }
        Execution { call, stage: ExecutionStage::Allowed }
    }

    fn unproposed(&mut self, now: &Now, seen: ExecutionSeen) -> Execution {
        let id = self.call_id(seen.model_id.as_deref().unwrap_or_default());
        let call = Call { id: id.clone(), tool: seen.tool, arguments: seen.arguments };
        if self.sees_model {
            let code = Code::UnproposedCall;
            self.find(now, &Finding::of_call(code, &call.tool, &id, code.explanation()));
        }
        let to_judge = ExecutionToJudge { call, origin: Origin::Execution(seen.via) };
        Execution { call: id, stage: ExecutionStage::ToJudge(to_judge) }
    }

    /// Judges an execution.
    pub fn judge_execution(&mut self, now: &Now, to_judge: ExecutionToJudge) -> Step {
        let ExecutionToJudge { call, origin } = to_judge;
        self.judge(now, vec![call], None, origin)
    }

    fn refused_at_the_end(&mut self, now: &Now, seen: &ExecutionSeen) -> Execution {
        let call = Call {
            id: self.call_id(seen.model_id.as_deref().unwrap_or_default()),
            tool: seen.tool.clone(),
            arguments: seen.arguments.clone(),
        };
        let id = call.id.clone();
        let step = self.judge(now, vec![call], None, Origin::Execution(seen.via));
        let released = self.release(now, step);
        let reason = released.refusal.map_or_else(ended, |(_, reason)| reason);
        Execution { call: id, stage: ExecutionStage::Blocked(reason) }
    }

    /// The reason for which a proposal was refused.
    fn stored_refusal(&self, call: &str) -> Reason {
        let stored = self.known.get(call).and_then(|known| known.decision.reasons.first().cloned());
        let sentence = "the call was proposed in a response of which nothing was let out";
        stored.unwrap_or_else(|| Reason::new(Code::BlockedCallExecuted, "gate", sentence))
    }

    /// Writes down that a call goes out.
    pub fn dispatched(&mut self, now: &Now, call: &str, tool: &str, via: Via) {
        self.log.add(now, "dispatched", json!({"call": call, "tool": tool, "via": via.name()}));
    }

    /// Records the outcome of a call that a gateway carried out.
    pub fn complete(&mut self, now: &Now, call: &str, outcome: &Outcome, latency_ms: u64) {
        self.complete_as(now, call, outcome, Provenance::Gateway, Some(latency_ms));
    }

    /// Takes what came of a call, and who says so.
    pub(crate) fn complete_as(
        &mut self,
        now: &Now,
        call: &str,
        outcome: &Outcome,
        provenance: Provenance,
        latency_ms: Option<u64>,
    ) {
        let tool = self.state.open_tool(call).map(ToOwned::to_owned);
        let event = Event::CallCompleted { call: call.to_owned(), outcome: outcome.clone(), provenance };
        let (word, output) = match outcome {
            Outcome::Ok(output) => ("ok", Some(output)),
            Outcome::OkEmpty => ("ok_empty", None),
            Outcome::Error(output) => ("error", Some(output)),
            Outcome::Lost => ("lost", None),
        };
        let text = output.map(Json::to_string);
        let is_kept = text.as_ref().is_none_or(|text| text.len() <= OUTPUT_BYTES);
        // The phase after it is part of the record, so that it is applied first.
        let was_killed = self.state.is_killed();
        let findings = apply(&self.set, &mut self.state, &event);
        let fields = json!({
            "call": call,
            "tool": tool,
            "outcome": word,
            "provenance": match provenance {
                Provenance::Gateway => "gateway",
                Provenance::SelfReported => "self_reported",
            },
            "output": output.filter(|_| is_kept),
            "output_hash": text.map(|text| hash_text(&text)),
            "output_dropped": (!is_kept).then_some(true),
            "phase": self.state.phase,
            "latency_ms": latency_ms,
        });
        self.log.add(now, "completed", fields);
        findings.iter().for_each(|finding| self.find(now, finding));
        self.note_kill(now, was_killed, &event);
    }
}

fn ended() -> Reason {
    Reason::new(Code::SessionKilled, "session", "the session has ended")
}
