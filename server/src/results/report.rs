//! The report of a run, finished or not.

use scenario::plan::Plan;
use scenario::report::Report;
use scenario::result::RowStatus;
use scenario::score::{ScoreOptions, Status};
use store::{Experiment, Run, RunState, StoredScenario, header, spec_of};

use super::Outputs;
use crate::app::App;
use crate::error::ApiError;

/// How many bytes of what agents printed are in one body. Of scenarios beyond, only the verdicts are.
const MOST_OUTPUT: usize = 16 << 20;

/// The report of a run, of all scenarios that have ended; with what agents printed, if that is wanted.
pub(crate) async fn report_of(
    app: &App,
    experiment: &Experiment,
    run: &Run,
    outputs: Option<&Outputs>,
) -> Result<Report, ApiError> {
    app.telemetry.count_report();
    let spec = spec_of(&app.store, run).await?;
    let stored = app.store.scenarios(run.id).await?;
    let scenarios = stored.iter().map(|one| one.scenario.clone()).collect();
    let plan = Plan { spec_id: experiment.spec.spec_id.clone(), seed: experiment.seed, scenarios };
    let options = ScoreOptions { min_pass_rate: experiment.settings.min_pass_rate };
    let mut results = Vec::new();
    let mut room = MOST_OUTPUT;
    for stored in stored {
        let output = match (&stored.result, outputs) {
            (Some(_), Some(outputs)) => Some(outputs.of(app, &stored).await?),
            _ => None,
        };
        let StoredScenario { result: Some(mut result), scenario, .. } = stored else { continue };
        if let Some(output) = output {
            match room.checked_sub(output.bytes()) {
                Some(left) => {
                    room = left;
                    result.agent_output.clone_from(&output.stdout);
                    result.agent_stderr.clone_from(&output.stderr);
                    result.notes.extend(output.missing.clone());
                }
                None => result.notes.push(format!(
                    "what the agent printed is left out here, because all scenarios together printed too much: see /v1/experiments/{}/scenarios/{}",
                    experiment.id, scenario.id
                )),
            }
        }
        results.push(result);
    }
    Ok(Report::new(header(experiment, run), &spec, &plan, results, options))
}

/// Where an experiment stands, in the word that clients see.
pub(crate) fn status(run: Option<&Run>) -> &'static str {
    match run.map(|run| run.state) {
        None => "created",
        Some(RunState::Open) => "running",
        Some(RunState::Finished) => "finished",
        Some(RunState::Cancelled) => "cancelled",
    }
}

/// How many scenarios of a run that was ended early were never run. Clients wait until all are counted, so these count as
/// errors on the wire.
pub(crate) fn unrun(run: &Run, report: &Report) -> usize {
    if run.state == RunState::Cancelled { report.not_run() } else { 0 }
}

/// Where a scenario stands, in the word that clients see. Whether it is flaky is known when its run has ended.
pub(crate) fn status_of(stored: &StoredScenario, run: &Run) -> &'static str {
    let beside = run.score.as_ref().and_then(|score| score.statuses.get(&stored.scenario.id));
    match (&stored.result, beside) {
        (Some(_), Some(status)) => status.word(),
        (Some(result), None) => match result.status {
            RowStatus::Pass => Status::Pass.word(),
            RowStatus::Fail => Status::Fail.word(),
            RowStatus::Error => Status::Error.word(),
        },
        (None, _) if run.state == RunState::Open => "pending",
        (None, _) => "not_run",
    }
}
