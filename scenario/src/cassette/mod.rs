//! Recordings of models, which `mode: record` writes and `mode: replay` reads.
//!
//! A cassette is a JSON file that people keep beside their spec, so it is pretty, and the same exchanges always give the
//! same bytes. Secrets are not in it: where one stood, it says `[redacted:NAME]`. The key of the attempt's own markers is left
//! out, because it differs from run to run and would match nothing.

mod difference;
mod marker;
mod tools;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

pub use difference::{Difference, difference};
pub use marker::without_keys;
pub use tools::{RecordedCall, ToolCassette, ToolTape};

use crate::evidence::{Body, Dialect, Evidence, ModelCall};

/// The version of the file's form.
const VERSION: u32 = 1;

/// A recording: a file that a run writes beside its spec, and that a later run answers from.
pub trait Recording: Sized + Default {
    /// Extracts the recording of one scenario from its evidence.
    ///
    /// # Errors
    ///
    /// A call was not kept whole.
    fn from_evidence(scenario: &str, evidence: &Evidence) -> Result<Self, CassetteError>;

    /// Reads a recording.
    ///
    /// # Errors
    ///
    /// It is none, or one of another version.
    fn parse(text: &str) -> Result<Self, CassetteError>;

    /// Adds the scenarios of another recording; where both have one, that of the other counts.
    fn merge(&mut self, other: Self);

    /// The file: the same calls give the same bytes.
    fn text(&self) -> String;
}

/// Exchanges with a model, by the ids of the scenarios in which they were recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cassette {
    version: u32,
    scenarios: BTreeMap<String, Vec<Recorded>>,
}

/// One exchange of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// The shape of the call.
    pub dialect: Dialect,
    /// The request, see [`asked`].
    pub request: Json,
    /// The status of the answer.
    pub status: u16,
    /// True if the answer is a stream of events.
    pub stream: bool,
    /// The answer, as it was sent.
    pub response: String,
}

/// The reason why something is no cassette, or cannot become one.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// The file is no JSON, or not of the right form.
    #[error("the recording cannot be read: {0}; record it anew with `mode: record`")]
    Unreadable(#[source] serde_json::Error),
    /// The file is of another version.
    #[error("the recording has version {0}, and only version {VERSION} is known; record it anew with `mode: record`")]
    Version(u32),
    /// A call whose request or answer was not kept whole.
    #[error("call {call} of the model cannot be recorded: its {part} is larger than what is kept, or is no text")]
    NotWhole {
        /// Index of the call, from 0.
        call: usize,
        /// `request` or `answer`.
        part: &'static str,
    },
    /// A call of a tool whose arguments or answer were not kept whole.
    #[error("call {call} of the tools cannot be recorded: its {part} is larger than what is kept, or is no JSON")]
    NotWholeTool {
        /// Index of the call, from 0.
        call: usize,
        /// `arguments` or `answer`.
        part: &'static str,
    },
    /// More calls than are kept.
    #[error("{0} calls came after the last one that is kept, so that the recording would be incomplete")]
    TooManyCalls(u64),
}

impl Default for Cassette {
    fn default() -> Self {
        Self { version: VERSION, scenarios: BTreeMap::new() }
    }
}

impl Cassette {
    /// Returns the recording of a scenario. A cassette with one scenario serves any.
    #[must_use]
    pub fn scenario(&self, id: &str) -> Option<&[Recorded]> {
        let only = || self.scenarios.values().next().filter(|_| self.scenarios.len() == 1);
        self.scenarios.get(id).or_else(only).map(Vec::as_slice)
    }
}

impl Recording for Cassette {
    /// Extracts the recording of one scenario: the calls that the upstream answered completely, with its own answers
    /// where faults changed them. Answers that a client retries (429 and 5xx) are left out, because in a replay the
    /// first try is answered.
    ///
    /// # Errors
    ///
    /// A call was not kept whole.
    fn from_evidence(scenario: &str, evidence: &Evidence) -> Result<Self, CassetteError> {
        let mut recorded = Vec::new();
        if let Some(model) = &evidence.model {
            if model.only_counted > 0 {
                return Err(CassetteError::TooManyCalls(model.only_counted));
            }
            let calls = model.calls.iter().enumerate().filter(|(_, call)| is_recorded(call));
            recorded = calls.map(|(index, call)| Recorded::of(index, call)).collect::<Result<_, _>>()?;
        }
        Ok(Self { version: VERSION, scenarios: BTreeMap::from([(scenario.to_owned(), recorded)]) })
    }

    /// Reads a cassette.
    ///
    /// # Errors
    ///
    /// It is no cassette, or one of another version.
    fn parse(text: &str) -> Result<Self, CassetteError> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let version = serde_json::from_str::<Version>(text).map_err(CassetteError::Unreadable)?.version;
        if version != VERSION {
            return Err(CassetteError::Version(version));
        }
        serde_json::from_str(text).map_err(CassetteError::Unreadable)
    }

    /// Adds the scenarios of another cassette; where both have one, that of the other counts.
    fn merge(&mut self, other: Self) {
        self.scenarios.extend(other.scenarios);
    }

    /// The file: the same exchanges give the same bytes.
    fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// Returns the request in the form that is compared: its JSON, or for a model lookup, the model's name.
#[must_use]
pub fn asked(dialect: Dialect, model: &str, body: &str) -> Option<Json> {
    match dialect {
        Dialect::Models if model.is_empty() => Some(Json::Null),
        Dialect::Models => Some(without_keys(model).into()),
        _ => serde_json::from_str(&without_keys(body)).ok(),
    }
}

fn is_recorded(call: &ModelCall) -> bool {
    let cut = (200..300).contains(&call.status) && call.problem.is_some();
    call.from_upstream && !cut && call.status < 500 && call.status != 429
}

impl Recorded {
    fn of(index: usize, call: &ModelCall) -> Result<Self, CassetteError> {
        let incomplete = |part| CassetteError::NotWhole { call: index, part };
        let request = text(&call.request).ok_or_else(|| incomplete("request"))?;
        let answer = call.original.as_ref().unwrap_or(&call.response);
        let response = text(answer).ok_or_else(|| incomplete("answer"))?;
        Ok(Self {
            dialect: call.dialect,
            request: asked(call.dialect, &call.request_model, request).ok_or_else(|| incomplete("request"))?,
            status: call.status,
            stream: call.stream,
            response: without_keys(response),
        })
    }
}

fn text(body: &Body) -> Option<&str> {
    match body {
        Body::Kept(blob) => std::str::from_utf8(&blob.0).ok(),
        Body::Cut { .. } | Body::Dropped { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Cassette, Recording as _};
    use crate::evidence::{Blob, Body, Evidence, ModelCall, ModelRecord};

    fn call(request: &str, status: u16, response: &str) -> ModelCall {
        let kept = |text: &str| Body::Kept(Blob::from(text));
        ModelCall {
            request: kept(request),
            response: kept(response),
            status,
            from_upstream: true,
            ..ModelCall::default()
        }
    }

    fn cassette(id: &str, calls: Vec<ModelCall>) -> Result<Cassette, String> {
        let model = ModelRecord { calls, ..ModelRecord::default() };
        let evidence = Evidence { model: Some(model), ..Evidence::default() };
        Cassette::from_evidence(id, &evidence).map_err(|error| error.to_string())
    }

    #[test]
    fn what_the_upstream_answered_is_recorded_without_keys_of_markers() {
        let refused = ModelCall { from_upstream: false, ..call("{}", 401, "{}") };
        let cut = ModelCall { problem: Some("cut".to_owned()), ..call("{}", 200, "da") };
        let asked = call(r#"{"b": 1, "a": "[redacted:KEY:0a1b]"}"#, 200, "changed by a fault");
        let asked = ModelCall { original: Some(Body::Kept(Blob::from("hello [redacted:KEY:0a1b]"))), ..asked };
        let calls = vec![refused, cut, call("{}", 429, "later"), call("{}", 503, "down"), asked, call("[]", 400, "no")];
        let cassette = cassette("default-r0", calls).expect("a cassette");
        insta::assert_snapshot!(cassette.text(), @r#"
        {
          "version": 1,
          "scenarios": {
            "default-r0": [
              {
                "dialect": "chat",
                "request": {
                  "b": 1,
                  "a": "[redacted:KEY]"
                },
                "status": 200,
                "stream": false,
                "response": "hello [redacted:KEY]"
              },
              {
                "dialect": "chat",
                "request": [],
                "status": 400,
                "stream": false,
                "response": "no"
              }
            ]
          }
        }
        "#);
        assert_eq!(Cassette::parse(&cassette.text()).expect("the same"), cassette);
    }

    #[test]
    fn a_cassette_with_one_scenario_serves_any_and_others_only_their_own() {
        let mut cassette = cassette("a", vec![call("{}", 200, "1")]).expect("a cassette");
        assert_eq!(cassette.scenario("b").map(<[_]>::len), Some(1));
        cassette.merge(self::cassette("b", Vec::new()).expect("a cassette"));
        assert_eq!(cassette.scenario("b").map(<[_]>::len), Some(0));
        assert_eq!(cassette.scenario("c"), None);
        cassette.merge(self::cassette("a", Vec::new()).expect("a cassette"));
        assert_eq!(cassette.scenario("a").map(<[_]>::len), Some(0), "the newer one counts");
    }

    #[test]
    fn what_is_no_cassette_says_what_to_do() {
        let check = |text: &str, expected: &str| {
            let error = Cassette::parse(text).expect_err("no cassette").to_string();
            assert!(error.contains(expected) && error.contains("record it anew"), "{error}");
        };
        check("no", "cannot be read: expected ident");
        check(r#"{"version": 2, "more": 1}"#, "version 2");
        check(r#"{"version": 1, "scenarios": {"a": [{}]}}"#, "missing field `dialect`");
    }

    #[test]
    fn what_was_not_kept_whole_cannot_be_recorded() {
        let cut = ModelCall { response: Body::Dropped { size: 9 }, ..call("{}", 200, "") };
        assert!(cassette("a", vec![call("{}", 200, ""), cut]).expect_err("no cassette").starts_with("call 1 of"));
        let model = ModelRecord { only_counted: 3, ..ModelRecord::default() };
        let evidence = Evidence { model: Some(model), ..Evidence::default() };
        assert!(Cassette::from_evidence("a", &evidence).is_err());
    }
}
