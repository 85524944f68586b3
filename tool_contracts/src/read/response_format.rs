//! `response_format_invariants`: the form of the model's response that proposes a call.

use crate::diagnostic::Place;
use crate::reader::{At, Reader};

/// The form that a response must have.
#[derive(Debug, Clone)]
pub(crate) struct ResponseFormat {
    /// The finish reason, normalised.
    pub(crate) finish_reason: Option<String>,
    /// True when no text may accompany calls.
    pub(crate) content_empty: bool,
    /// True when a forced call must be made.
    pub(crate) tool_calls_present: bool,
    pub(crate) place: Place,
}

impl ResponseFormat {
    pub(crate) fn read(at: &At<'_>, reader: &mut Reader) -> Option<Self> {
        if !reader.is_map(at, &["finish_reason", "content_when_tool_calls", "tool_calls_present"]) {
            return None;
        }
        let finish_reason = at.present("finish_reason").and_then(|value| reader.text(&value));
        let content = reader.word_of(at, "content_when_tool_calls", &[("empty", true), ("allowed", false)]);
        Some(Self {
            finish_reason: finish_reason.map(|reason| normalise(&reason).to_owned()),
            content_empty: content.unwrap_or(false),
            tool_calls_present: reader.flag(at, "tool_calls_present", false),
            place: at.place.clone(),
        })
    }
}

/// One word for what providers call differently.
pub(crate) fn normalise(finish_reason: &str) -> &str {
    match finish_reason {
        "tool_use" | "function_call" => "tool_calls",
        "end_turn" => "stop",
        other => other,
    }
}
