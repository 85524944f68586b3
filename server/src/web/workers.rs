//! Workers, queue, and the reason of waiting.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};

use super::error_page::escaped;
use super::history::owner;
use super::layout::{Frame, Tab};
use super::numbers::{ago, bytes, count, count_noun, duration};
use super::session::Visitor;
use super::tables::{Head, table};
use super::untrusted_html;
use crate::api::capacity::{CapacityBody, SpecQueueBody, WorkerBody, capacity_of};
use crate::app::App;
use crate::error::ApiError;

/// The number that a worker without a limit reports; no machine has so much.
const UNBOUNDED: u64 = 1 << 60;

/// The columns of workers.
const WORKERS: [Head<'_>; 9] = [
    Head::Text("Machine"),
    Head::Number("Runs"),
    Head::Number("Slots"),
    Head::Number("Cores"),
    Head::Number("Memory"),
    Head::Number("Free disk"),
    Head::Text("Takes jobs"),
    Head::Text("Version"),
    Head::Number("Heard of"),
];
/// The columns of what waits.
const QUEUE: [Head<'_>; 4] =
    [Head::Text("Spec"), Head::Text("Owner"), Head::Number("Waiting"), Head::Number("Running")];

/// The routes.
pub(super) fn routes() -> Router<App> {
    Router::new().route("/workers", get(workers))
}

async fn workers(State(app): State<App>, visitor: Visitor) -> Result<Markup, ApiError> {
    let capacity = capacity_of(&app, &visitor.caller).await?;
    let now = app.clock.now();
    let body = html! {
        h1 { "Workers" }
        p.lead { (lead(&capacity)) }
        (tiles(&capacity))
        section aria-labelledby="who" {
            h2 #who { "Who works" }
            @if capacity.workers.is_empty() {
                div.empty { p { "No worker was heard of a moment ago. " code { "touchstone worker" } " starts one." } }
            } @else {
                (table("Workers", "wide", &WORKERS, &html! { @for worker in &capacity.workers { (row(worker, now)) } }))
            }
        }
        (queue(&capacity))
    };
    Ok(Frame { title: "Workers", tab: Tab::Workers, visitor: Some(&visitor) }.around(&body))
}

/// Why things wait. That all slots are busy is no outage.
fn lead(capacity: &CapacityBody) -> Markup {
    let well = capacity.workers.iter().all(|worker| is_full(worker) && worker.problems.is_empty());
    let is_busy = !capacity.workers.is_empty() && well;
    match (is_busy && capacity.queued > 0, capacity.slots) {
        (true, 1) => html! { "The only slot is busy; " (count(capacity.queued)) " wait." },
        (true, slots) => html! { "All " (count(slots)) " slots are busy; " (count(capacity.queued)) " wait." },
        (false, _) => html! { "Now " (untrusted_html::prose(&capacity.explanation)) "." },
    }
}

/// True when a worker has no free slot.
fn is_full(worker: &WorkerBody) -> bool {
    worker.slots > 0 && worker.running >= worker.slots
}

fn tiles(capacity: &CapacityBody) -> Markup {
    let wait = if capacity.queued == 0 { "–".to_owned() } else { duration(capacity.oldest_wait_ms) };
    html! {
        dl.tiles {
            div { dt { "Running" } dd { (capacity.running) span.quiet { " of " (count_noun(capacity.slots, "slot")) } } }
            div { dt { "Waiting" } dd { (capacity.queued) } }
            div { dt { "Longest wait" } dd { (wait) } }
            div { dt { "Workers" } dd { (capacity.workers.len()) } }
        }
    }
}

fn row(worker: &WorkerBody, now: jiff::Timestamp) -> Markup {
    let cores = match worker.cpu_milli {
        UNBOUNDED.. => "any".to_owned(),
        milli => format!("{}.{}", milli / 1000, milli % 1000 / 100),
    };
    let memory = if worker.memory_bytes >= UNBOUNDED { "any".to_owned() } else { bytes(worker.memory_bytes) };
    html! {
        tr {
            th scope="row" { (untrusted_html::line(&worker.host, 60)) " " span.quiet { (untrusted_html::line(&worker.id, 100)) } }
            td.number { (worker.running) }
            td.number { (worker.slots) }
            td.number { (cores) }
            td.number { (memory) }
            td.number { (bytes(worker.free_disk_bytes)) }
            td { @match &worker.reason {
                Some(_) if is_full(worker) && worker.problems.is_empty() => "when a slot is free",
                Some(reason) => { "no: " (untrusted_html::short_prose(reason, 200)) },
                None => "yes",
            }
            @for problem in &worker.problems { p.quiet { (untrusted_html::short_prose(problem, 300)) } } }
            td { (untrusted_html::line(&worker.version, 30)) }
            td.number { @if let Ok(seen) = worker.seen_at.parse() { (ago(seen, now)) } }
        }
    }
}

fn waiting(spec: &SpecQueueBody) -> Markup {
    html! {
        tr {
            th scope="row" {
                a href={ "/experiments?status=running&spec=" (escaped(&spec.spec_id)) } { (untrusted_html::line(&spec.spec_id, 80)) }
            }
            td { (owner(&spec.owner)) }
            td.number { (spec.queued) }
            td.number { (spec.running) }
        }
    }
}

fn queue(capacity: &CapacityBody) -> Markup {
    html! {
        section aria-labelledby="queue" {
            h2 #queue { "What waits and runs" }
            @if capacity.specs.is_empty() { p.quiet { "Nothing." } } @else {
                (table("Queue", "", &QUEUE, &html! { @for spec in &capacity.specs { (waiting(spec)) } }))
            }
        }
    }
}
