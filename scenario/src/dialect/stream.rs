//! Answers that are streamed, read while they pass.

use serde_json::Value as Json;

use super::answer::Answer;
use super::assembly::Assembly;
use super::events::EventLines;
use super::limits::ReadLimits;
use super::{chat, messages, responses};
use crate::evidence::Dialect;

/// Reads a stream of events as its parts come. An event that is larger than the limit, or bytes that are no text, end the
/// reading, but not the stream.
#[derive(Debug)]
pub struct StreamReader {
    dialect: Dialect,
    assembly: Assembly,
    lines: EventLines,
    event_bytes: usize,
    /// The bytes that came since the last event.
    since_event: usize,
    /// True when it cannot be read any further.
    lost: bool,
}

impl StreamReader {
    /// A reader of a stream that is about to come.
    #[must_use]
    pub fn new(dialect: Dialect, limits: ReadLimits) -> Self {
        Self {
            dialect,
            assembly: Assembly::new(limits),
            lines: EventLines::default(),
            event_bytes: limits.event_bytes,
            since_event: 0,
            lost: false,
        }
    }

    /// Adds the next part of the stream, and reads the events that it completes.
    pub fn push(&mut self, part: &[u8]) {
        self.since_event = self.since_event.saturating_add(part.len());
        self.lost |= self.since_event > self.event_bytes;
        if self.lost {
            self.lines.clear();
            return;
        }
        let Self { dialect, assembly, lines, since_event, .. } = self;
        let read = lines.push(part, |data| {
            *since_event = 0;
            event(*dialect, data, assembly);
        });
        self.lost = read.is_err();
    }

    /// Returns whether the last event has come.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.assembly.answer.ended
    }

    /// The answer, as far as it came.
    #[must_use]
    pub fn finish(self) -> Answer {
        self.assembly.finish()
    }
}

fn event(dialect: Dialect, data: &str, assembly: &mut Assembly) {
    if data == "[DONE]" {
        assembly.answer.ended = true;
        return;
    }
    let Ok(event) = serde_json::from_str::<Json>(data) else { return };
    if let Some(error) = event.get("error").filter(|error| error.is_object()) {
        assembly.set_error(error["message"].as_str().unwrap_or("an error without a message"));
    }
    match dialect {
        Dialect::Responses => responses::event(&event, assembly),
        Dialect::Messages => messages::event(&event, assembly),
        Dialect::Chat | Dialect::Embeddings | Dialect::Models | Dialect::Other => chat::event(&event, assembly),
    }
}
