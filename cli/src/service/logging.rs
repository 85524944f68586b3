//! Log messages of a worker in a service.

use scenario::{count_noun, untrusted};
use worker::{Notice, Observer};

use crate::session::step;

/// Maximum length of a line of untrusted text.
const MOST_LINE: usize = 300;

/// Creates an observer that logs ends and problems; with `verbose`, every step.
pub(super) fn observer(verbose: bool) -> Observer {
    Observer::to(move |notice| match notice {
        Notice::Problem(problem) => tracing::warn!("{problem}"),
        Notice::Retrying { job, message, after } => {
            let (run, scenario) = (job.run, job.scenario);
            tracing::warn!("{run}/{scenario}: {message}; trying again after {after:?}");
        }
        Notice::GivenUp { job, message } => {
            let (run, scenario) = (job.run, job.scenario);
            tracing::warn!("{run}/{scenario}: given up: {message}");
        }
        Notice::Ended { job, result } => {
            let (run, scenario) = (job.run, job.scenario);
            tracing::info!("{run}/{scenario}: {}", result.status.word());
        }
        Notice::NotNeeded { run, scenarios } => {
            tracing::info!("{run}: {} not needed", count_noun(scenarios.len(), "replica"));
        }
        Notice::RunEnded { run } => tracing::info!("{run} has ended"),
        Notice::Claimed { job } if verbose => tracing::info!("{}/{}: started", job.run, job.scenario),
        Notice::Happened { job, event } if verbose => {
            tracing::info!("{}/{}: {}", job.run, job.scenario, untrusted::line(&step(&event), MOST_LINE));
        }
        Notice::Claimed { .. } | Notice::Happened { .. } => {}
        Notice::SandboxReady { sandbox } => tracing::info!("{sandbox} is ready"),
        Notice::SandboxEnded { sandbox, error: None } => tracing::info!("{sandbox} has ended"),
        Notice::SandboxEnded { sandbox, error: Some(error) } => tracing::warn!("{sandbox} has ended: {error}"),
    })
}
