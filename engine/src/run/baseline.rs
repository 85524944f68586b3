//! The run without faults that a scenario is compared with.

use scenario::evidence::{BaselineRun, Evidence, Invocation};
use scenario::plan::{CleanRun, Scenario};
use tokio_util::sync::CancellationToken;

use super::run_once;
use crate::attempt::{Attempt, Keep};
use crate::backend::Backend;
use crate::baselines::{Found, Made};
use crate::entropy;
use crate::error::EngineError;
use crate::event::Events;

/// The agent's output in a sandbox of its own in which nothing breaks, when an invariant compares with that. The first scenario
/// that needs it makes the run, and others share it. It is hidden by the markers of whoever asks.
///
/// The run is over before the sandbox of the scenario is made, so that both can have the same name.
pub(super) async fn run(
    backend: &dyn Backend,
    attempt: &Attempt<'_>,
    marker_key: &str,
    cancel: &CancellationToken,
) -> Result<Option<BaselineRun>, EngineError> {
    let Some(CleanRun { scenario, key }) = attempt.scenario.clean_run(attempt.spec, attempt.baselines.seed) else {
        return Ok(None);
    };
    let found = attempt.baselines.get(key, make(backend, attempt, &scenario, cancel), cancel).await?;
    Ok(Some(match found {
        Found::Own(Made { run, marker_key: from }) => {
            BaselineRun { usage: run.usage.clone(), ..run.shared(&from, marker_key) }
        }
        Found::Shared(Made { run, marker_key: from }) => run.shared(&from, marker_key),
    }))
}

/// The invocations that are to be made in the scenario's sandbox, each with the run that it is compared with.
pub(super) async fn of_invocations(
    backend: &dyn Backend,
    attempt: &Attempt<'_>,
    marker_key: &str,
    cancel: &CancellationToken,
) -> Result<Vec<Invocation>, EngineError> {
    let mut invocations = Vec::new();
    for scenario in &attempt.scenario.invocations(attempt.spec) {
        let (identity, permissions) = (attempt.identity.clone(), attempt.permissions.clone());
        let of_one = Attempt { scenario, identity, permissions, ..*attempt };
        let baseline = run(backend, &of_one, marker_key, cancel).await?;
        let (rule, prompt) = (scenario.rule().map(ToOwned::to_owned), scenario.prompt);
        invocations.push(Invocation { rule, prompt, baseline, ..Invocation::default() });
    }
    Ok(invocations)
}

async fn make(
    backend: &dyn Backend,
    attempt: &Attempt<'_>,
    scenario: &Scenario,
    cancel: &CancellationToken,
) -> Result<Made, EngineError> {
    let clean = Attempt {
        scenario,
        identity: attempt.identity.clone(),
        permissions: attempt.permissions.clone(),
        keep: Keep::Never,
        sandbox_id: None,
        prompt: None,
        ..*attempt
    };
    let marker_key = entropy::hex(8);
    let known = Evidence { marker_key: Some(marker_key.clone()), ..Evidence::default() };
    // Whoever follows the scenario is told of its own run alone.
    let Evidence { agent, usage, .. } = run_once(backend, &clean, known, &Events::nowhere(), cancel).await?;
    Ok(Made { run: BaselineRun { stdout: agent.stdout, wall_ms: agent.wall_ms, usage }, marker_key })
}
