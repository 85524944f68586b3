//! The commands that Touchstone started in a sandbox, for the audit.

use std::sync::{Mutex, PoisonError};

use gateways::redact::Redactor;
use scenario::evidence::{AuditEvent, Audited, Exit};

/// The commands that were started: those of `setup`, and the agent's own. What these start in turn is not seen.
#[derive(Debug, Default)]
pub(crate) struct CommandLog {
    events: Mutex<Vec<Audited>>,
}

impl CommandLog {
    /// Writes a command down, and how it ended, when it did.
    pub(crate) fn note(&self, words: &[String], exit: Option<Exit>, redactor: &Redactor) {
        let event =
            AuditEvent::Command { command: redactor.text(&words.join(" ")), exit_code: exit.map(Exit::shell_code) };
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event.into());
    }

    /// Returns the events that were logged.
    pub(crate) fn events(&self) -> Vec<Audited> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
