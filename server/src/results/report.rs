//! The report of a run, finished or not.

use scenario::report::Report;
use scenario::result::RowStatus;
use scenario::score::{CellVerdict, ExperimentScore};
use store::{Experiment, ReportParts, Run, RunState, StoredScenario};

use super::Outputs;
use crate::app::App;
use crate::error::ApiError;

/// The limit of agents' output in one body in bytes. Scenarios beyond it have their verdicts only.
const MOST_OUTPUT: usize = 16 << 20;

/// The report of a run, of all scenarios that have ended; with what agents printed, if that is wanted.
pub(crate) async fn report_of(
    app: &App,
    experiment: &Experiment,
    run: &Run,
    outputs: Option<&Outputs>,
) -> Result<Report, ApiError> {
    app.telemetry.count_report();
    let mut parts = ReportParts::read(&app.store, experiment, run).await?;
    if let Some(outputs) = outputs {
        let mut room = MOST_OUTPUT;
        for stored in parts.scenarios.iter_mut().filter(|stored| stored.result.is_some()) {
            let printed = outputs.of(app, stored).await?;
            let StoredScenario { result: Some(result), scenario, .. } = stored else { continue };
            match room.checked_sub(printed.bytes()) {
                Some(left) => {
                    room = left;
                    printed.put_into(result);
                }
                None => result.notes.push(format!(
                    "what the agent printed is left out here, because all scenarios together printed too much: see /v1/experiments/{}/scenarios/{}",
                    experiment.id, scenario.id
                )),
            }
        }
    }
    Ok(parts.report())
}

/// Counts the scenarios of a cancelled run that were never run. Clients wait until all are counted, so these count as
/// errors on the wire.
pub(crate) fn unrun(run: &Run, report: &Report) -> usize {
    if run.state == RunState::Cancelled { report.not_run() } else { 0 }
}

/// True when a scenario failed in a cell that passed.
pub(crate) fn is_tolerated(stored: &StoredScenario, score: Option<&ExperimentScore>) -> bool {
    let failed = stored.result.as_ref().is_some_and(|result| result.status == RowStatus::Fail);
    let cell = score.and_then(|score| score.cells.iter().find(|cell| cell.id == stored.scenario.cell));
    failed && cell.is_some_and(|cell| cell.verdict == CellVerdict::Pass)
}
