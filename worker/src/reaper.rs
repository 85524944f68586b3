//! Finds jobs and sandboxes whose workers are gone. Jobs are given back, sandboxes have ended.
//!
//! A worker is *gone* when its lease was not renewed in time, or when its owner's lock in our own data directory is
//! free. Its leftovers in Docker are *stray*, and a sweep removes them; a sweep asks the locks and not the store.

use std::collections::BTreeSet;
use std::sync::Arc;

use scenario::event::Event;
use scenario::result::ScenarioResult;
use scenario::verdict::ErrorKind;
use store::{Completion, Failure, Held, Kept, Numbers, Page, SandboxFilter, StoreError, WorkerId};

use crate::Shared;
use crate::completion::backoff;
use crate::heartbeat::later;
use crate::notice::{About, Notice};

/// Message for people about a job whose worker is gone.
const LOST: &str = "its worker was not heard of any more";

/// Returns the jobs of dead workers to the queue. `is_ours` says which jobs are being done by ourselves.
pub(crate) async fn reap(shared: &Arc<Shared>, is_ours: impl Fn(&Held) -> bool) -> Result<(), StoreError> {
    let now = shared.clock.now();
    let mut lost = shared.store.expired(now).await?;
    let own = shared.config.worker;
    for held in shared.store.held().await? {
        let is_neighbour = held.worker.data_dir == own.data_dir && held.worker.owner != own.owner;
        if is_neighbour && lost.iter().all(|one| one.lease != held.lease) && shared.peers.is_gone(held.worker.owner) {
            lost.push(held);
        }
    }
    for held in lost.iter().filter(|held| held.lane == shared.config.lane && !is_ours(held)) {
        if let Err(error) = give_back(shared, held).await {
            // The other jobs, and those that wait, are not to blame.
            let mut observer = shared.retries.observe("giving a job of a lost worker back");
            observer.failed(format_args!("{}: {error}", held.scenario.id));
        }
    }
    Ok(())
}

/// Ends the sandboxes of dead workers: their contents are lost.
pub(crate) async fn lose_sandboxes(shared: &Shared) -> Result<(), StoreError> {
    let now = shared.clock.now();
    let mut lost = shared.store.lose_sandboxes(now).await?;
    let own = shared.config.worker;
    let active = SandboxFilter { active: true, ..SandboxFilter::default() };
    let listed = shared.store.sandboxes(active, Page::ALL).await?;
    let owners = listed.items.iter().filter_map(|sandbox| sandbox.worker);
    let neighbours = owners.filter(|worker| worker.data_dir == own.data_dir && worker.owner != own.owner);
    let neighbours: BTreeSet<_> = neighbours.map(|worker| worker.owner).collect();
    for owner in neighbours.into_iter().filter(|owner| shared.peers.is_gone(*owner)) {
        lost.extend(shared.store.lose_sandboxes_of(WorkerId { owner, ..own }, now).await?);
    }
    for sandbox in lost {
        shared.observer.tell(Notice::SandboxEnded { sandbox, error: Some("its worker was lost".to_owned()) });
    }
    Ok(())
}

/// Returns a job to the queue for another attempt, or ends it when there were enough attempts.
async fn give_back(shared: &Arc<Shared>, held: &Held) -> Result<(), StoreError> {
    let now = shared.clock.now();
    let about = About { run: held.run, scenario: held.scenario.id.to_string(), attempt: held.lease.epoch };
    let after = backoff(shared.config.backoff, held.failures);
    let may_retry = held.failures + 1 < shared.config.attempts;
    let retried = if may_retry {
        shared.store.retry(&held.lease, Failure::Lost, LOST, later(now, after), now).await?
    } else {
        Kept::Stale
    };
    if retried == Kept::Kept {
        shared.journal.note(&about, Event::Lost { worker: held.worker.to_string() });
        shared.observer.tell(Notice::Retrying { job: about, message: LOST.to_owned(), after });
        return drop_if_not_needed(shared, held).await;
    }
    end(shared, held, about, may_retry).await
}

/// A job that was given back is not done again when its cell was decided meanwhile.
async fn drop_if_not_needed(shared: &Arc<Shared>, held: &Held) -> Result<(), StoreError> {
    let numbers = Numbers::of(&shared.store, held.run).await?;
    let kept = shared.store.drop_not_needed(held.run, &held.scenario, shared.clock.now(), &numbers).await?;
    tell_run_end(shared, held, kept).await;
    Ok(())
}

/// Ends a job that will not be tried again: its attempts are used up, or it is not wanted any more.
async fn end(shared: &Arc<Shared>, held: &Held, about: About, cancelled: bool) -> Result<(), StoreError> {
    if !cancelled {
        shared.journal.note(&about, Event::Lost { worker: held.worker.to_string() });
        shared.journal.written().await;
    }
    let numbers = Numbers::of(&shared.store, held.run).await?;
    let now = shared.clock.now();
    let (kept, notice) = if cancelled {
        let kept = shared.store.give_up(&held.lease, held.run, LOST, now, &numbers).await?;
        (kept, Notice::GivenUp { job: about, message: LOST.to_owned() })
    } else {
        let message = format!("{LOST}, {} times", held.failures + 1);
        let result = ScenarioResult::failed_to_run(&held.scenario, ErrorKind::Infrastructure, message);
        let completion = Completion { evidence: None, result: &result, traces: &[], at: now };
        let kept = shared.store.complete(&held.lease, held.run, completion, &numbers).await?;
        (kept, Notice::Ended { job: about, result: Box::new(result) })
    };
    if kept != Kept::Stale {
        shared.observer.tell(notice);
    }
    tell_run_end(shared, held, kept).await;
    Ok(())
}

/// Tells that a run has ended, if it has by this.
async fn tell_run_end(shared: &Shared, held: &Held, kept: Kept) {
    if kept == Kept::RunEnded {
        shared.library.forget(held.run).await;
        shared.observer.tell(Notice::RunEnded { run: held.run });
    }
}
