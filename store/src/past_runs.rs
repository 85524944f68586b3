//! The last runs of a spec, with their reports.

use scenario::flaky::PastRun;

use crate::Store;
use crate::error::StoreError;
use crate::history::ComparableFilter;
use crate::reading::report_without_output;

/// The comparable runs that a filter wants, each with its report, without what agents printed. Those whose spec this version
/// cannot read any more are left out.
pub async fn past_runs(store: &Store, filter: ComparableFilter<'_>) -> Result<Vec<PastRun>, StoreError> {
    let mut past = Vec::new();
    for found in store.comparable_runs(filter).await? {
        let run = store.run(found.run.id).await?;
        match report_without_output(store, &found.experiment, &run).await {
            Err(StoreError::Unreadable(_)) => {}
            report => past.push(PastRun {
                report: report?,
                digest: run.digest,
                version: found.experiment.spec.version,
                ended_at: found.ended_at,
            }),
        }
    }
    Ok(past)
}
