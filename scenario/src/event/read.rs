//! Events on their way back from databases and streams.

use std::time::Duration;

use serde::Deserialize as _;
use serde_json::Value as Json;

use super::{Event, Phase, VERSION};
use crate::evidence::{Exit, Fired};
use crate::result::RowStatus;

impl Event {
    /// The event that was written down. Nothing is lost: one of which this version would forget a part is
    /// [`Event::Unknown`], and is written as it was.
    #[must_use]
    pub fn read(kind: impl Into<String>, body: Json) -> Self {
        let kind = kind.into();
        match Self::understand(&kind, &body) {
            Some(event) if event.body() == body => event,
            _ => Self::Unknown { kind, body },
        }
    }

    /// The event that was written down, as far as this version knows its kind; fields that it does not know are passed over.
    #[must_use]
    pub fn understand(kind: &str, body: &Json) -> Option<Self> {
        if version(body) != VERSION {
            return None;
        }
        Some(match kind {
            "claimed" => Self::Claimed { worker: text(body, "worker")? },
            "phase_started" => Self::PhaseStarted(phase(body)?),
            "phase_ended" => Self::PhaseEnded(phase(body)?, after(body)?),
            "pulling" => Self::Pulling { image: text(body, "image")?, status: text(body, "status")? },
            "baking" => Self::Baking { packages: Vec::deserialize(&body["packages"]).ok()? },
            "sandbox_created" => Self::SandboxCreated { name: text(body, "name")? },
            "service_ready" => Self::ServiceReady { service: text(body, "service")?, after: after(body)? },
            "fixture_applied" => Self::FixtureApplied { index: usize::deserialize(&body["index"]).ok()? },
            "agent_started" => Self::AgentStarted,
            "agent_ended" => Self::AgentEnded { exit: exit(body)?, after: after(body)? },
            "limit_fired" => Self::LimitFired(Fired::deserialize(body).ok()?),
            "probed" => Self::Probed { invariant: text(body, "invariant")? },
            "call_held" => Self::CallHeld {
                approval: text(body, "approval")?,
                tool: text(body, "tool")?,
                deadline: body["deadline"].as_str()?.parse().ok()?,
            },
            "call_decided" => Self::CallDecided {
                approval: text(body, "approval")?,
                tool: text(body, "tool")?,
                answer: text(body, "answer")?,
                by: text(body, "by")?,
            },
            "note" => Self::Note(text(body, "text")?),
            "sandbox_kept" => Self::SandboxKept { name: text(body, "name")? },
            "sandbox_destroyed" => Self::SandboxDestroyed { name: text(body, "name")? },
            "judged" => Self::Judged {
                status: RowStatus::deserialize(&body["status"]).ok()?,
                composite: body["composite"].as_f64()?,
                wall_ms: Option::deserialize(&body["wall_ms"]).ok()?,
                error: Option::deserialize(&body["error_kind"]).unwrap_or_default(),
            },
            "retrying" => Self::Retrying { why: text(body, "why")?, after: after(body)? },
            "released" => Self::Released { why: text(body, "why")? },
            "given_up" => Self::GivenUp { why: text(body, "why")? },
            "lost" => Self::Lost { worker: text(body, "worker")? },
            _ => return None,
        })
    }
}

/// The version of a body; those that do not say are of the first. What is no number is of none that we know.
fn version(body: &Json) -> u64 {
    body.get("v").map_or(VERSION, |version| version.as_u64().unwrap_or(u64::MAX))
}

fn text(body: &Json, name: &str) -> Option<String> {
    body[name].as_str().map(ToOwned::to_owned)
}

fn phase(body: &Json) -> Option<Phase> {
    Phase::named(body["phase"].as_str()?)
}

fn after(body: &Json) -> Option<Duration> {
    body["ms"].as_u64().map(Duration::from_millis)
}

/// Reads the exit of an agent, which is written in words; `Some(None)` when it was stopped.
fn exit(body: &Json) -> Option<Option<Exit>> {
    let words = match &body["exit"] {
        Json::Null => return Some(None),
        words => words.as_str()?,
    };
    let code = words.strip_prefix("exit code ").map(|code| code.parse().map(Exit::Code));
    let signal = || words.strip_prefix("signal ").map(|signal| signal.parse().map(Exit::Signal));
    code.or_else(signal)?.ok().map(Some)
}
