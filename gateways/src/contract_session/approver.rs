//! Approvers: a person, a script, or nobody.

use std::sync::Arc;
use std::time::Duration;

use tool_contracts::{Resolution, Script, ScriptedDecision};

use crate::approvals::{ApprovalAnswer, ApprovalRequest, Approvals, ApprovalsUnavailable, PendingApproval};

/// The one who decides on held calls.
#[derive(Debug, Clone)]
pub enum SessionApprover {
    /// People, at the place where they see held calls; `None` where there is no such place.
    Human(Option<Arc<dyn Approvals>>),
    /// A script.
    Scripted {
        /// Its rules.
        script: Script,
        /// True when waiting takes no time.
        is_virtual: bool,
    },
}

/// A decision on a held call, and who made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decided {
    pub(super) resolution: Resolution,
    pub(super) by: String,
    pub(super) note: String,
}

/// A call that was made known to the approver.
#[derive(Debug, Clone)]
pub(super) enum Asked {
    /// People see the call.
    Human(Arc<dyn Approvals>, PendingApproval),
    /// A script has decided, and says so after this time.
    Scripted(ScriptedDecision, Duration),
    /// Approvals are unavailable: there is nobody to ask.
    Nobody,
}

impl SessionApprover {
    /// Makes a call known.
    pub(super) async fn ask(
        &self,
        request: &ApprovalRequest,
        arguments: &serde_json::Value,
    ) -> Result<Asked, ApprovalsUnavailable> {
        match self {
            Self::Human(None) => Ok(Asked::Nobody),
            Self::Human(Some(place)) => {
                let pending = place.ask(request).await?;
                Ok(Asked::Human(Arc::clone(place), pending))
            }
            Self::Scripted { script, is_virtual } => {
                let decision = script.decide(&request.tool, arguments, request.timeout.as_secs());
                let wait = if *is_virtual { 0 } else { decision.after_seconds };
                Ok(Asked::Scripted(decision, Duration::from_secs(wait)))
            }
        }
    }
}

impl Asked {
    /// The id by which people decide.
    pub(super) fn id(&self) -> Option<&str> {
        match self {
            Self::Human(_, pending) => Some(&pending.id),
            Self::Scripted(..) | Self::Nobody => None,
        }
    }

    /// Waits for the decision.
    pub(super) async fn wait(&self) -> Result<Decided, ApprovalsUnavailable> {
        match self {
            Self::Human(place, pending) => {
                let answer = place.wait(pending).await?;
                Ok(match answer {
                    ApprovalAnswer::Approved { by, note } => Decided { resolution: Resolution::Approved, by, note },
                    ApprovalAnswer::Denied { by, note } => Decided { resolution: Resolution::Denied, by, note },
                    ApprovalAnswer::DeadlinePassed => Decided::nobody("the deadline passed"),
                })
            }
            Self::Scripted(decision, wait) => {
                tokio::time::sleep(*wait).await;
                let note = format!("after {} s", decision.after_seconds);
                let by = if decision.resolution == Resolution::DeadlinePassed { "" } else { "script" };
                Ok(Decided { resolution: decision.resolution, by: by.to_owned(), note })
            }
            Self::Nobody => Ok(Decided::nobody("there is nobody here who could approve")),
        }
    }

    /// Takes the call back.
    pub(super) async fn withdraw(&self) {
        if let Self::Human(place, pending) = self {
            place.withdraw(pending).await;
        }
    }
}

impl Decided {
    fn nobody(note: &str) -> Self {
        Self { resolution: Resolution::DeadlinePassed, by: String::new(), note: note.to_owned() }
    }
}
