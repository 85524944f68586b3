//! A request to a model: the results that it brings, the pre-check, and the tools that the model is not shown.

use serde_json::{Value as Json, json};

use super::{LiveSession, Now};
use crate::apply::Event;
use crate::call::{ModelRequest, Outcome, Provenance};
use crate::code::Code;
use crate::decide::Reason;
use crate::finding::Finding;
use crate::narrow::{Removed, narrow};
use crate::precheck::precheck;

/// A request to a model as it came from the agent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelRequestSeen {
    /// The provider and the body.
    pub request: ModelRequest,
    /// The tools that it offers.
    pub offered: Vec<OfferedTool>,
    /// The results of tools in its conversation, those of earlier requests included.
    pub results: Vec<ToolResultSeen>,
}

/// A tool that a request offers to the model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OfferedTool {
    /// Its name.
    pub name: String,
    /// The JSON Schema of its arguments.
    pub schema: Option<Json>,
}

/// A result of a tool that the agent reports to the model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolResultSeen {
    /// The model's id of the call.
    pub id: String,
    /// The text.
    pub text: String,
    /// True when it is marked as an error.
    pub is_error: bool,
}

/// The decision on a request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestDecision {
    /// The reason why it is refused.
    pub refusal: Option<Reason>,
    /// The tools that the model is not shown.
    pub removed: Vec<Removed>,
}

impl LiveSession {
    /// Looks at a request. In observe mode nothing of the answer takes effect.
    pub fn request(&mut self, now: &Now, seen: &ModelRequestSeen) -> RequestDecision {
        self.take_results(now, &seen.results);
        let offered: Vec<String> = seen.offered.iter().map(|tool| tool.name.clone()).collect();
        let model = seen.request.body.get("model").cloned().unwrap_or_default();
        self.log.add(
            now,
            "llm_request",
            json!({"provider": seen.request.provider, "model": model, "offered": offered}),
        );
        if !self.decides {
            return RequestDecision::default();
        }
        for tool in &seen.offered {
            self.see_schema(now, tool);
        }
        let checked = precheck(&self.set, &self.state, &seen.request);
        for warning in &checked.warnings {
            self.find(now, &Finding::of_reason(warning, "", ""));
        }
        let governs = self.governs();
        if let Some(refusal) = checked.refusal {
            let verdict = if governs { "block" } else { "would_block" };
            self.log.add(
                now,
                "precheck",
                json!({"verdict": verdict, "reasons": [&refusal], "sentence": refusal.explain()}),
            );
            if governs {
                self.apply(now, &Event::PrecheckBlocked);
                return RequestDecision { refusal: Some(refusal), removed: Vec::new() };
            }
        }
        let removed = narrow(&self.set, &self.state, &offered);
        self.note_narrowing(now, &offered, &removed);
        RequestDecision { refusal: None, removed: if governs { removed } else { Vec::new() } }
    }

    /// The tools that are not shown of those that a gateway lists, without a record: lists are asked for often.
    #[must_use]
    pub fn hidden(&self, offered: &[String]) -> Vec<Removed> {
        if self.governs() { narrow(&self.set, &self.state, offered) } else { Vec::new() }
    }

    fn note_narrowing(&mut self, now: &Now, offered: &[String], removed: &[Removed]) {
        if removed.is_empty() {
            return;
        }
        let kind = if self.governs() { "narrowed" } else { "would_have_narrowed" };
        let removed: Vec<_> = removed
            .iter()
            .map(|one| json!({"tool": one.tool, "code": one.reason.code, "message": one.reason.explain()}))
            .collect();
        let fields = json!({
            "offered": offered,
            "removed": removed,
            "phase": self.phase_json(),
            "legal_next_phases": self.set.next_phases(self.state.phase.as_deref()),
        });
        self.log.add(now, kind, fields);
    }

    /// Pins the schema of a tool that is offered for the first time.
    fn see_schema(&mut self, now: &Now, tool: &OfferedTool) {
        let Some(schema) = &tool.schema else { return };
        if self.state.has_schema(&tool.name, schema) {
            return;
        }
        self.log.add(now, "schema", json!({"tool": tool.name, "schema": schema}));
        self.apply(now, &Event::SchemaSeen { tool: tool.name.clone(), schema: schema.clone() });
    }

    /// Completes calls with results that only the agent saw.
    fn take_results(&mut self, now: &Now, results: &[ToolResultSeen]) {
        for result in results {
            let Some(id) = self.by_model_id.remove(&result.id) else {
                self.take_orphan(now, result);
                continue;
            };
            let Some(pairing) = self.correlator.report(&id) else { continue };
            let tool = self.known.get(&id).map(|known| known.call.tool.clone()).unwrap_or_default();
            for code in pairing.findings {
                self.find(now, &Finding::of_call(code, &tool, &id, code.explanation()));
            }
            if pairing.is_self_reported && self.state.is_open(&id) {
                self.complete_as(now, &id, &outcome_of(result), Provenance::SelfReported, None);
            }
        }
    }

    fn take_orphan(&mut self, now: &Now, result: &ToolResultSeen) {
        // The whole conversation comes with every request.
        let is_known = self.known.contains_key(&result.id) || !self.orphans.insert(result.id.clone());
        if !is_known {
            let finding = Finding::of_call(Code::OrphanResult, "", &result.id, Code::OrphanResult.explanation());
            self.find(now, &finding);
        }
    }
}

/// The outcome that a reported text is.
fn outcome_of(result: &ToolResultSeen) -> Outcome {
    let value = || match serde_json::from_str::<Json>(&result.text) {
        Ok(value @ (Json::Object(_) | Json::Array(_))) => value,
        _ => json!({"_text": result.text}),
    };
    match (result.is_error, result.text.as_str()) {
        (true, _) => Outcome::Error(match value() {
            Json::Object(error) => Json::Object(error),
            _ => json!({"message": result.text}),
        }),
        (false, "") => Outcome::OkEmpty,
        (false, _) => Outcome::Ok(value()),
    }
}
