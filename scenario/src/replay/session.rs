//! The file of a session.

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::answer::ToolResponse;
use crate::cassette::Recorded;
use crate::evidence::Firing;

/// The version of the file's form.
pub(super) const VERSION: u32 = 1;
/// The largest file that is read: 16 MiB.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// The prompt and the recorded answers of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// The version of the file's form: 1.
    pub version: u32,
    /// Its name.
    pub id: String,
    /// A remark for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The scenario that it was recorded in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SessionSource>,
    /// Time at which the agent was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captured_at: Option<Timestamp>,
    /// The spec, by the path of its file from that of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    /// The prompt, word for word.
    pub input: String,
    /// The parameters of the matrix.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub parameters: IndexMap<String, Json>,
    /// The chaos cell.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub chaos: String,
    /// The scenario's seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The variants of a scripted model's turns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<usize>,
    /// The faults that fired. They are in the answers already; this says why those are as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Firing>,
    /// The answers of HTTP mocks, in the order in which they were given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_responses: Vec<ToolResponse>,
    /// The answers of the model's provider, in the order in which they were given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model_responses: Vec<Recorded>,
    /// A remark about why the session failed. Nothing is done with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_failure: Option<String>,
}

/// The scenario that a session was recorded in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionSource {
    /// The id of the spec.
    pub spec_id: String,
    /// The id of the experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
    /// The id of the scenario.
    pub scenario: String,
    /// The status that it got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// The reason why a text is no session.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// It is no YAML, or not of the right form.
    #[error("the session cannot be read: {0}")]
    Unreadable(#[source] serde_yaml::Error),
    /// It is of another version.
    #[error("the session has version {0}, and only version {VERSION} is known")]
    Version(u32),
    /// An answer that cannot be sent.
    #[error("`tool_responses[{index}]` {reason}")]
    Answer {
        /// Its place, from 0.
        index: usize,
        /// The reason, as the end of a sentence.
        reason: &'static str,
    },
    /// It is too large.
    #[error("the session has {0} bytes; at most {MOST_BYTES} are read")]
    TooLarge(usize),
}

impl Session {
    /// Reads a session.
    ///
    /// # Errors
    ///
    /// It is no session, or one of another version.
    pub fn parse(text: &str) -> Result<Self, SessionError> {
        if text.len() > MOST_BYTES {
            return Err(SessionError::TooLarge(text.len()));
        }
        let session: Self = serde_yaml::from_str(text).map_err(SessionError::Unreadable)?;
        if session.version != VERSION {
            return Err(SessionError::Version(session.version));
        }
        for (index, answer) in session.tool_responses.iter().enumerate() {
            answer.check().map_err(|reason| SessionError::Answer { index, reason })?;
        }
        Ok(session)
    }

    /// The file.
    #[must_use]
    pub fn text(&self) -> String {
        serde_yaml::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Session;

    #[test]
    fn a_session_written_by_hand_needs_little() {
        let text = "version: 1\nid: outage\ninput: Refund order 7\n\
            tool_responses:\n  - { tool: shop, status: 0, latency_ms: 20 }\n  - { tool: shop, response: { ok: true } }\n";
        let session = Session::parse(text).expect("a session");
        let answers = &session.tool_responses;
        assert_eq!((answers[0].status, answers[0].latency_ms, answers[1].status), (0, 20, 200));
        assert_eq!(Session::parse(&session.text()).expect("the same"), session);
    }

    #[test]
    fn a_text_that_is_no_session_is_refused_with_the_place() {
        let check = |text: &str, expected: &str| {
            let error = Session::parse(text).expect_err("no session").to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("version: 1\nid: x\ninput: y\ntool_response: []\n", "unknown field `tool_response`");
        check("version: 2\nid: x\ninput: y\n", "version 2");
        check("version: 1\nid: x\n", "missing field `input`");
        check(
            "version: 1\nid: x\ninput: y\ntool_responses: [{tool: a}, {tool: a, status: 99}]\n",
            "`tool_responses[1]`",
        );
    }
}
