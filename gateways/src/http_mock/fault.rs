//! Answers of mocks, and of containers that speak HTTP, that a fault changes, or gives in their place.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use scenario::chaos::{damaged, dropped, injected, resized, text_of, violated};
use scenario::spec::sections::ToolMode;
use scenario::spec::sections::chaos::{AttackPlace, ContextAttack, ErrorAnswer, Truncated, WrongData};
use scenario::spec::types::JsonPath;
use serde_json::Value as Json;

use super::answer::Answer;
use super::body::{BreakOff, Ending};
use super::memory::{AnswerMemory, RequestKey};
use crate::faults::{Decision, Fault, milliseconds};

/// JSON that cannot be read.
const BROKEN_JSON: &str = r#"{"status": "ok", "data": [{"id": 1, "value": "#;
/// Content types of injected answers.
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// The way in which an answer reaches the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Wire {
    /// The answer is sent as it is.
    #[default]
    Whole,
    /// The answer breaks off.
    BreakOff(BreakOff),
    /// Not at all: the connection ends after a while.
    Silent { wait: Duration, ending: Ending },
    /// The answer is sent with this many bytes a second.
    Dribble(u64),
}

/// The outcome of a decision on the answer of a service.
#[derive(Debug)]
pub(crate) enum Applied {
    /// No fault changes it.
    AsItIs,
    /// A fault changed it.
    Changed(Answer),
    /// A fault hit it, and found nothing to change.
    WithoutEffect,
}

/// Carries the fault of a request that reached its service out on the answer, and remembers the answer. `other` is the answer to
/// `from` of `wrong_entity`.
pub(crate) fn apply(
    decision: &Decision<ToolMode>,
    answer: &Answer,
    key: &RequestKey,
    other: Option<Answer>,
    memory: &mut AnswerMemory,
) -> Applied {
    let applied = match &decision.fault {
        Some(fault) => match changed(fault, answer, key, other, memory) {
            Some(changed) => Applied::Changed(changed),
            None => Applied::WithoutEffect,
        },
        None => {
            memory.first(key, answer);
            Applied::AsItIs
        }
    };
    memory.remember(key, answer);
    applied
}

/// The path that a decision takes an answer from, for `wrong_entity`.
pub(crate) fn other_path(decision: &Decision<ToolMode>) -> Option<&str> {
    match decision.fault.as_ref().map(|fault| &fault.mode) {
        Some(ToolMode::WrongEntity(wrong)) => wrong.from.as_ref().map(|path| path.as_str()),
        _ => None,
    }
}

/// The answer that a fault gives in place of the service.
pub(crate) fn instead(fault: &Fault<ToolMode>) -> Answer {
    let silent = |wait, ending| Answer::empty(200).with_wire(Wire::Silent { wait, ending });
    match &fault.mode {
        ToolMode::Timeout(timeout) => {
            silent(Duration::from_millis(milliseconds(timeout.delay_ms.get())), Ending::Close)
        }
        ToolMode::ConnectionReset(_) => silent(Duration::ZERO, Ending::Reset),
        ToolMode::Error(error) => error_answer(error),
        ToolMode::MaliciousResponse(answer) => Answer::text(StatusCode::OK, answer.payload.clone()),
        ToolMode::HtmlErrorPage(page) => html_page(page.error_code.get()),
        ToolMode::Unauthorized(_) => json_error(StatusCode::UNAUTHORIZED, "unauthorized"),
        ToolMode::RateLimit(_) => {
            json_error(StatusCode::TOO_MANY_REQUESTS, "rate limit exceeded").with(RETRY_AFTER, HeaderValue::from(1))
        }
        // Others change an answer, and are never asked for one.
        _ => Answer::text(StatusCode::OK, BROKEN_JSON).with(CONTENT_TYPE, JSON),
    }
}

fn error_answer(error: &ErrorAnswer) -> Answer {
    let status = status(error.error_code.get());
    let message = error.message.clone().or_else(|| status.canonical_reason().map(ToOwned::to_owned));
    let mut answer = Answer::text(status, message.unwrap_or_default());
    if status == StatusCode::TOO_MANY_REQUESTS {
        answer = answer.with(RETRY_AFTER, HeaderValue::from(1));
    }
    for (name, value) in error.headers.iter() {
        answer.set_header(name, &Json::String(value.clone()));
    }
    answer
}

fn html_page(code: i64) -> Answer {
    let status = status(code);
    let title = format!("{} {}", status.as_u16(), status.canonical_reason().unwrap_or_default());
    let page = format!(
        "<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\r\n</body>\r\n</html>\r\n"
    );
    Answer::text(status, page).with(CONTENT_TYPE, HTML)
}

fn json_error(status: StatusCode, message: &str) -> Answer {
    Answer::text(status, serde_json::json!({ "error": message }).to_string()).with(CONTENT_TYPE, JSON)
}

fn status(code: i64) -> StatusCode {
    u16::try_from(code).ok().and_then(|code| StatusCode::from_u16(code).ok()).unwrap_or(StatusCode::SERVICE_UNAVAILABLE)
}

/// The answer of the service after a fault; `None` when the fault changes nothing about it.
fn changed(
    fault: &Fault<ToolMode>,
    answer: &Answer,
    key: &RequestKey,
    other: Option<Answer>,
    memory: &mut AnswerMemory,
) -> Option<Answer> {
    let json = |change: &dyn Fn(&Json) -> Option<Json>| {
        let document = serde_json::from_slice(&answer.body).ok()?;
        change(&document).map(|changed| answer.clone().with_body(changed.to_string().into()))
    };
    let mark = &fault.mark;
    match &fault.mode {
        ToolMode::Truncated(truncated) => broken_off(truncated, answer),
        ToolMode::Empty(_) => (!answer.body.is_empty()).then(|| answer.clone().with_body(Bytes::new())),
        ToolMode::LostResponse(lost) => {
            let wait = Duration::from_millis(milliseconds(lost.delay_ms.get()));
            Some(answer.clone().with_wire(Wire::Silent { wait, ending: Ending::Close }))
        }
        ToolMode::WrongData(wrong) => wrong_data(wrong, answer, key, memory),
        ToolMode::WrongEntity(wrong) => {
            let other = if wrong.from.is_some() { other } else { memory.other(key) };
            wrong_entity(answer, other?)
        }
        ToolMode::DropFields(drop) => {
            let share = drop.share.map(|share| share.get());
            json(&|answer| dropped(answer, &drop.paths, share, fault.seed, &mark.rule, mark.call))
        }
        ToolMode::SchemaViolation(violation) => json(&|answer| violated(answer, &violation.paths)),
        ToolMode::LargeResponse(large) => {
            let bytes = usize::try_from(large.bytes.get()).unwrap_or(0);
            (bytes > answer.body.len()).then(|| answer.clone().with_body(resized(&answer.body, bytes).into()))
        }
        ToolMode::Dribble(dribble) => {
            let rate = milliseconds(dribble.bytes_per_second.get());
            (!answer.body.is_empty()).then(|| answer.clone().with_wire(Wire::Dribble(rate)))
        }
        // Others answer in place of the service.
        _ => None,
    }
}

/// The answer of the service with an attack in it; `None` when it has no place for one.
pub(super) fn attacked(attack: &Fault<ContextAttack>, answer: &Answer) -> Option<Answer> {
    let place = match attack.mode.place() {
        AttackPlace::Answer { path, .. } => path.map(JsonPath::as_str),
        AttackPlace::Prompt(_) | AttackPlace::File(..) => None,
    };
    let text = text_of(&attack.mode, attack.seed, &attack.mark.rule, attack.mark.call);
    injected(&answer.body, place, &text).map(|body| answer.clone().with_body(body.into()))
}

fn broken_off(truncated: &Truncated, answer: &Answer) -> Option<Answer> {
    let whole = answer.body.len();
    let part = truncated.fraction.map_or(0.5, |fraction| fraction.get());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a part of a body is not larger than it"
    )]
    let share = (whole as f64 * part) as usize;
    let sent = truncated.bytes.map_or(share, |bytes| bytes.count()).min(whole);
    let broken = BreakOff { after_bytes: sent, ending: Ending::Close };
    (sent < whole).then(|| answer.clone().with_wire(Wire::BreakOff(broken)))
}

/// The answer about something else, which comes when the right one would have.
fn wrong_entity(answer: &Answer, other: Answer) -> Option<Answer> {
    let is_wrong = answer.status.is_success() && other.status.is_success() && other.body != answer.body;
    is_wrong.then(|| other.in_time_of(answer))
}

fn wrong_data(wrong: &WrongData, answer: &Answer, key: &RequestKey, memory: &mut AnswerMemory) -> Option<Answer> {
    let base = if wrong.stale { memory.first(key, answer) } else { None };
    let before = base.as_ref().unwrap_or(answer);
    let document = serde_json::from_slice(&before.body).ok();
    let changed = document.and_then(|document| damaged(&document, wrong));
    let is_stale = base.as_ref().is_some_and(|base| base.body != answer.body || base.status != answer.status);
    match changed {
        Some(changed) => Some(before.clone().with_body(changed.to_string().into())),
        None if is_stale => base,
        None => None,
    }
}
