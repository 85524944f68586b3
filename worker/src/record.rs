//! What happens in a sandbox, as it is written down.

use std::time::Duration;

use engine::event::Event;
use serde_json::{Value as Json, json};

/// The word for an event, and more about it.
pub(crate) fn record(event: &Event) -> (&'static str, Json) {
    match event {
        Event::PhaseStarted(phase) => ("phase_started", json!({ "phase": phase.to_string() })),
        Event::PhaseEnded(phase, after) => {
            ("phase_ended", json!({ "phase": phase.to_string(), "ms": milliseconds(*after) }))
        }
        Event::Pulling { image, status } => ("pulling", json!({ "image": image, "status": status })),
        Event::Baking { packages } => ("baking", json!({ "packages": packages })),
        Event::SandboxCreated { name } => ("sandbox_created", json!({ "name": name })),
        Event::ServiceReady { service, after } => {
            ("service_ready", json!({ "service": service, "ms": milliseconds(*after) }))
        }
        Event::FixtureApplied { index } => ("fixture_applied", json!({ "index": index })),
        Event::AgentStarted => ("agent_started", json!({})),
        Event::AgentEnded { exit, after } => {
            ("agent_ended", json!({ "exit": exit.map(|exit| exit.to_string()), "ms": milliseconds(*after) }))
        }
        Event::LimitFired(fired) => {
            ("limit_fired", json!({ "limit": fired.limit.to_string(), "detail": fired.detail }))
        }
        Event::Probed { invariant } => ("probed", json!({ "invariant": invariant })),
        Event::Note(note) => ("note", json!({ "text": note })),
        Event::SandboxDestroyed { name } => ("sandbox_destroyed", json!({ "name": name })),
        Event::SandboxKept { name } => ("sandbox_kept", json!({ "name": name })),
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
