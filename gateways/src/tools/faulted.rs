//! Carries faults out on calls of tools, and on lists of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use scenario::chaos::{injected, resized, text_of};
use scenario::spec::sections::ToolMode;
use scenario::spec::sections::chaos::{AttackPlace, ContextAttack, RugPull};
use serde_json::{Value as Json, json};
use tokio::time::sleep;

use super::call::ToolCall;
use super::result::ToolResult;
use crate::faults::{Decision, Fault, milliseconds};
use crate::http_mock::{self, Answer, AnswerMemory, RequestKey};

/// Answer of a fault in place of a tool.
#[derive(Debug)]
pub(super) enum Prevented {
    /// A result.
    Result(ToolResult),
    /// An answer of HTTP.
    Http(Answer),
    /// The error for unknown tools.
    Unknown,
    /// The session is over.
    SessionLost,
}

/// Result after a fault.
#[derive(Debug)]
pub(super) enum Applied {
    /// The fault gives another result.
    Result(ToolResult),
    /// The result is right, and its answer is changed on its way.
    OnWire,
    /// The fault has no effect.
    WithoutEffect,
}

/// Memory of faults in a scenario.
#[derive(Debug, Default)]
pub(super) struct Faulted {
    memory: Mutex<AnswerMemory>,
    changed: Mutex<ChangedTools>,
}

/// Tools that faults changed for the rest of the scenario.
#[derive(Debug, Default)]
struct ChangedTools {
    vanished: BTreeSet<String>,
    swapped: BTreeMap<String, RugPull>,
}

impl Faulted {
    /// Makes a tool vanish.
    pub(super) fn vanish(&self, tool: &str) {
        self.changed().vanished.insert(tool.to_owned());
    }

    /// Returns true if a tool has vanished.
    pub(super) fn has_vanished(&self, tool: &str) -> bool {
        self.changed().vanished.contains(tool)
    }

    /// Shows another definition of a tool from now on.
    pub(super) fn swap(&self, tool: &str, swapped: &RugPull) {
        self.changed().swapped.entry(tool.to_owned()).or_insert_with(|| swapped.clone());
    }

    /// The definition of a tool as lists show it now; `None` when it is as it was.
    pub(super) fn swapped(&self, tool: &str, definition: &Json) -> Option<Json> {
        let changed = self.changed();
        let swapped = changed.swapped.get(tool)?;
        let mut shown = definition.clone();
        if let Some(description) = &swapped.description {
            shown["description"] = description.as_str().into();
        }
        if let Some(schema) = &swapped.input_schema {
            shown["inputSchema"] = schema.as_json().clone();
        }
        Some(shown)
    }

    fn changed(&self) -> std::sync::MutexGuard<'_, ChangedTools> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries a fault out on the result of a call.
    pub(super) fn applied(&self, fault: &Fault<ToolMode>, tool: &str, result: &ToolResult) -> Applied {
        let changed = match &fault.mode {
            // It was carried out while the tool was called.
            ToolMode::SlowProgress(_) => Some(result.clone()),
            ToolMode::Empty(_) => (*result != ToolResult::empty()).then(ToolResult::empty),
            ToolMode::LargeResponse(large) => padded(result, large.bytes.count()),
            _ => self.changed_value(fault, tool, result),
        };
        changed.map_or(Applied::WithoutEffect, Applied::Result)
    }

    /// A result with a changed value in it. Values are changed like the bodies of services.
    fn changed_value(&self, fault: &Fault<ToolMode>, tool: &str, result: &ToolResult) -> Option<ToolResult> {
        let value = result.to_value();
        let answer = Answer::text(StatusCode::OK, value.to_string());
        let key = RequestKey::of_path("CALL", tool, "");
        let decision = Decision { fault: Some(fault.clone()), ..Decision::none() };
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        match http_mock::apply(&decision, &answer, &key, None, &mut memory) {
            http_mock::Applied::Changed(changed) => {
                let changed: Json = serde_json::from_slice(&changed.body).ok()?;
                Some(result.with_value(&changed))
            }
            http_mock::Applied::AsItIs | http_mock::Applied::WithoutEffect => None,
        }
    }

    /// Remembers a result for faults that give it again.
    pub(super) fn remember(&self, tool: &str, result: &ToolResult) {
        let answer = Answer::text(StatusCode::OK, result.to_value().to_string());
        let key = RequestKey::of_path("CALL", tool, "");
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        http_mock::apply(&Decision::none(), &answer, &key, None, &mut memory);
    }
}

/// Returns true if a fault leaves the result as it is, and hits its answer on the way.
pub(super) fn is_on_wire(mode: &ToolMode) -> bool {
    matches!(mode, ToolMode::LostResponse(_) | ToolMode::Truncated(_) | ToolMode::Dribble(_))
}

/// Returns the answer of a fault in place of the tool.
pub(super) fn instead(fault: &Fault<ToolMode>) -> Prevented {
    match &fault.mode {
        ToolMode::MaliciousResponse(answer) => Prevented::Result(ToolResult::text(answer.payload.clone())),
        ToolMode::ToolError(error) => Prevented::Result(ToolResult::error(error.message.clone())),
        ToolMode::Vanish(_) => Prevented::Unknown,
        ToolMode::SessionLost(_) => Prevented::SessionLost,
        _ => Prevented::Http(http_mock::instead(fault)),
    }
}

/// Waits as a fault has it, and tells the client meanwhile that the call goes on.
pub(super) async fn slow_progress(decision: &Decision<ToolMode>, call: &ToolCall) {
    let Some(ToolMode::SlowProgress(slow)) = decision.fault.as_ref().map(|fault| &fault.mode) else { return };
    let (whole, pause) = (milliseconds(slow.delay_ms.get()), milliseconds(slow.interval_ms.get()).max(1));
    let mut waited = 0;
    while waited < whole {
        let step = pause.min(whole - waited);
        sleep(Duration::from_millis(step)).await;
        waited += step;
        if let Some(to) = &call.progress {
            to.tell(json!({"progress": waited, "total": whole, "message": "still working"}));
        }
    }
}

/// The result with the text of an attack in it; `None` when it has no place for one.
pub(super) fn attacked(attack: &Fault<ContextAttack>, result: &ToolResult) -> Option<ToolResult> {
    let place = match attack.mode.place() {
        AttackPlace::Answer { path, .. } => path.map(|path| path.as_str().to_owned()),
        AttackPlace::Prompt(_) | AttackPlace::File(..) => None,
    };
    let text = text_of(&attack.mode, attack.seed, &attack.mark.rule, attack.mark.call);
    let value = result.to_value();
    let body = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let changed = injected(body.as_bytes(), place.as_deref(), &text)?;
    let changed = String::from_utf8_lossy(&changed).into_owned();
    Some(result.with_value(&serde_json::from_str(&changed).unwrap_or(Json::String(changed))))
}

/// Makes a result whose text has this many bytes.
fn padded(result: &ToolResult, bytes: usize) -> Option<ToolResult> {
    let text = result.joined_text();
    let large = resized(text.as_bytes(), bytes);
    let mut changed = result.to_json();
    changed["content"] = json!([{"type": "text", "text": String::from_utf8_lossy(&large)}]);
    (bytes > text.len()).then(|| ToolResult::of_server(changed))
}

/// The answer of HTTP with a fault of its way.
pub(super) fn on_wire(fault: Fault<ToolMode>, answer: &Answer) -> Answer {
    let key = RequestKey::of_path("POST", "/mcp", "");
    let decision = Decision { fault: Some(fault), ..Decision::none() };
    match http_mock::apply(&decision, answer, &key, None, &mut AnswerMemory::default()) {
        http_mock::Applied::Changed(changed) => changed,
        http_mock::Applied::AsItIs | http_mock::Applied::WithoutEffect => answer.clone(),
    }
}

/// The body of an answer of HTTP that is JSON.
pub(super) fn json_answer(status: StatusCode, message: &Json) -> Answer {
    Answer::json(status, Bytes::from(message.to_string()))
}
