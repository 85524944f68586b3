//! Streams of events, read while they pass.

use std::convert::Infallible;
use std::fmt;

use bytes::Bytes;
use eventsource_stream::{EventStream, Eventsource};
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::{FutureExt, StreamExt};
use scenario::evidence::Dialect;
use serde_json::Value as Json;

use super::answer::{Reading, beginning};
use super::chat::Places;
use super::{chat, messages, responses};
use crate::gateways::model::limits::{EVENT_BYTES, NAME_BYTES};

type Parts = UnboundedReceiver<Result<Bytes, Infallible>>;

/// Reads a stream of events as its parts come. An event that is larger than what is read, or bytes that are no text, end
/// the reading, but not the stream.
pub(in crate::gateways::model) struct StreamReader {
    dialect: Dialect,
    reading: Reading,
    places: Places,
    feed: UnboundedSender<Result<Bytes, Infallible>>,
    events: EventStream<Parts>,
    /// The beginning of a line whose end is still to come. Only whole lines are handed on, because the parser would look at
    /// the same beginning again with every part.
    line: Vec<u8>,
    /// How much came since the last event.
    since_event: usize,
    /// Whether it cannot be read any further.
    lost: bool,
}

impl StreamReader {
    pub(in crate::gateways::model) fn new(dialect: Dialect) -> Self {
        let (feed, parts) = unbounded();
        Self {
            dialect,
            reading: Reading::default(),
            places: Places::new(),
            feed,
            events: parts.eventsource(),
            line: Vec::new(),
            since_event: 0,
            lost: false,
        }
    }

    /// Takes the next part of the stream, and reads the events that it completes.
    pub(in crate::gateways::model) fn push(&mut self, part: &[u8]) {
        self.since_event = self.since_event.saturating_add(part.len());
        self.lost |= self.since_event > EVENT_BYTES;
        if self.lost {
            self.line = Vec::new();
            return;
        }
        let Some(end) = memchr::memrchr(b'\n', part) else {
            self.line.extend_from_slice(part);
            return;
        };
        let mut lines = std::mem::take(&mut self.line);
        lines.extend_from_slice(&part[..=end]);
        self.line.extend_from_slice(&part[end + 1..]);
        if self.feed.unbounded_send(Ok(lines.into())).is_err() {
            return;
        }
        // The events of what came are all there is: the next one would have to wait for more.
        while let Some(Some(event)) = self.events.next().now_or_never() {
            self.since_event = 0;
            match event {
                Ok(event) => self.event(&event.data),
                Err(_) => self.lost = true,
            }
            if self.lost {
                return;
            }
        }
    }

    /// Whether the last event has come.
    pub(in crate::gateways::model) fn has_ended(&self) -> bool {
        self.reading.ended
    }

    /// What the stream said.
    pub(in crate::gateways::model) fn finish(self) -> Reading {
        self.reading
    }

    fn event(&mut self, data: &str) {
        if data == "[DONE]" {
            self.reading.ended = true;
            return;
        }
        let Ok(event) = serde_json::from_str::<Json>(data) else { return };
        if let Some(error) = event.get("error").filter(|error| error.is_object()) {
            let message = error["message"].as_str().unwrap_or("an error without a message");
            self.reading.error = Some(beginning(message, NAME_BYTES).to_owned());
        }
        match self.dialect {
            Dialect::Responses => responses::event(&event, &mut self.reading),
            Dialect::Messages => messages::event(&event, &mut self.reading, &mut self.places),
            Dialect::Chat | Dialect::Embeddings | Dialect::Models | Dialect::Other => {
                chat::chunk(&event, &mut self.reading, &mut self.places);
            }
        }
    }
}

impl fmt::Debug for StreamReader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StreamReader").field("reading", &self.reading).finish_non_exhaustive()
    }
}
