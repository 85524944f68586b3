//! What people see while agents try specs: what runs, and what did not come to what it must.

use std::collections::HashMap;

use scenario::plan::AgentOverride;
use scenario::result::{RowStatus, ScenarioResult};
use scenario::untrusted;
use store::ExperimentId;
use worker::{About, Notice};

use crate::live_view::LiveView;
use crate::output::Output;
use crate::session::Teller;

/// How long a line of foreign text may be.
const MOST_LINE: usize = 300;

/// The spec of a run, and the agent that is to pass or fail; `None` for runs of which nothing is expected.
type Named = (String, Option<AgentOverride>);

/// Tells of progress.
pub(super) struct CertifyProgress {
    live: Option<LiveView>,
    names: HashMap<ExperimentId, Named>,
}

impl CertifyProgress {
    /// Begins to tell of runs.
    pub(super) fn begin(names: HashMap<ExperimentId, Named>, total: u64, output: &Output) -> Self {
        Self { live: output.live_view(total, 0), names }
    }

    fn name(&self, job: &About) -> String {
        match self.names.get(&job.run.experiment) {
            Some((spec, Some(agent))) => format!("{spec}/{} by {agent}", job.scenario),
            Some((spec, None)) => format!("{spec}/{}", job.scenario),
            None => job.scenario.clone(),
        }
    }

    /// A line about a scenario that did not come to what it must; `None` when it did.
    fn surprise(&self, job: &About, result: &ScenarioResult) -> Option<String> {
        let agent = self.names.get(&job.run.experiment)?.1.as_ref()?;
        let name = self.name(job);
        match (agent, result.status) {
            (_, RowStatus::Error) => {
                let why = result.error.as_ref().map(ToString::to_string).unwrap_or_default();
                Some(format!("error {name}: {}", untrusted::line(&why, MOST_LINE)))
            }
            (AgentOverride::Oracle, RowStatus::Fail) => Some(format!("{name} failed, and must pass")),
            (AgentOverride::Noop | AgentOverride::Cheat(_), RowStatus::Pass) => {
                Some(format!("{name} passed, and must fail"))
            }
            _ => None,
        }
    }
}

impl Teller for CertifyProgress {
    fn tell(&mut self, notice: &Notice, output: &mut Output) {
        match notice {
            Notice::Claimed { job } => {
                let name = self.name(job);
                self.live.iter_mut().for_each(|live| live.doing(&name, "runs"));
            }
            Notice::Ended { job, result } => {
                let name = self.name(job);
                self.live.iter_mut().for_each(|live| live.ended(&name, Some(result.status)));
                if let Some(line) = self.surprise(job, result) {
                    output.note(line);
                }
            }
            Notice::Retrying { job, message, .. } => {
                let name = self.name(job);
                self.live.iter_mut().for_each(|live| live.forget(&name));
                output.note(format!("retry {name}: {}", untrusted::line(message, MOST_LINE)));
            }
            Notice::GivenUp { job, .. } => {
                let name = self.name(job);
                self.live.iter_mut().for_each(|live| live.gone(&name));
            }
            Notice::Problem(message) => output.note(format!("problem: {}", untrusted::line(message, MOST_LINE))),
            Notice::Happened { .. }
            | Notice::NotNeeded { .. }
            | Notice::RunEnded { .. }
            | Notice::SandboxReady { .. }
            | Notice::SandboxEnded { .. } => {}
        }
    }

    fn end(&mut self) {
        self.live.iter_mut().for_each(LiveView::end);
    }
}
