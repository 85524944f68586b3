//! Findings: what following a session brings to light beside decisions.

use serde::Serialize;
use serde_json::json;

use crate::canonical::short_hash;
use crate::code::Code;
use crate::decide::Reason;

/// One finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The kind of finding.
    pub code: Code,
    /// The tool that it is about; empty when it is about none.
    pub tool: String,
    /// The rule, by its place in the contracts.
    pub rule: String,
    /// The path that the rule reads.
    pub path: String,
    /// The call that it is about; empty when it is about none.
    pub call: String,
    /// The finding as a sentence.
    pub message: String,
}

impl Finding {
    /// A finding about a call.
    #[must_use]
    pub fn of_call(code: Code, tool: &str, call: &str, message: impl Into<String>) -> Self {
        let (tool, call) = (tool.to_owned(), call.to_owned());
        Self { code, tool, rule: String::new(), path: String::new(), call, message: message.into() }
    }

    /// A finding about the session as a whole.
    #[must_use]
    pub fn of_session(code: Code, rule: &str, message: impl Into<String>) -> Self {
        Self { rule: rule.to_owned(), ..Self::of_call(code, "", "", message) }
    }

    /// The finding that a reason of a decision is.
    #[must_use]
    pub fn of_reason(reason: &Reason, tool: &str, call: &str) -> Self {
        let path = reason.path.clone().unwrap_or_default();
        Self { rule: reason.rule.clone(), path, ..Self::of_call(reason.code, tool, call, reason.explain()) }
    }

    /// A short hash that is the same in every run, by which repeated findings are recognised.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        short_hash(&json!({"tool": self.tool, "code": self.code, "rule": self.rule, "path": self.path}))
    }
}
