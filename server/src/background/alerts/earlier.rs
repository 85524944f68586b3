//! The earlier run of the same spec that a run is compared with.

use jiff::{SignedDuration, Timestamp};
use scenario::alert::Window;
use store::{Experiment, ExperimentId, Page, Run, RunKind, RunState, StoreError};

use crate::app::App;

/// How many runs back are looked at when nothing is said.
const RUNS: u32 = 100;

/// The newest run of the same spec and owner that ended before this one, in its window, and of which something was judged.
pub(super) async fn find(
    app: &App,
    experiment: &Experiment,
    run: &Run,
    window: Option<Window>,
) -> Result<Option<Run>, StoreError> {
    let Some(ended_at) = run.ended_at else { return Ok(None) };
    let (most, since) = match window {
        None => (RUNS, Timestamp::MIN),
        Some(Window::Runs(runs)) => (runs, Timestamp::MIN),
        Some(Window::Time(time)) => (RUNS, ago(ended_at, time)),
    };
    let mut runs = ended_runs(app, experiment, most).await?;
    runs.retain(|other| other.id != run.id && is_before(other, run) && other.ended_at.is_some_and(|end| end >= since));
    runs.sort_by_key(|run| std::cmp::Reverse((run.ended_at, run.id)));
    Ok(runs.into_iter().take(usize::try_from(most).unwrap_or(usize::MAX)).find(was_judged))
}

/// Runs of the newest experiments of a spec that ended by themselves.
async fn ended_runs(app: &App, experiment: &Experiment, most: u32) -> Result<Vec<Run>, StoreError> {
    let page = Page { after: None, most: u64::from(most) + 1 };
    let (owner, spec_id) = (experiment.owner.as_str(), experiment.spec.spec_id.as_str());
    let experiments = app.store.experiments_page(Some(owner), Some(spec_id), page).await?.items;
    let others: Vec<ExperimentId> = experiments.iter().map(|one| one.id).filter(|id| *id != experiment.id).collect();
    let mut runs = app.store.runs(experiment.id).await?;
    for newest in app.store.newest_runs(&others).await? {
        match acted(&newest) {
            true => runs.push(newest),
            // Judged again, or being run again: what agents did is in an older one.
            false => runs.extend(app.store.runs(newest.id.experiment).await?),
        }
    }
    runs.retain(acted);
    Ok(runs)
}

fn acted(run: &Run) -> bool {
    run.kind == RunKind::Acted && run.state == RunState::Finished
}

fn is_before(other: &Run, run: &Run) -> bool {
    (other.ended_at, other.id) < (run.ended_at, run.id)
}

fn was_judged(run: &Run) -> bool {
    run.score.as_ref().is_some_and(|score| score.passed + score.failed + score.flaky > 0)
}

fn ago(time: Timestamp, age: std::time::Duration) -> Timestamp {
    SignedDuration::try_from(age).ok().and_then(|age| time.checked_sub(age).ok()).unwrap_or(Timestamp::MIN)
}
