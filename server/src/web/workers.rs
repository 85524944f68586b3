//! Who works, what waits, and why.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};

use super::foreign;
use super::layout::{Frame, Tab};
use super::numbers::{ago, bytes, duration};
use super::refusal::escaped;
use super::session::Visitor;
use crate::api::capacity::{CapacityBody, WorkerBody, capacity_of};
use crate::app::App;
use crate::error::ApiError;

/// The routes.
pub(super) fn routes() -> Router<App> {
    Router::new().route("/workers", get(workers))
}

async fn workers(State(app): State<App>, visitor: Visitor) -> Result<Markup, ApiError> {
    let capacity = capacity_of(&app, &visitor.caller).await?;
    let now = app.clock.now();
    let body = html! {
        h1 { "Workers" }
        p.lead { (foreign::text(&capacity.explanation)) "." }
        (tiles(&capacity))
        section aria-labelledby="who" {
            h2 #who { "Who works" }
            @if capacity.workers.is_empty() {
                div.empty { p { "No worker was heard of a moment ago. " code { "touchstone worker" } " starts one." } }
            } @else {
                div.scroll tabindex="0" role="region" aria-label="Workers" { table.wide {
                    thead { tr {
                        th scope="col" { "Machine" } th.number scope="col" { "Runs" } th.number scope="col" { "Slots" }
                        th.number scope="col" { "Cores" } th.number scope="col" { "Memory" } th.number scope="col" { "Free disk" }
                        th scope="col" { "Takes jobs" } th scope="col" { "Version" } th.number scope="col" { "Heard of" }
                    } }
                    tbody { @for worker in &capacity.workers { (row(worker, now)) } }
                } }
            }
        }
        (queue(&capacity))
    };
    Ok(Frame { title: "Workers", tab: Tab::Workers, visitor: Some(&visitor) }.around(&body))
}

fn tiles(capacity: &CapacityBody) -> Markup {
    let wait = if capacity.queued == 0 { "–".to_owned() } else { duration(capacity.oldest_wait_ms) };
    html! {
        dl.tiles {
            div { dt { "Running" } dd { (capacity.running) span.quiet { " of " (capacity.slots) " slots" } } }
            div { dt { "Waiting" } dd { (capacity.queued) } }
            div { dt { "Longest wait" } dd { (wait) } }
            div { dt { "Workers" } dd { (capacity.workers.len()) } }
        }
    }
}

fn row(worker: &WorkerBody, now: jiff::Timestamp) -> Markup {
    let cores = format!("{}.{}", worker.cpu_milli / 1000, worker.cpu_milli % 1000 / 100);
    html! {
        tr {
            th scope="row" { (foreign::line(&worker.host, 60)) " " span.quiet { (foreign::line(&worker.id, 100)) } }
            td.number { (worker.running) }
            td.number { (worker.slots) }
            td.number { (cores) }
            td.number { (bytes(worker.memory_bytes)) }
            td.number { (bytes(worker.free_disk_bytes)) }
            td { @match &worker.reason { Some(reason) => { "no: " (foreign::line(reason, 200)) }, None => "yes" } }
            td { (foreign::line(&worker.version, 30)) }
            td.number { @if let Ok(seen) = worker.seen_at.parse() { (ago(seen, now)) } }
        }
    }
}

fn queue(capacity: &CapacityBody) -> Markup {
    html! {
        section aria-labelledby="queue" {
            h2 #queue { "What waits and runs" }
            @if capacity.specs.is_empty() { p.quiet { "Nothing." } } @else {
                div.scroll tabindex="0" role="region" aria-label="Queue" { table {
                    thead { tr { th scope="col" { "Spec" } th scope="col" { "Owner" } th.number scope="col" { "Waiting" } th.number scope="col" { "Running" } } }
                    tbody { @for spec in &capacity.specs { tr {
                        th scope="row" { a href={ "/experiments?status=running&spec=" (escaped(&spec.spec_id)) } { (foreign::line(&spec.spec_id, 80)) } }
                        td { (foreign::line(&spec.owner, 64)) }
                        td.number { (spec.queued) }
                        td.number { (spec.running) }
                    } } }
                } }
            }
        }
    }
}
