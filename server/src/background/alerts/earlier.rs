//! The earlier run of the same spec that a run is compared with.

use jiff::{SignedDuration, Timestamp};
use scenario::alert::Window;
use store::{ComparableFilter, ComparableRun, Experiment, Run, StoreError};

use crate::app::App;

/// The number of runs that are looked back at when nothing is said.
const RUNS: u32 = 100;

/// The newest comparable run of the same spec and owner that ended before this one, in its window, and of which something was
/// judged. A run of a part of its plan is compared with nothing.
pub(super) async fn find(
    app: &App,
    experiment: &Experiment,
    run: &Run,
    window: Option<Window>,
) -> Result<Option<ComparableRun>, StoreError> {
    let Some(ended_at) = run.ended_at else { return Ok(None) };
    if !app.store.has_whole_plan(experiment, run.total).await? {
        return Ok(None);
    }
    let (most, since) = match window {
        None => (RUNS, None),
        Some(Window::Runs(runs)) => (runs, None),
        Some(Window::Time(time)) => (RUNS, Some(ago(ended_at, time))),
    };
    let filter = ComparableFilter {
        owner: Some(&experiment.owner),
        spec_id: &experiment.spec.spec_id,
        before: Some((ended_at, run.id)),
        since,
        most: u64::from(most),
    };
    let runs = app.store.comparable_runs(filter).await?;
    Ok(runs.into_iter().find(|earlier| earlier.run.pass_rate().is_some()))
}

fn ago(time: Timestamp, age: std::time::Duration) -> Timestamp {
    SignedDuration::try_from(age).ok().and_then(|age| time.checked_sub(age).ok()).unwrap_or(Timestamp::MIN)
}
