//! The REST API and the web pages of Touchstone: they read what is kept, and enqueue.
//!
//! ```text
//! request ─► limits of size and rate ─► who calls (`auth`) ─► handler in `api/` ─► store
//!                                                                  └ interactive sandboxes: [`Workers`]
//! ```
//!
//! The server never makes a sandbox: workers take what it enqueues. What it cannot know is given to it ([`Parts`]): the store,
//! the time, ids, what a spec takes from a machine, and the way to workers. `router.rs` lists every route.

mod admission;
mod api;
mod app;
pub mod auth;
mod background;
mod cache;
mod config;
mod dependencies;
mod error;
mod extract;
mod fields;
mod openapi;
mod page;
mod rate;
mod redact;
mod results;
mod retry;
mod router;
mod stream;
mod stream_array;
mod submission;
mod telemetry;
mod timeout;
mod web;
mod webhooks;

use std::future::Future;
use std::io;

use axum::body::Body;
use http::Request;
use listener::Incoming;
use tokio::net::TcpListener;
use tower::ServiceExt as _;

pub use admission::Admission;
pub use api::approvals::ApprovalBody;
pub use api::baselines::BaselineBody;
pub use app::Parts;
pub use config::{Access, Config};
pub use dependencies::Workers;
pub use listener::Limits;
pub use openapi::document;

use app::App;

/// Serves the API until the future ends; what was being answered then is answered first.
pub async fn serve(
    listener: TcpListener,
    parts: Parts,
    ended: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let app = App::new(parts);
    let background = background::start(&app);
    let router = router::router(app.clone());
    let answer = move |request: Request<Incoming>| {
        let answering = router.clone().oneshot(request.map(Body::new));
        async { answering.await.unwrap_or_else(|never| match never {}) }
    };
    let connections = app.connections.clone();
    let ended = async move {
        ended.await;
        // Streams would go on for as long as somebody listens.
        app.ending.cancel();
    };
    connections.serve(listener, answer, ended).await;
    background.end().await;
    Ok(())
}

/// The API as a service, for tests that need no socket.
pub fn service(parts: Parts) -> axum::Router {
    router::router(App::new(parts))
}
