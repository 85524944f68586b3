//! The run without faults that a scenario is compared with.

use scenario::evidence::{BaselineRun, Evidence};
use tokio_util::sync::CancellationToken;

use super::run_once;
use crate::attempt::{Attempt, Keep};
use crate::backend::Backend;
use crate::error::EngineError;
use crate::event::Events;

/// Runs the agent in a sandbox of its own in which nothing breaks, when an invariant compares with that; what it printed. It is
/// hidden by the same markers as the scenario's own output.
///
/// It is over before the sandbox of the scenario is made, so that both can have the same name.
pub(super) async fn run(
    backend: &dyn Backend,
    attempt: &Attempt<'_>,
    marker_key: &str,
    cancel: &CancellationToken,
) -> Result<Option<BaselineRun>, EngineError> {
    let Some(scenario) = attempt.scenario.baseline(attempt.spec) else { return Ok(None) };
    let clean = Attempt {
        scenario: &scenario,
        identity: attempt.identity.clone(),
        permissions: attempt.permissions.clone(),
        keep: Keep::Never,
        sandbox_id: None,
        prompt: None,
        ..*attempt
    };
    // Whoever follows the scenario is told of its own run alone.
    let evidence = run_once(backend, &clean, marker_key, &Events::nowhere(), cancel).await?;
    let Evidence { agent, usage, .. } = evidence;
    Ok(Some(BaselineRun { stdout: agent.stdout, wall_ms: agent.wall_ms, usage }))
}
