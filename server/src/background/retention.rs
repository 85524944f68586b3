//! Removes what is old: experiments by age and size as the operator says, and what nobody needs after some time.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use store::{Garbage, Prune, StoreError};

use super::repeat::Next;
use crate::app::App;

/// The interval between runs of retention.
const OFTEN: Duration = Duration::from_secs(60 * 60);
/// Retention of replies, messages, and sandboxes and workers that are gone.
const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The most traces outside of runs that stay, per owner and per sandbox.
const TRACES: (u64, u64) = (1_000_000, 10_000);

/// Looks once.
pub(super) async fn turn(app: App) -> Result<Next, StoreError> {
    let now = app.clock.now();
    if app.config.keep_for.is_some() || app.config.keep_bytes.is_some() {
        let before = app.config.keep_for.map_or(Timestamp::MIN, |age| ago(now, age));
        let garbage = Garbage { before, keep: 0, most_bytes: app.config.keep_bytes };
        let old = app.store.garbage(garbage).await?;
        if !old.is_empty() {
            let removed = unless_foreign(app.store.collect(&old).await)?;
            tracing::info!("removed {} old experiments and {} specs", removed.experiments, removed.specs);
        }
    }
    let (traces_of_owner, traces_of_sandbox) = TRACES;
    let traces_before = app.config.keep_for.map_or(Timestamp::MIN, |age| ago(now, age));
    let prune = Prune { before: ago(now, REMEMBERED), traces_before, traces_of_owner, traces_of_sandbox };
    let pruned = app.store.prune(prune).await?;
    let bundles = unless_foreign(app.store.prune_bundles(prune.before).await)?;
    tracing::debug!("removed what nobody needs any more: {pruned:?} and {bundles} bundles");
    Ok(Next::After(OFTEN))
}

/// Returns what was removed: nothing from a place that belongs to another database. A retry would not change that, so
/// it is told, and looked at again next time.
fn unless_foreign<T: Default>(removed: Result<T, StoreError>) -> Result<T, StoreError> {
    match removed {
        Err(error) if error.is_about_owner() => {
            tracing::warn!("nothing was removed from the artifact place: {error}");
            Ok(T::default())
        }
        removed => removed,
    }
}

/// The time so long ago; the beginning of all times when that is longer ago than there are any.
fn ago(now: Timestamp, age: Duration) -> Timestamp {
    SignedDuration::try_from(age).ok().and_then(|age| now.checked_sub(age).ok()).unwrap_or(Timestamp::MIN)
}
