//! Summaries of runs: their numbers, as pages show them while a run goes on.

use std::cmp::Reverse;
use std::sync::Arc;

use scenario::report::ReportCaveat;
use scenario::score::ExperimentScore;
use store::{Experiment, Run, RunId, StoreError, spec_of};

use super::memo::{Made, Remembered};
use super::{Tag, report_of};
use crate::app::App;
use crate::error::ApiError;

/// The size of the cache of numbers in bytes.
const REMEMBERED: usize = 64 << 20;
/// About how many bytes the numbers of a scenario and its cell have.
const EACH: usize = 400;

/// The summary of a run.
#[derive(Debug)]
pub(crate) struct Standing {
    /// The numbers of the scenarios that have ended.
    pub(crate) score: ExperimentScore,
    /// The names of invariants, in the order of the spec; `None` when it cannot be read any more.
    pub(crate) invariants: Option<Vec<String>>,
    /// The invariant that most scenarios missed, and how many did.
    pub(crate) most_missed: Option<(String, u64)>,
    /// Caveats, a line each.
    pub(crate) caveats: Vec<String>,
}

/// A cache of summaries of runs.
#[derive(Debug)]
pub(crate) struct Standings(Remembered<RunId, Standing>);

impl Default for Standings {
    fn default() -> Self {
        Self(Remembered::new(REMEMBERED))
    }
}

impl Standings {
    /// The summary of a run.
    pub(crate) async fn of(
        &self,
        app: &App,
        experiment: &Experiment,
        run: &Run,
    ) -> Result<Arc<Made<Standing>>, ApiError> {
        self.0
            .of(run.id, Tag::of(Some(run)), async {
                let score = match &run.score {
                    Some(score) => score.clone(),
                    None => report_of(app, experiment, run, None).await?.score,
                };
                let bytes = (score.total + 1) * EACH;
                let invariants = invariants(app, run).await?;
                let most_missed = most_missed(app, run, invariants.as_deref().unwrap_or_default()).await?;
                let caveats = app.store.caveats(run.id).await?;
                let caveats = ReportCaveat::of(&caveats).iter().map(ReportCaveat::message).collect();
                Ok((Standing { score, invariants, most_missed, caveats }, bytes))
            })
            .await
    }
}

async fn invariants(app: &App, run: &Run) -> Result<Option<Vec<String>>, ApiError> {
    match spec_of(&app.store, run).await {
        Ok(spec) => Ok(Some(spec.invariants.iter().map(|(name, _)| name.to_string()).collect())),
        Err(StoreError::Unreadable(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The invariant that most scenarios missed; of several, the first one of the spec.
async fn most_missed(app: &App, run: &Run, invariants: &[String]) -> Result<Option<(String, u64)>, ApiError> {
    let counts = app.store.invariant_counts(&[run.id]).await?;
    let missed = counts.into_iter().filter(|one| one.outcome == "failed");
    let place = |name: &str| invariants.iter().position(|one| one == name);
    let most = missed.max_by_key(|one| (one.count, Reverse(place(&one.name))));
    Ok(most.map(|one| (one.name, one.count)))
}
