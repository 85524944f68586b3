//! What was found about one thing, and what to do about it.

use scenario::untrusted;
use serde_json::{Value as Json, json};

/// How well something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// Well.
    Ok,
    /// Something is not there that only some specs need.
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

/// What was found about one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    /// How well it is.
    pub(super) state: State,
    /// What it is.
    what: &'static str,
    /// What was found.
    found: String,
    /// What to do about it.
    pub(super) fix: Option<String>,
}

impl Finding {
    /// It is well.
    pub(super) fn ok(what: &'static str, found: impl Into<String>) -> Self {
        Self { state: State::Ok, what, found: found.into(), fix: None }
    }

    /// It is not there, and only some specs need it.
    pub(super) fn note(what: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { state: State::Note, ..Self::warn(what, found, fix) }
    }

    /// Something will not work.
    pub(super) fn warn(what: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { state: State::Warn, what, found: found.into(), fix: Some(fix.into()) }
    }

    /// Nothing will work.
    pub(super) fn fail(what: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { state: State::Fail, ..Self::warn(what, found, fix) }
    }

    /// It on one line.
    pub(super) fn line(&self) -> String {
        format!("{:<5} {:<18} {}", self.state.word(), self.what, untrusted::line(&self.found, 600))
    }

    /// It as JSON.
    pub(super) fn object(&self) -> Json {
        json!({ "state": self.state.word(), "what": self.what, "found": self.found, "fix": self.fix })
    }
}
