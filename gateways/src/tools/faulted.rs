//! Carries faults out on calls of tools, and on lists of them.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::StatusCode;
use scenario::chaos::{injected, resized, text_of};
use scenario::spec::sections::ToolMode;
use scenario::spec::sections::chaos::{AttackPlace, ContextAttack};
use serde_json::Value as Json;

use super::result::ToolResult;
use crate::faults::{Decision, Fault};
use crate::http_mock::{self, Answer, AnswerMemory, RequestKey};

/// What a fault gives in place of a tool.
#[derive(Debug)]
pub(super) enum Prevented {
    /// A result.
    Result(ToolResult),
    /// An answer of HTTP.
    Http(Answer),
}

/// What a fault makes of a result.
#[derive(Debug)]
pub(super) enum Applied {
    /// Another result.
    Result(ToolResult),
    /// The result is right, and its answer is changed on its way.
    OnWire,
    /// Nothing.
    WithoutEffect,
}

/// What faults remember of a scenario.
#[derive(Debug, Default)]
pub(super) struct Faulted {
    memory: Mutex<AnswerMemory>,
}

impl Faulted {
    /// Carries a fault out on the result of a call.
    pub(super) fn applied(&self, fault: &Fault<ToolMode>, tool: &str, result: &ToolResult) -> Applied {
        let changed = match &fault.mode {
            ToolMode::LostResponse(_) | ToolMode::Truncated(_) | ToolMode::Dribble(_) => return Applied::OnWire,
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

/// What a fault gives in place of the tool.
pub(super) fn instead(fault: &Fault<ToolMode>) -> Prevented {
    match &fault.mode {
        ToolMode::MaliciousResponse(answer) => Prevented::Result(ToolResult::text(answer.payload.clone())),
        _ => Prevented::Http(http_mock::instead(fault)),
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

/// A result whose text has so many bytes.
fn padded(result: &ToolResult, bytes: usize) -> Option<ToolResult> {
    let text = result.joined_text();
    let large = resized(text.as_bytes(), bytes);
    let mut changed = result.to_json();
    changed["content"] = serde_json::json!([{"type": "text", "text": String::from_utf8_lossy(&large)}]);
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
