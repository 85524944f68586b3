//! Interventions of people in a session under tool contracts while it goes on.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// An intervention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intervention {
    /// The session; `None` for the one that the agent began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The change.
    #[serde(flatten)]
    pub change: SessionChange,
    /// The name of who intervenes.
    pub by: String,
}

/// A change of a session from outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SessionChange {
    /// It is killed, perhaps with others.
    Kill {
        /// The sessions that are killed.
        scope: KillReach,
        /// The reason.
        reason: String,
    },
    /// Only some tools may be used, or all again.
    Filter {
        /// The tools; `None` for all.
        tools: Option<BTreeSet<String>>,
    },
}

/// The sessions that a kill reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KillReach {
    /// The session alone.
    #[default]
    Session,
    /// The session and those that it handed work to, where the workflow has that.
    Subtree,
    /// All sessions of the workflow.
    Workflow,
}

impl KillReach {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Session, Self::Subtree, Self::Workflow];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Subtree => "subtree",
            Self::Workflow => "workflow",
        }
    }
}

impl Intervention {
    /// The cause of a kill, as records have it.
    #[must_use]
    pub fn cause(&self) -> Option<String> {
        let SessionChange::Kill { reason, .. } = &self.change else { return None };
        let by = crate::untrusted::line(&self.by, 100);
        let reason = crate::untrusted::line(reason, 500);
        Some(if reason.is_empty() {
            format!("by an operator ({by})")
        } else {
            format!("by an operator ({by}): {reason}")
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Intervention, KillReach, SessionChange};

    #[test]
    fn an_intervention_is_kept_and_read_again() {
        let change = SessionChange::Kill { scope: KillReach::Subtree, reason: "it loops".to_owned() };
        let kill = Intervention { session: Some("s.1".to_owned()), change, by: "ada".to_owned() };
        let kept = json!(kill);
        assert_eq!(
            kept,
            json!({"session": "s.1", "kind": "kill", "scope": "subtree", "reason": "it loops", "by": "ada"})
        );
        assert_eq!(serde_json::from_value::<Intervention>(kept).expect("read"), kill);
        assert_eq!(kill.cause().as_deref(), Some("by an operator (ada): it loops"));
    }
}
