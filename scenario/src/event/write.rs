//! Events on their way to databases and streams.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::Event;

impl Event {
    /// The word for its kind.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Claimed { .. } => "claimed",
            Self::PhaseStarted(_) => "phase_started",
            Self::PhaseEnded(..) => "phase_ended",
            Self::Pulling { .. } => "pulling",
            Self::Baking { .. } => "baking",
            Self::SandboxCreated { .. } => "sandbox_created",
            Self::ServiceReady { .. } => "service_ready",
            Self::FixtureApplied { .. } => "fixture_applied",
            Self::AgentStarted => "agent_started",
            Self::AgentEnded { .. } => "agent_ended",
            Self::LimitFired(_) => "limit_fired",
            Self::Probed { .. } => "probed",
            Self::CallHeld { .. } => "call_held",
            Self::CallDecided { .. } => "call_decided",
            Self::Note(_) => "note",
            Self::SandboxKept { .. } => "sandbox_kept",
            Self::SandboxDestroyed { .. } => "sandbox_destroyed",
            Self::Judged { .. } => "judged",
            Self::Retrying { .. } => "retrying",
            Self::Released { .. } => "released",
            Self::GivenUp { .. } => "given_up",
            Self::Lost { .. } => "lost",
            Self::Unknown { kind, .. } => kind,
        }
    }

    /// Returns its details as JSON. The order of the fields is that of the stored rows.
    #[must_use]
    pub fn body(&self) -> Json {
        match self {
            Self::Claimed { worker } | Self::Lost { worker } => json!({ "worker": worker }),
            Self::PhaseStarted(phase) => json!({ "phase": phase.word() }),
            Self::PhaseEnded(phase, after) => json!({ "phase": phase.word(), "ms": milliseconds(*after) }),
            Self::Pulling { image, status } => json!({ "image": image, "status": status }),
            Self::Baking { packages } => json!({ "packages": packages }),
            Self::SandboxCreated { name } | Self::SandboxKept { name } | Self::SandboxDestroyed { name } => {
                json!({ "name": name })
            }
            Self::ServiceReady { service, after } => json!({ "service": service, "ms": milliseconds(*after) }),
            Self::FixtureApplied { index } => json!({ "index": index }),
            Self::AgentStarted => json!({}),
            Self::AgentEnded { exit, after } => {
                json!({ "exit": exit.map(|exit| exit.to_string()), "ms": milliseconds(*after) })
            }
            Self::LimitFired(fired) => json!({ "limit": fired.limit.to_string(), "detail": fired.detail }),
            Self::Probed { invariant } => json!({ "invariant": invariant }),
            Self::CallHeld { approval, tool, deadline } => {
                json!({ "approval": approval, "tool": tool, "deadline": deadline.to_string() })
            }
            Self::CallDecided { approval, tool, answer, by } => {
                json!({ "approval": approval, "tool": tool, "answer": answer, "by": by })
            }
            Self::Note(text) => json!({ "text": text }),
            Self::Judged { status, composite, wall_ms, error } => {
                let mut body = json!({ "status": status, "composite": composite });
                if let Some(wall_ms) = wall_ms {
                    body["wall_ms"] = json!(wall_ms);
                }
                if let Some(error) = error {
                    body["error_kind"] = json!(error);
                }
                body
            }
            Self::Retrying { why, after } => json!({ "why": why, "ms": milliseconds(*after) }),
            Self::Released { why } | Self::GivenUp { why } => json!({ "why": why }),
            Self::Unknown { body, .. } => body.clone(),
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
