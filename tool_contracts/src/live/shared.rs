//! A session in a workflow: refusals that come from the sessions beside it, and records of handoffs.

use serde_json::{Value as Json, json};

use super::{ExecutionSeen, LiveSession, Now};
use crate::apply::Event;
use crate::decide::Reason;

impl LiveSession {
    /// The labels, each with its origin.
    #[must_use]
    pub fn labels(&self) -> Vec<(String, String)> {
        self.state.labels.iter().map(|(label, origin)| (label.clone(), origin.clone())).collect()
    }

    /// Writes down a handoff that this session offered, claimed or took back.
    pub fn note_handoff(&mut self, now: &Now, fields: Json) {
        self.log.add(now, "handoff", fields);
    }

    /// Writes down that the workflow refuses a request to a model. True when that takes effect.
    pub fn refuse_request(&mut self, now: &Now, reason: &Reason) -> bool {
        if !self.decides {
            return false;
        }
        let governs = self.governs();
        let verdict = if governs { "block" } else { "would_block" };
        let fields = json!({"verdict": verdict, "reasons": [reason], "sentence": reason.explain(), "by": "workflow"});
        self.log.add(now, "precheck", fields);
        if governs {
            self.apply(now, &Event::PrecheckBlocked);
        }
        governs
    }

    /// Writes down that the workflow refuses an execution, and returns the call's id where that takes effect. The rules of the
    /// session are not asked, and its proposal stays open: the same call may be tried again.
    pub fn refuse_execution(&mut self, now: &Now, seen: &ExecutionSeen, reason: &Reason) -> Option<String> {
        if !self.decides {
            return None;
        }
        let id = match seen.model_id.as_deref().filter(|id| !id.is_empty()) {
            Some(id) => self.by_model_id.get(id).cloned().unwrap_or_else(|| id.to_owned()),
            None => self.call_id(""),
        };
        let fields = json!({"call": id, "tool": seen.tool, "via": seen.via.name(), "arguments": seen.arguments});
        self.note_refusal(now, fields, reason);
        self.governs().then_some(id)
    }

    /// Withdraws a call that the session let through and the workflow refuses.
    pub fn withdraw(&mut self, now: &Now, call: &str, tool: &str, reason: &Reason) {
        self.note_refusal(now, json!({"call": call, "tool": tool}), reason);
        self.log.add(now, "withdrawn", json!({"call": call}));
        self.apply(now, &Event::Withdrawn { call: call.to_owned() });
    }

    /// Writes down that the workflow refuses something that is no call, such as a handoff.
    pub fn refuse_operation(&mut self, now: &Now, operation: &str, reason: &Reason) {
        let fields = json!({
            "operation": operation,
            "verdict": "block",
            "applied": true,
            "reasons": [reason],
            "sentence": reason.explain(),
        });
        self.log.add(now, "workflow_decision", fields);
    }

    /// Returns the state for display. The principal is never shown.
    #[must_use]
    pub fn snapshot(&self) -> Json {
        json!({
            "status": self.state.status.name(),
            "phase": self.state.phase,
            "version": self.state.version,
            "contract": self.set.hash,
            "total_steps": self.state.total_steps,
            "released_calls": self.state.released_calls,
            "cost_micros": self.state.cost_micros,
            "filter": self.state.filter,
            "labels": self.state.labels.keys().collect::<Vec<_>>(),
            "principal": null,
        })
    }

    fn note_refusal(&mut self, now: &Now, mut fields: Json, reason: &Reason) {
        fields["verdict"] = "block".into();
        fields["applied"] = self.governs().into();
        fields["reasons"] = json!([reason]);
        fields["sentence"] = reason.explain().into();
        self.log.add(now, "workflow_decision", fields);
    }
}
