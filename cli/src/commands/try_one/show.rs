//! Reports the steps of a try to the user while it runs.

use std::time::Duration;

use engine::event::{Event, Phase};
use scenario::result::ScenarioResult;
use scenario::untrusted;
use worker::Notice;

use crate::held_calls;
use crate::output::Output;
use crate::session::Teller;
use crate::verdict_lines::MOST_LINE;

/// Reports each step, and remembers the result.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// The result of the scenario, once it has one.
    pub(super) result: Option<ScenarioResult>,
}

impl Teller for Steps {
    fn tell(&mut self, notice: &Notice, output: &mut Output) {
        match notice {
            Notice::Happened { event, .. } => tell(event, output),
            Notice::Retrying { job, message, after } => output.note(format!(
                "attempt {} failed, again in {:.0} s: {}",
                job.attempt,
                after.as_secs_f64(),
                untrusted::line(message, MOST_LINE)
            )),
            Notice::Ended { result, .. } => self.result = Some((**result).clone()),
            Notice::Problem(message) => output.note(format!("problem: {}", untrusted::line(message, MOST_LINE))),
            Notice::Claimed { .. }
            | Notice::GivenUp { .. }
            | Notice::NotNeeded { .. }
            | Notice::RunEnded { .. }
            | Notice::SandboxReady { .. }
            | Notice::SandboxEnded { .. } => {}
        }
    }
}

/// Reports a step that users want to know of.
fn tell(event: &Event, output: &mut Output) {
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
        Event::CallHeld { .. } | Event::CallDecided { .. } => {
            held_calls::words(event).into_iter().for_each(|words| output.note(words));
        }
        Event::Note(note) => output.note(untrusted::line(note, MOST_LINE)),
        Event::PhaseStarted(_)
        | Event::PhaseEnded(Phase::Act, _)
        | Event::SandboxCreated { .. }
        | Event::FixtureApplied { .. }
        | Event::AgentStarted
        | Event::Probed { .. }
        | Event::SandboxDestroyed { .. }
        // Those of a worker; here is none.
        | Event::Claimed { .. }
        | Event::Judged { .. }
        | Event::Retrying { .. }
        | Event::Released { .. }
        | Event::GivenUp { .. }
        | Event::Lost { .. }
        | Event::Unknown { .. } => {}
    }
}
