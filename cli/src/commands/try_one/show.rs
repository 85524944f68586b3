//! What a person sees of a try while it runs.

use std::time::Duration;

use engine::event::{Event, Phase};
use scenario::untrusted;

use crate::output::Output;
use crate::verdict_lines::MOST_LINE;

/// What a person wants to know while it runs.
pub(super) fn tell(event: &Event, output: &mut Output) {
    let seconds = |duration: &Duration| format!("{:.2} s", duration.as_secs_f64());
    match event {
        Event::PhaseEnded(phase @ (Phase::Prepare | Phase::Probe | Phase::Destroy), after) => {
            output.note(format!("{phase}: {}", seconds(after)));
        }
        Event::Pulling { image, status } => output.note(format!("pulling {image}: {}", untrusted::line(status, 200))),
        Event::Baking { packages } => output.note(format!("installing {}", packages.join(" "))),
        Event::ServiceReady { service, after } => {
            output.note(format!("service {service} ready after {}", seconds(after)))
        }
        Event::AgentEnded { exit, after } => {
            let exit = exit.map_or_else(|| "stopped".to_owned(), |exit| exit.to_string());
            output.note(format!("act: {} ({exit})", seconds(after)));
        }
        Event::LimitFired(fired) => output.note(format!("limit {}: {}", fired.limit, fired.detail)),
        Event::SandboxKept { name } => output.note(format!("the sandbox {name} was kept")),
        Event::Note(note) => output.note(untrusted::line(note, MOST_LINE)),
        Event::PhaseStarted(_)
        | Event::PhaseEnded(Phase::Act, _)
        | Event::SandboxCreated { .. }
        | Event::FixtureApplied { .. }
        | Event::AgentStarted
        | Event::Probed { .. }
        | Event::SandboxDestroyed { .. } => {}
    }
}
