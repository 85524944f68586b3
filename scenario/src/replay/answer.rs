//! One recorded answer of a tool.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::header_values::HeaderValues;
use crate::cassette::without_keys;
use crate::evidence::{Answered, Body, Exchange};

/// A recorded answer of an HTTP mock, and the request that it answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolResponse {
    /// The service.
    pub tool: String,
    /// The method of the request; without it, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The path of the request; without it, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The query of the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub query: Vec<(String, String)>,
    /// The body of the request: a text, or JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Json>,
    /// The status; 0 for a connection that ended without an answer.
    #[serde(default = "ok")]
    pub status: u16,
    /// The headers; a list where the answer had one several times.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub headers: IndexMap<String, HeaderValues>,
    /// The body: a text is sent as it is, anything else as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Json>,
    /// The body, when it is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_base64: Option<String>,
    /// The delay before the answer is sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub latency_ms: u64,
    /// The number of bytes of the body after which it breaks off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaks_after: Option<u64>,
}

const fn ok() -> u16 {
    200
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl ToolResponse {
    /// The answer that a request got.
    ///
    /// # Errors
    ///
    /// The part that was not kept whole: `request` or `answer`.
    pub(super) fn recorded(tool: &str, exchange: &Exchange, answered: &Answered) -> Result<Self, &'static str> {
        let request = whole(&exchange.body).ok_or("request")?;
        // The agent got nothing of an answer that was lost, whatever the service said.
        let status = if answered.lost { 0 } else { exchange.status };
        let body = if status == 0 { &[][..] } else { whole(&answered.body).ok_or("answer")? };
        let (response, response_base64) = match std::str::from_utf8(body) {
            Ok("") => (None, None),
            Ok(text) => (Some(readable(text)), None),
            Err(_) => (None, Some(BASE64_STANDARD.encode(body))),
        };
        let pair = |(name, value): &(String, String)| (name.clone(), without_keys(value));
        Ok(Self {
            tool: tool.to_owned(),
            method: Some(exchange.method.clone()),
            path: Some(without_keys(&exchange.path)),
            query: exchange.query.iter().map(pair).collect(),
            request: (!request.is_empty()).then(|| readable(&String::from_utf8_lossy(request))),
            status,
            headers: headers(answered.headers.iter().filter(|_| status != 0).map(pair)),
            response,
            response_base64,
            latency_ms: answered.delay_ms,
            breaks_after: answered.broken_after,
        })
    }

    /// The bytes of the body.
    #[must_use]
    pub fn body(&self) -> Vec<u8> {
        match (&self.response_base64, &self.response) {
            (Some(encoded), _) => BASE64_STANDARD.decode(encoded).unwrap_or_default(),
            (None, Some(Json::String(text))) => text.clone().into_bytes(),
            (None, Some(json)) => json.to_string().into_bytes(),
            (None, None) => Vec::new(),
        }
    }

    /// The request, for people: `shop POST /refunds`.
    #[must_use]
    pub fn call(&self) -> String {
        let words = [Some(self.tool.as_str()), self.method.as_deref(), self.path.as_deref()];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Returns why it cannot be sent, as the end of a sentence.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        match (self.status, &self.response, &self.response_base64) {
            (1..=199 | 600.., ..) => Err("has a status that cannot end a request: use 200 to 599, or 0 for none"),
            (_, Some(_), Some(_)) => Err("has both `response` and `response_base64`: keep one of them"),
            (_, _, Some(encoded)) if BASE64_STANDARD.decode(encoded).is_err() => {
                Err("has a `response_base64` that is no base64")
            }
            _ => Ok(()),
        }
    }
}

/// The headers by their names, with all values of each.
fn headers(pairs: impl Iterator<Item = (String, String)>) -> IndexMap<String, HeaderValues> {
    let mut headers: IndexMap<String, HeaderValues> = IndexMap::new();
    for (name, value) in pairs {
        match headers.get_mut(&name) {
            Some(values) => values.push(value),
            None => drop(headers.insert(name, HeaderValues::One(value))),
        }
    }
    headers
}

/// All of a body.
fn whole(body: &Body) -> Option<&[u8]> {
    match body {
        Body::Kept(blob) => Some(&blob.0),
        Body::Cut { .. } | Body::Dropped { .. } => None,
    }
}

/// A text as JSON, when that is the same text again; otherwise the text.
fn readable(text: &str) -> Json {
    let plain = without_keys(text);
    let json = serde_json::from_str(&plain).ok().filter(|json: &Json| json.is_object() || json.is_array());
    match json.map(|json| (json.to_string(), json)) {
        Some((written, json)) if written == plain => json,
        _ => Json::String(plain),
    }
}

#[cfg(test)]
mod tests {
    use super::{ToolResponse, headers};

    #[test]
    fn a_header_that_came_several_times_keeps_all_of_its_values() {
        let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let came = [("set-cookie", "a=1"), ("etag", "x"), ("set-cookie", "b=2; Path=/"), ("set-cookie", "c=3")];
        let mut recorded: ToolResponse = serde_yaml::from_str("{tool: shop}").expect("an answer");
        recorded.headers = headers(came.into_iter().map(pair));
        let written = serde_yaml::to_string(&recorded).expect("a text");
        assert!(written.contains("etag: x\n"), "one value is a text: {written}");
        assert_eq!(serde_yaml::from_str::<ToolResponse>(&written).expect("the same"), recorded);
        let cookies: Vec<_> = recorded.headers["set-cookie"].as_slice().iter().map(String::as_str).collect();
        assert_eq!(cookies, ["a=1", "b=2; Path=/", "c=3"]);
    }
}
