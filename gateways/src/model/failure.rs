//! Tries of a call that the upstream did not answer as an upstream should.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};

use super::proxy::UNUSABLE;
use super::refusal::Refusal;

/// Number of bytes of a failing answer that are read: 256 KiB.
const MOST_BODY: usize = 256 * 1024;
/// Number of characters of a failing answer that are reported.
const MOST_TOLD: usize = 300;
/// The code with which OpenAI says that an account has nothing left. Waiting does not change that.
const NO_CREDIT: &[u8] = b"insufficient_quota";

/// Class of failure of the upstream, by its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureClass {
    /// The upstream cannot be reached, is overloaded or broken; asking again may help.
    Unavailable,
    /// The upstream refuses us: the address, the key or the account is wrong.
    Refused,
}

/// A try that failed.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) class: FailureClass,
    /// The status of the answer; `None` when there was none.
    pub(super) status: Option<u16>,
    /// Description in words.
    pub(super) reason: String,
    /// The wait that the upstream asks for.
    pub(super) retry_after: Option<Duration>,
    headers: HeaderMap,
    body: Bytes,
    refusal: Option<Refusal>,
}

impl FailureClass {
    /// The class of a status; `None` when the answer is for the agent to deal with.
    pub(super) fn of(status: StatusCode) -> Option<Self> {
        match status.as_u16() {
            408 | 429 | 500.. => Some(Self::Unavailable),
            300..=399 | 401..=405 => Some(Self::Refused),
            _ => None,
        }
    }
}

impl Failure {
    /// The upstream did not answer.
    pub(super) fn unreachable(refusal: Refusal) -> Self {
        let is_unusable = refusal.code == UNUSABLE;
        Self {
            class: if is_unusable { FailureClass::Refused } else { FailureClass::Unavailable },
            status: None,
            reason: refusal.message.clone(),
            retry_after: None,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            refusal: Some(refusal),
        }
    }

    /// The upstream's answer has a status of this class.
    pub(super) async fn answered(class: FailureClass, mut response: reqwest::Response) -> Self {
        let mut body = Vec::new();
        while let Ok(Some(part)) = response.chunk().await {
            body.extend_from_slice(&part[..part.len().min(MOST_BODY - body.len())]);
            if body.len() == MOST_BODY {
                break;
            }
        }
        let status = response.status();
        let has_no_credit = status == StatusCode::TOO_MANY_REQUESTS && contains(&body, NO_CREDIT);
        Self {
            class: if has_no_credit { FailureClass::Refused } else { class },
            status: Some(status.as_u16()),
            reason: told(status, &body),
            retry_after: retry_after(response.headers()),
            headers: std::mem::take(response.headers_mut()),
            body: body.into(),
            refusal: None,
        }
    }

    /// Returns true if the answer speaks of this model.
    pub(super) fn names(&self, model: &str) -> bool {
        contains(&self.body, b"model_not_found") || has_word(&self.body, model.as_bytes())
    }

    /// The answer that the agent gets.
    pub(super) fn into_answer(self) -> Result<reqwest::Response, Refusal> {
        if let Some(refusal) = self.refusal {
            return Err(refusal);
        }
        let mut response = http::Response::new(reqwest::Body::from(self.body));
        *response.status_mut() = self.status.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or_default();
        *response.headers_mut() = self.headers;
        Ok(response.into())
    }
}

fn contains(body: &[u8], text: &[u8]) -> bool {
    memchr::memmem::find(body, text).is_some()
}

/// Returns true if a word stands in a text, and not as a part of a longer one.
fn has_word(text: &[u8], word: &[u8]) -> bool {
    let ends = |neighbour: Option<&u8>| !neighbour.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let is_alone = |at: usize| ends(at.checked_sub(1).and_then(|at| text.get(at))) && ends(text.get(at + word.len()));
    !word.is_empty() && memchr::memmem::find_iter(text, word).any(is_alone)
}

fn told(status: StatusCode, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let message = serde_json::from_str::<serde_json::Value>(&text).ok().and_then(|body| {
        let error = &body["error"];
        error["message"].as_str().or_else(|| error.as_str()).or_else(|| body["message"].as_str()).map(str::to_owned)
    });
    let message = message.unwrap_or_else(|| text.trim().to_owned());
    let shown: String = message.chars().take(MOST_TOLD).collect();
    let shown = if shown.is_empty() { shown } else { format!(": {shown}") };
    format!("the upstream answered {}{shown}", status.as_u16())
}

/// Seconds, as providers send it. A date is not read: the usual waits do instead.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let millis = headers.get("retry-after-ms").and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let seconds = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    millis.map(|millis: f64| millis / 1000.0).or(seconds).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::StatusCode;

    use super::{Failure, FailureClass};

    async fn failure(status: u16, header: (&'static str, &'static str), body: &'static str) -> Failure {
        let response =
            http::Response::builder().status(status).header(header.0, header.1).body(body).expect("a response");
        Failure::answered(FailureClass::Unavailable, response.into()).await
    }

    #[test]
    fn every_status_is_the_agents_the_providers_or_the_operators() {
        let class = |status: u16| FailureClass::of(StatusCode::from_u16(status).expect("a status"));
        for status in [200, 201, 204, 400, 409, 410, 413, 415, 422] {
            assert_eq!(class(status), None, "{status}");
        }
        for status in [408, 429, 500, 502, 503, 504, 529] {
            assert_eq!(class(status), Some(FailureClass::Unavailable), "{status}");
        }
        for status in [301, 307, 401, 402, 403, 404, 405] {
            assert_eq!(class(status), Some(FailureClass::Refused), "{status}");
        }
    }

    #[tokio::test]
    async fn what_an_answer_says_is_told_and_passed_on() {
        let slow = failure(429, ("retry-after", "7"), r#"{"error": {"message": "slow down"}}"#).await;
        assert_eq!(
            (slow.retry_after, slow.reason.as_str()),
            (Some(Duration::from_secs(7)), "the upstream answered 429: slow down")
        );
        assert_eq!((slow.class, slow.status), (FailureClass::Unavailable, Some(429)));
        let answer = slow.into_answer().expect("an answer");
        assert_eq!((answer.status().as_u16(), answer.headers()["retry-after"].to_str().expect("a text")), (429, "7"));
        let date = failure(503, ("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT"), "<html>").await;
        assert_eq!((date.retry_after, date.reason.as_str()), (None, "the upstream answered 503: <html>"));
        assert_eq!(failure(429, ("retry-after-ms", "20"), "").await.retry_after, Some(Duration::from_millis(20)));
        assert_eq!(failure(429, ("retry-after", "-1"), "").await.retry_after, None);
    }

    #[tokio::test]
    async fn an_account_without_credit_is_not_waited_for() {
        let poor = failure(429, ("x", "y"), r#"{"error": {"code": "insufficient_quota", "message": "pay"}}"#).await;
        assert_eq!(poor.class, FailureClass::Refused);
        let unknown = failure(404, ("x", "y"), r#"{"error": {"message": "no model `gpt-0`"}}"#).await;
        assert!(unknown.names("gpt-0") && !unknown.names("gpt-1") && !unknown.names("") && !unknown.names("m"));
    }
}
