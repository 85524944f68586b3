//! Runs that ran all of their plan. Trends are made of these: a run of scenarios that were chosen because they had failed says
//! nothing about how often its spec passes.

use std::collections::HashMap;

use store::{Experiment, HistoryFilter, Page, Past, PastStatus, Settings, read_spec};

use crate::app::App;
use crate::error::ApiError;
use crate::submission::plan;

/// How many parts of the history are read to find enough of them.
const PARTS: usize = 4;
/// How many plans are made to know what all of one is. What is beyond is taken for chosen.
const PLANS: usize = 16;

/// Experiments that have ended and whose newest run had all scenarios of its plan, newest first.
pub(super) async fn whole_runs(app: &App, filter: HistoryFilter<'_>, most: u64) -> Result<Vec<Past>, ApiError> {
    let filter = HistoryFilter { status: Some(PastStatus::Ended), ..filter };
    let wanted = usize::try_from(most).unwrap_or(usize::MAX);
    let (mut found, mut plans, mut after) = (Vec::new(), Plans::default(), None);
    for _ in 0..PARTS {
        let listed = app.store.history(filter, Page { after: after.as_deref(), most }).await?;
        for past in listed.items {
            if found.len() < wanted && plans.is_whole(app, &past).await? {
                found.push(past);
            }
        }
        after = listed.next;
        if after.is_none() || found.len() >= wanted {
            break;
        }
    }
    Ok(found)
}

/// How many scenarios plans have, by what they are made from; `None` for one that cannot be made any more.
#[derive(Debug, Default)]
struct Plans(HashMap<String, Option<u64>>);

impl Plans {
    /// Whether a run had all scenarios of its plan. Only where some may have been chosen is the plan made again.
    async fn is_whole(&mut self, app: &App, past: &Past) -> Result<bool, ApiError> {
        let Some(run) = &past.run else { return Ok(false) };
        let Settings { filter, rerun_of, .. } = &past.experiment.settings;
        if filter.is_empty() && rerun_of.is_none() {
            return Ok(true);
        }
        Ok(self.total(app, &past.experiment).await?.is_some_and(|total| run.total >= total))
    }

    async fn total(&mut self, app: &App, experiment: &Experiment) -> Result<Option<u64>, ApiError> {
        let Settings { parameters, replicas, .. } = &experiment.settings;
        let key = format!("{} {replicas:?} {parameters:?}", experiment.spec.digest);
        if let Some(known) = self.0.get(&key) {
            return Ok(*known);
        }
        if self.0.len() >= PLANS {
            return Ok(None);
        }
        let total = made(app, experiment).await?;
        self.0.insert(key, total);
        Ok(total)
    }
}

/// How many scenarios the whole plan of an experiment has.
async fn made(app: &App, experiment: &Experiment) -> Result<Option<u64>, ApiError> {
    let Ok(spec) = read_spec(&app.store.spec(&experiment.spec.digest).await?) else { return Ok(None) };
    let settings = Settings { filter: Vec::new(), ..experiment.settings.clone() };
    let plan = plan(&spec, &settings, Some(experiment.seed.get())).ok();
    Ok(plan.map(|plan| plan.scenarios.len() as u64))
}
