//! Numbers about the server itself, for Prometheus.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::Method;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use store::Lane;
use tokio::time::Instant;

use crate::api::capacity::oldest_wait;
use crate::app::App;
use crate::error::ApiError;

/// The ends of the histogram's buckets, in seconds.
const BUCKETS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// A number that has a fraction.
type Fraction = Gauge<f64, AtomicU64>;

/// Numbers about the server.
#[derive(Debug)]
pub(crate) struct Telemetry {
    registry: Registry,
    requests: Family<Answered, Counter>,
    durations: Family<RequestLabels, Histogram, fn() -> Histogram>,
    queued: Gauge,
    running: Gauge,
    oldest_wait: Fraction,
    workers: Gauge,
    slots: Gauge,
    slots_taken: Gauge,
    sandboxes: Family<InState, Gauge>,
    streams: Gauge,
    connections: Gauge,
    connections_closed: Gauge,
    reports: Counter,
    retries: Family<Retried, Counter>,
}

/// Labels of an answered request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: String,
    route: String,
    status: u32,
}

/// Labels of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    route: String,
}

/// Labels of a retried operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Retried {
    operation: String,
}

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InState {
    state: String,
}

impl Default for Telemetry {
    fn default() -> Self {
        let mut telemetry = Self {
            registry: Registry::with_prefix("touchstone"),
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            queued: Gauge::default(),
            running: Gauge::default(),
            oldest_wait: Fraction::default(),
            workers: Gauge::default(),
            slots: Gauge::default(),
            slots_taken: Gauge::default(),
            sandboxes: Family::default(),
            streams: Gauge::default(),
            connections: Gauge::default(),
            connections_closed: Gauge::default(),
            reports: Counter::default(),
            retries: Family::default(),
        };
        telemetry.register();
        telemetry
    }
}

impl Telemetry {
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("http_requests", "Requests that were answered", self.requests.clone());
        registry.register("http_request_duration_seconds", "How long answers took to begin", self.durations.clone());
        registry.register("queue_waiting", "Scenarios that wait", self.queued.clone());
        registry.register("queue_running", "Scenarios that are being run", self.running.clone());
        registry.register("queue_oldest_wait_seconds", "How long the first has waited", self.oldest_wait.clone());
        registry.register("workers", "Workers that were heard of a moment ago", self.workers.clone());
        registry.register("worker_slots", "How many scenarios they can run at once", self.slots.clone());
        registry.register("worker_slots_taken", "How many they run", self.slots_taken.clone());
        registry.register("sandboxes", "Interactive sandboxes, by state", self.sandboxes.clone());
        registry.register("streams", "Streams of events, and requests that wait for news", self.streams.clone());
        registry.register(
            "retries",
            "Failures of servers and workers after which they tried again, by operation",
            self.retries.clone(),
        );
        registry.register("connections", "Connections that are open", self.connections.clone());
        let closed = "Connections that were closed to make room for others, since the start";
        registry.register("connections_closed", closed, self.connections_closed.clone());
        registry.register("reports", "How often all results of a run were put together", self.reports.clone());
    }

    /// Counts that all results of a run were put together, which takes the longer the more there are.
    pub(crate) fn count_report(&self) {
        self.reports.inc();
    }

    /// All numbers, as Prometheus reads them.
    pub(crate) async fn text(&self, app: &App) -> Result<String, ApiError> {
        self.look(app).await?;
        let mut text = String::new();
        encode(&mut text, &self.registry).map_err(|error| ApiError::internal(error.to_string()))?;
        Ok(text)
    }

    /// Counts what is not counted as it happens.
    async fn look(&self, app: &App) -> Result<(), ApiError> {
        let now = app.clock.now();
        let depth = app.store.queue_depth(Lane::Shared).await?;
        self.queued.set(whole(depth.queued));
        self.running.set(whole(depth.running));
        self.oldest_wait.set(Duration::from_millis(oldest_wait(&depth, now)).as_secs_f64());
        let workers = app.store.live_workers(now, app.config.worker_patience).await?;
        self.workers.set(whole(workers.len() as u64));
        self.slots.set(workers.iter().map(|worker| i64::from(worker.new.slots)).sum());
        self.slots_taken.set(workers.iter().map(|worker| i64::from(worker.pulse.running)).sum());
        self.sandboxes.clear();
        for (state, count) in app.store.count_sandboxes(None).await? {
            self.sandboxes.get_or_create(&InState { state: state.word().to_owned() }).set(whole(count));
        }
        app.store.count_retries(&app.retries).await?;
        for (operation, failures) in app.store.retry_counts().await? {
            self.retries.get_or_create(&Retried { operation }).inner().store(failures, Ordering::Relaxed);
        }
        self.streams.set(whole(app.streams.count() as u64));
        self.connections.set(whole(app.connections.count() as u64));
        self.connections_closed.set(whole(app.connections.closed()));
        Ok(())
    }
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Counts every request by its route, not by its path, of which there are as many as somebody likes.
pub(crate) async fn count(State(app): State<App>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let method = known(request.method()).to_owned();
    let began = Instant::now();
    let response = next.run(request).await;
    let asked = RequestLabels { method: method.clone(), route: route.clone() };
    app.telemetry.durations.get_or_create(&asked).observe(began.elapsed().as_secs_f64());
    let status = u32::from(response.status().as_u16());
    app.telemetry.requests.get_or_create(&Answered { method, route, status }).inc();
    response
}

/// A method that there is: a client may make any up.
fn known(method: &Method) -> &str {
    match *method {
        Method::GET | Method::POST | Method::PUT | Method::DELETE | Method::PATCH | Method::HEAD | Method::OPTIONS => {
            method.as_str()
        }
        _ => "other",
    }
}
