//! A finding about one subject, with its fix.

use scenario::untrusted;
use serde_json::{Value as Json, json};

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// Well.
    Ok,
    /// Something is missing that only some specs need.
    Note,
    /// Something will not work, or work less well.
    Warn,
    /// Nothing will work.
    Fail,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// A finding about one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    /// The severity.
    pub(super) state: State,
    /// The subject.
    what: &'static str,
    /// The observation.
    found: String,
    /// The recommended fix.
    pub(super) fix: Option<String>,
}

impl Finding {
    /// Creates a finding without a problem.
    pub(super) fn ok(what: &'static str, found: impl Into<String>) -> Self {
        Self { state: State::Ok, what, found: found.into(), fix: None }
    }

    /// Creates a finding about something that is missing, and that only some specs need.
    pub(super) fn note(what: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { state: State::Note, ..Self::warn(what, found, fix) }
    }

    /// Creates a finding about something that will not work.
    pub(super) fn warn(what: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { state: State::Warn, what, found: found.into(), fix: Some(fix.into()) }
    }

    /// Creates a finding after which nothing will work.
    pub(super) fn fail(what: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { state: State::Fail, ..Self::warn(what, found, fix) }
    }

    /// Formats it on one line.
    pub(super) fn line(&self) -> String {
        format!("{:<5} {:<18} {}", self.state.word(), self.what, untrusted::line(&self.found, 600))
    }

    /// Returns it as JSON.
    pub(super) fn object(&self) -> Json {
        json!({ "state": self.state.word(), "what": self.what, "found": self.found, "fix": self.fix })
    }
}
