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

/// Who works, and what waits.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CapacityBody {
    /// Workers that were heard of a moment ago.
    pub(crate) workers: Vec<WorkerBody>,
    /// How many scenarios can be run at once.
    pub(crate) slots: u64,
    /// How many are being run.
    pub(crate) running: u64,
    /// How many wait.
    pub(crate) queued: u64,
    /// How long the first of them has waited.
    pub(crate) oldest_wait_ms: u64,
    /// What waits and is being run, by spec; the caller's own.
    pub(crate) specs: Vec<SpecQueueBody>,
    /// What the server itself tries again because it failed, in words.
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
    /// How many scenarios it can run at once.
    pub(crate) slots: u32,
    /// How many it runs.
    pub(crate) running: u32,
    /// The cores that it may use, in thousandths.
    pub(crate) cpu_milli: u64,
    /// The memory that it may use.
    pub(crate) memory_bytes: u64,
    /// How much room its disk has; absent while that is not known.
    #[serde(skip_serializing_if = "is_unknown")]
    pub(crate) free_disk_bytes: u64,
    /// Why it takes nothing now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// What it tries again because it failed, in words.
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

/// What waits of a spec.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SpecQueueBody {
    /// The spec.
    pub(crate) spec_id: String,
    /// Whose.
    pub(crate) owner: String,
    /// How many of its scenarios wait.
    pub(crate) queued: u64,
    /// How many are being run.
    pub(crate) running: u64,
}

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(capacity))
}

/// Who works, what waits, and why
#[utoipa::path(get, path = "/v1/capacity", tag = "capacity",
    responses((status = 200, body = CapacityBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody)))]
pub(crate) async fn capacity(State(app): State<App>, Reader(caller): Reader) -> Result<Json<CapacityBody>, ApiError> {
    Ok(Json(capacity_of(&app, &caller).await?))
}

/// Who works, what waits, and why, as far as the caller may see it.
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

/// How long the first job has waited, in milliseconds.
pub(crate) fn oldest_wait(depth: &QueueDepth, now: Timestamp) -> u64 {
    let waited = depth.oldest.map_or(0, |oldest| now.as_millisecond() - oldest.as_millisecond());
    u64::try_from(waited).unwrap_or(0)
}

/// What to do when all slots are taken.
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

/// Whether nobody could say how much room there is: a worker tells 0 then.
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
