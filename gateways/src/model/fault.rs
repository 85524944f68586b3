//! Answers of the model that a fault changes, or gives in its place.

use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::{HeaderValue, StatusCode};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use scenario::chaos::{broken_arguments, drifted, gibberish};
use scenario::spec::sections::LlmMode;
use tokio::time::sleep;

use super::event_ends::event_ends;
use super::refusal::Refusal;
use super::server::{AnswerBody, Broken};
use super::wire::{Finish, Reply};
use crate::faults::{Fault, milliseconds};

/// A replacement for an answer.
#[derive(Debug)]
pub(super) enum Instead {
    /// An error of the provider, and how many seconds it asks to wait.
    Refusal(Refusal, Option<HeaderValue>),
    /// Silence: the connection ends after a while.
    Silence(Duration),
    /// A reset of the connection.
    Reset,
}

/// The place at which an answer breaks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    /// Number of bytes that are sent.
    pub(super) bytes: usize,
    /// Time without any byte before the connection ends.
    pub(super) wait: Duration,
}

/// Returns the replacement for an answer; `None` when the fault changes the answer.
pub(super) fn instead(mode: &LlmMode) -> Option<Instead> {
    let refusal = |status, code, message: &str| Refusal::passing(status, code, message);
    match mode {
        LlmMode::Timeout(timeout) => {
            Some(Instead::Silence(Duration::from_millis(milliseconds(timeout.delay_ms.get()))))
        }
        LlmMode::BackendDown(_) => Some(Instead::Reset),
        LlmMode::RateLimit(limit) => {
            let refusal = refusal(StatusCode::TOO_MANY_REQUESTS, "rate_limit_exceeded", "Rate limit exceeded");
            Some(Instead::Refusal(refusal, Some(HeaderValue::from(limit.retry_after.get()))))
        }
        LlmMode::Error(error) => {
            let status = u16::try_from(error.error_code.get()).ok().and_then(|code| StatusCode::from_u16(code).ok());
            let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            Some(Instead::Refusal(refusal(status, "server_error", &error.message), None))
        }
        LlmMode::ContextLengthExceeded(_) => {
            let message = "This model's maximum context length was exceeded. Please reduce the length of the messages.";
            Some(Instead::Refusal(refusal(StatusCode::BAD_REQUEST, "context_length_exceeded", message), None))
        }
        _ => None,
    }
}

/// Changes the answer of a script. Returns false if there is nothing to change.
pub(super) fn change(fault: &Fault<LlmMode>, reply: &mut Reply) -> bool {
    let before = reply.clone();
    match &fault.mode {
        LlmMode::TruncatedResponse(truncated) => truncate(reply, truncated.max_tokens.count()),
        LlmMode::ContentFilter(_) => {
            silence(reply);
            reply.finish = Finish::ContentFilter;
        }
        LlmMode::Empty(_) => silence(reply),
        LlmMode::Garbage(_) => {
            silence(reply);
            reply.content = Some(gibberish(fault.seed, &fault.mark.rule, fault.mark.call));
        }
        LlmMode::ResponseDrift(drift) => {
            let content = reply.content.as_mut();
            let change = |text: &mut String| *text = drifted(text, drift.drift_type, drift.direction);
            content.into_iter().for_each(change);
        }
        LlmMode::ToolArguments(broken) => {
            for tool in &mut reply.tools {
                tool.broken = Some(broken_arguments(&tool.arguments, broken.how));
            }
        }
        // They break off what is sent.
        LlmMode::CutStream(_) | LlmMode::HangStream(_) => return true,
        _ => {}
    }
    *reply != before
}

fn silence(reply: &mut Reply) {
    reply.content = Some(String::new());
    reply.tools.clear();
}

/// Keeps this many words, as a limit of tokens would.
fn truncate(reply: &mut Reply, words: usize) {
    let Some(text) = &reply.content else { return };
    let all: Vec<_> = text.split_whitespace().collect();
    if all.len() > words {
        reply.content = Some(all[..words].join(" "));
        reply.tools.clear();
        reply.finish = Finish::Length;
        reply.tokens.output = words as u64;
    }
}

/// Finds the place at which an answer breaks off: after a number of events of a stream, or in the middle of a body.
pub(super) fn cut_of(mode: &LlmMode, body: &[u8], stream: bool) -> Option<Cut> {
    let (chunks, wait) = match mode {
        LlmMode::CutStream(cut) => (cut.after_chunks.count(), Duration::ZERO),
        LlmMode::HangStream(hang) => {
            (hang.after_chunks.count(), Duration::from_millis(milliseconds(hang.delay_ms.get())))
        }
        _ => return None,
    };
    let after_events = || event_ends(body).nth(chunks.checked_sub(1)?);
    let bytes =
        if stream { after_events().unwrap_or(if chunks == 0 { 0 } else { body.len() }) } else { body.len() / 2 };
    Some(Cut { bytes, wait })
}

/// A body that breaks off.
pub(super) fn broken_body(body: Bytes, wait: Duration) -> AnswerBody {
    let sent = stream::iter((!body.is_empty()).then(|| Ok(Frame::data(body))));
    let end = stream::once(async move {
        // An error ends the connection at once, so what was handed on before is sent first.
        tokio::task::yield_now().await;
        sleep(wait).await;
        Err(Broken)
    });
    StreamBody::new(sent.chain(end)).boxed_unsync()
}
