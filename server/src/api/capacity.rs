//! `GET /v1/capacity`: who works, what waits, and why.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use scenario::count_noun_as;
use serde::Serialize;
use store::{Lane, QueueDepth, Worker};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::{Caller, Reader};
use crate::error::{ApiError, ErrorBody};

/// Workers and queue.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CapacityBody {
    /// Workers that were heard of a moment ago.
    pub(crate) workers: Vec<WorkerBody>,
    /// The number of scenarios that can run at once.
    pub(crate) slots: u64,
    /// The number that is running.
    pub(crate) running: u64,
    /// The number in the queue.
    pub(crate) queued: u64,
    /// The wait of the oldest of them.
    pub(crate) oldest_wait_ms: u64,
    /// Queued and running scenarios by spec; the caller's own.
    pub(crate) specs: Vec<SpecQueueBody>,
    /// Operations of the server that fail and are retried, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) problems: Vec<String>,
    /// Why things wait, in words.
    #[schema(example = "nothing waits")]
    pub(crate) explanation: String,
}

/// A worker.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WorkerBody {
    /// Its id.
    pub(crate) id: String,
    /// Its machine.
    pub(crate) host: String,
    /// The number of scenarios that it can run at once.
    pub(crate) slots: u32,
    /// The number that it is running.
    pub(crate) running: u32,
    /// The cores that it may use, in thousandths.
    pub(crate) cpu_milli: u64,
    /// The memory that it may use.
    pub(crate) memory_bytes: u64,
    /// Free disk space; absent while unknown.
    #[serde(skip_serializing_if = "is_unknown")]
    pub(crate) free_disk_bytes: u64,
    /// Why it takes nothing now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// Operations that fail and are retried, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) problems: Vec<String>,
    /// Its version.
    pub(crate) version: String,
    /// When it started.
    #[schema(format = DateTime)]
    pub(crate) started_at: String,
    /// When it was heard of last.
    #[schema(format = DateTime)]
    pub(crate) seen_at: String,
}

/// The queue of a spec.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SpecQueueBody {
    /// The spec.
    pub(crate) spec_id: String,
    /// Whose.
    pub(crate) owner: String,
    /// The number of its queued scenarios.
    pub(crate) queued: u64,
    /// The number that is running.
    pub(crate) running: u64,
}

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(capacity))
}

/// Workers, queue, and the reason of waiting
#[utoipa::path(get, path = "/v1/capacity", tag = "capacity",
    responses((status = 200, body = CapacityBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody)))]
pub(crate) async fn capacity(State(app): State<App>, Reader(caller): Reader) -> Result<Json<CapacityBody>, ApiError> {
    Ok(Json(capacity_of(&app, &caller).await?))
}

/// Reads workers, queue and the reason of waiting, as far as the caller may see them.
pub(crate) async fn capacity_of(app: &App, caller: &Caller) -> Result<CapacityBody, ApiError> {
    let now = app.clock.now();
    let workers = app.store.live_workers(now, app.config.worker_patience).await?;
    let depth = app.store.queue_depth(Lane::Shared).await?;
    let own = depth.specs.iter().filter(|spec| caller.sees().is_none_or(|owner| owner == spec.owner));
    let specs = own.map(|spec| SpecQueueBody {
        spec_id: spec.spec_id.clone(),
        owner: spec.owner.clone(),
        queued: spec.queued,
        running: spec.running,
    });
    Ok(CapacityBody {
        slots: workers.iter().map(|worker| u64::from(worker.new.slots)).sum(),
        running: depth.running,
        queued: depth.queued,
        oldest_wait_ms: oldest_wait(&depth, now),
        specs: specs.collect(),
        problems: app.retries.failing(),
        explanation: explain(&workers, &depth),
        workers: workers.into_iter().map(shown).collect(),
    })
}

/// Computes the wait of the oldest job in milliseconds.
pub(crate) fn oldest_wait(depth: &QueueDepth, now: Timestamp) -> u64 {
    let waited = depth.oldest.map_or(0, |oldest| now.as_millisecond() - oldest.as_millisecond());
    u64::try_from(waited).unwrap_or(0)
}

/// Advice when all slots are taken.
const MORE_ROOM: &str = "more workers, or a higher `--max-concurrent`, run more at once";

/// Why things wait.
fn explain(workers: &[Worker], depth: &QueueDepth) -> String {
    let wait = match depth.queued {
        0 => return "nothing waits".to_owned(),
        some => count_noun_as(some, "scenario waits", "scenarios wait"),
    };
    if workers.is_empty() {
        return format!(
            "{wait}: no worker is there; start one with `touchstone worker`, or read the log of one that should be there"
        );
    }
    let (slots, running) = workers
        .iter()
        .fold((0, 0), |(slots, running), worker| (slots + worker.new.slots, running + worker.pulse.running));
    let unwilling: Vec<_> = workers
        .iter()
        .filter_map(|worker| Some(format!("{}: {}", worker.new.host, worker.pulse.reason.as_ref()?)))
        .collect();
    match (workers.len(), unwilling.len()) {
        (all, some) if some == all => {
            let next = if running >= slots { MORE_ROOM } else { "the logs of the workers say more" };
            format!("{wait}: no worker takes anything ({}); {next}", unwilling.join("; "))
        }
        (_, 0) if running >= slots && slots == 1 => format!("{wait}: the only slot is taken; {MORE_ROOM}"),
        (_, 0) if running >= slots => format!("{wait}: all {slots} slots are taken; {MORE_ROOM}"),
        (_, 0) => {
            format!("{wait}: a worker takes the next one soon, unless the `concurrency_limit` of its spec is reached")
        }
        _ => format!(
            "{wait}: {running} of {} taken, and some workers take nothing ({})",
            count_noun_as(slots, "slot is", "slots are"),
            unwilling.join("; ")
        ),
    }
}

/// True when the free space is unknown: a worker reports 0 then.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes what it asks about by reference")]
fn is_unknown(bytes: &u64) -> bool {
    *bytes == 0
}

fn shown(worker: Worker) -> WorkerBody {
    let Worker { new, pulse, started_at, seen_at } = worker;
    WorkerBody {
        id: new.id.to_string(),
        host: new.host,
        slots: new.slots,
        running: pulse.running,
        cpu_milli: new.budget.cpu_milli,
        memory_bytes: new.budget.memory,
        free_disk_bytes: pulse.free_disk,
        reason: pulse.reason,
        problems: pulse.problems,
        version: new.version,
        started_at: started_at.to_string(),
        seen_at: seen_at.to_string(),
    }
}
