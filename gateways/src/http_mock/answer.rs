//! Answers: their parts, and how they are sent.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Version};
use scenario::evidence::{Answered, Exchange};
use scenario::replay::ToolResponse;
use scenario::spec::sections::MockResponse;
use serde::de::IgnoredAny;
use serde_json::Value as Json;
use tokio::time::sleep;

use super::body::{BreakOff, Ending, MockBody};
use super::fault::Wire;
use super::template::{Rendering, TooLarge};
use crate::listener::{Broken, Reset};
use crate::memory_budget::Share;

/// An answer that is ready to be sent. Cloning it is cheap.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) delay: Option<Duration>,
    /// The way in which it reaches the client.
    pub(crate) wire: Wire,
}

impl Answer {
    /// An answer with nothing but a status. One that cannot end a request is answered with 500, see [`final_status`].
    pub(crate) fn empty(status: u16) -> Self {
        final_status(status).map_or_else(|| no_end(status), |status| Self::new(status, Bytes::new()))
    }

    /// The answer of another server, whose head came with these headers. Those of the connection are not passed on.
    pub(crate) fn of_service(status: StatusCode, mut headers: HeaderMap, body: Bytes) -> Self {
        for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
            headers.remove(name);
        }
        Self { headers, ..Self::new(status, body) }
    }

    /// A recorded answer. Its latency is the one that was recorded.
    pub(super) fn recorded(recorded: &ToolResponse) -> Self {
        let mut answer = match recorded.status {
            0 => Self::empty(200).with_wire(Wire::Silent { wait: Duration::ZERO, ending: Ending::Reset }),
            status => {
                final_status(status).map_or_else(|| no_end(status), |status| Self::new(status, recorded.body().into()))
            }
        };
        if let Some(json) = recorded.response.as_ref().filter(|_| recorded.headers.is_empty()) {
            answer.headers.insert(CONTENT_TYPE, HeaderValue::from_static(guess_content_type(json)));
        }
        for (name, values) in &recorded.headers {
            answer.set_header(name, &Json::from(values.as_slice()));
        }
        if let Some(after) = recorded.breaks_after.filter(|_| recorded.status != 0) {
            let after_bytes = usize::try_from(after).unwrap_or(usize::MAX).min(answer.body.len());
            answer = answer.with_wire(Wire::BreakOff(BreakOff { after_bytes, ending: Ending::Close }));
        }
        answer.delayed(Duration::from_millis(recorded.latency_ms))
    }

    /// An answer of ours, for people to read.
    pub(crate) fn text(status: StatusCode, text: impl Into<String>) -> Self {
        let mut answer = Self::new(status, text.into().into());
        answer.headers.insert(CONTENT_TYPE, HeaderValue::from_static(TEXT));
        answer
    }

    /// No answer: the connection is closed after a while.
    pub(crate) fn silent(wait: Duration) -> Self {
        Self::empty(200).with_wire(Wire::Silent { wait, ending: Ending::Close })
    }

    /// JSON that is written already.
    pub(crate) fn json(status: StatusCode, body: Bytes) -> Self {
        Self::new(status, body).with(CONTENT_TYPE, HeaderValue::from_static(JSON))
    }

    /// The answer that a spec describes. With a `rendering`, the names in its texts are replaced.
    ///
    /// - `response` is sent as it is when it is a text, and as JSON otherwise.
    /// - `Content-Type` is guessed from the body, unless it is given.
    /// - A header whose value is a list stands once for each item, `null` leaves a header out, and other values become
    ///   their JSON. Characters that a header cannot have become blanks, so that no value adds a header of its own.
    /// - `Content-Length` and `Transfer-Encoding` are the server's, and left out.
    /// - 1xx cannot end a request and is answered with 500. 204 and 304 are sent without a body.
    pub(super) fn described(response: &MockResponse, rendering: Option<&mut Rendering<'_>>) -> Result<Self, TooLarge> {
        let status = u16::try_from(response.status.get()).unwrap_or_default();
        let Some(status) = final_status(status) else { return Ok(no_end(status)) };
        let Some(rendering) = rendering else {
            let headers = response.response_headers.iter().map(|(name, value)| (name.as_str(), value.clone()));
            return Ok(Self::assemble(status, response, response.response.clone(), headers));
        };
        let body = match &response.response {
            Some(Json::String(text)) => Some(rendering.text(text)?.into()),
            Some(json) => Some(rendering.json(json)?),
            None => None,
        };
        let given = response.response_headers.iter();
        let headers: Result<Vec<_>, _> =
            given.map(|(name, value)| Ok((name.as_str(), rendering.json(value)?))).collect();
        Ok(Self::assemble(status, response, body, headers?))
    }

    fn assemble<'h>(
        status: StatusCode,
        response: &MockResponse,
        body: Option<Json>,
        headers: impl IntoIterator<Item = (&'h str, Json)>,
    ) -> Self {
        let content_type = body.as_ref().map(guess_content_type);
        let body = match body {
            Some(Json::String(text)) => text.into(),
            Some(json) => json.to_string().into(),
            None => Bytes::new(),
        };
        let mut answer = Self::new(status, body);
        if let Some(content_type) = content_type {
            answer.headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        for (name, value) in headers {
            answer.set_header(name, &value);
        }
        answer.delay = response.delay.map(|delay| delay.get());
        answer
    }

    fn new(status: StatusCode, body: Bytes) -> Self {
        let has_body = !matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        Self {
            status,
            headers: HeaderMap::new(),
            body: if has_body { body } else { Bytes::new() },
            delay: None,
            wire: Wire::Whole,
        }
    }

    pub(super) fn set_header(&mut self, name: &str, value: &Json) {
        let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else { return };
        if matches!(name, CONTENT_LENGTH | TRANSFER_ENCODING) {
            return;
        }
        self.headers.remove(&name);
        let values = match value {
            Json::Null => &[],
            Json::Array(values) => values.as_slice(),
            other => std::slice::from_ref(other),
        };
        for value in values.iter().filter_map(header_value) {
            self.headers.append(&name, value);
        }
    }

    /// The same answer with another body.
    pub(super) fn with_body(self, body: Bytes) -> Self {
        Self { body, ..self }
    }

    /// True when nothing of it reaches the client.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(self.wire, Wire::Silent { .. })
    }

    /// The same answer, which reaches the client in another way.
    pub(crate) fn with_wire(self, wire: Wire) -> Self {
        Self { wire, ..self }
    }

    /// The same answer with a header.
    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// The status for the record: 0 when no answer is given.
    pub(super) fn recorded_status(&self, has_reached: bool) -> u16 {
        if !has_reached && matches!(self.wire, Wire::Silent { .. }) { 0 } else { self.status.as_u16() }
    }

    /// The headers for the record.
    pub(super) fn recorded_headers(&self) -> Vec<(String, String)> {
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        self.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
    }

    /// The answer for the record; `redacted` has its headers and its body without secrets.
    pub(super) fn as_sent(&self, redacted: Exchange) -> Answered {
        let wait = if let Wire::Silent { wait, .. } = self.wire { wait } else { Duration::ZERO };
        let delay = self.delay.unwrap_or_default() + wait;
        Answered {
            headers: redacted.headers,
            body: redacted.body,
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            broken_after: match self.wire {
                Wire::BreakOff(break_off) => Some(break_off.after_bytes as u64),
                Wire::Whole | Wire::Silent { .. } | Wire::Dribble(_) => None,
            },
            lost: self.is_silent(),
        }
    }

    /// Closes the connection after this answer, because the rest of the request is not read.
    pub(crate) fn closing(mut self) -> Self {
        self.headers.insert(CONNECTION, HeaderValue::from_static("close"));
        self
    }

    /// The same answer, when another would have come.
    pub(super) fn in_time_of(self, other: &Self) -> Self {
        Self { delay: other.delay, ..self }
    }

    /// Returns the same answer with an additional delay.
    pub(crate) fn delayed(self, delay: Duration) -> Self {
        let delay = self.delay.unwrap_or_default() + delay;
        Self { delay: Some(delay).filter(|delay| !delay.is_zero()), ..self }
    }

    /// Waits as long as the answer takes, and gives it as it is on the wire. One that never comes ends the connection.
    pub(crate) async fn deliver(
        self,
        to: &Method,
        version: Version,
        share: Share,
        reset: Reset,
    ) -> Result<Response<MockBody>, Broken> {
        if let Some(delay) = self.delay {
            sleep(delay).await;
        }
        if let Wire::Silent { wait, ending } = self.wire {
            sleep(wait).await;
            if ending == Ending::Reset {
                reset.arm();
            }
            return Err(Broken);
        }
        Ok(self.send(to, version, share, reset))
    }

    /// Makes the answer on the wire. `HEAD` gets the length of the body without the body. An answer without a body
    /// cannot break off.
    fn send(self, to: &Method, version: Version, share: Share, reset: Reset) -> Response<MockBody> {
        let Self { status, mut headers, mut body, wire, .. } = self;
        let has_body = !matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        if *to == Method::HEAD && has_body {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
            body = Bytes::new();
        }
        if version == Version::HTTP_2 {
            headers.remove(CONNECTION);
        }
        let body = match wire {
            Wire::BreakOff(break_off) if has_body && *to != Method::HEAD => {
                MockBody::broken(&body, share, break_off, reset)
            }
            Wire::Dribble(rate) => MockBody::slow(body, share, rate),
            _ => MockBody::whole(body, share),
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        response
    }
}

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// A text that is a JSON object or list is JSON, like every value that is no text.
fn guess_content_type(body: &Json) -> &'static str {
    match body {
        Json::String(text) if !text.trim_start().starts_with(['{', '[']) => TEXT,
        Json::String(text) if serde_json::from_str::<IgnoredAny>(text).is_err() => TEXT,
        _ => JSON,
    }
}

/// A status that can end a request. HTTP sends others (1xx) ahead of an answer, never as one.
fn final_status(status: u16) -> Option<StatusCode> {
    StatusCode::from_u16(status).ok().filter(|status| !status.is_informational())
}

/// The answer in place of one whose status cannot end a request.
fn no_end(status: u16) -> Answer {
    let text = format!("the mock's route says status {status}, and only 200 to 599 can end a request\n");
    Answer::text(StatusCode::INTERNAL_SERVER_ERROR, text)
}

fn header_value(value: &Json) -> Option<HeaderValue> {
    let text = match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    let visible = text.replace(|character: char| character.is_ascii_control() && character != '\t', " ");
    HeaderValue::from_maybe_shared(Bytes::from(visible)).ok()
}
