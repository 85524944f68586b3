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
mod deadline;
mod error;
mod extract;
mod fields;
mod openapi;
mod page;
mod patience;
mod rate;
mod redact;
mod results;
mod router;
mod stream;
mod submission;
mod surroundings;
mod telemetry;
mod web;
mod webhooks;
mod whole;

use std::future::Future;
use std::io;
use std::net::SocketAddr;

use tokio::net::TcpListener;

pub use admission::Admission;
pub use app::Parts;
pub use config::{Access, Config};
pub use openapi::document;
pub use surroundings::{Clock, Ids, Workers};

use app::App;

/// Serves the API until the future ends; what was being answered then is answered first.
pub async fn serve(
    listener: TcpListener,
    parts: Parts,
    ended: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let app = App::new(parts);
    let background = background::start(&app);
    let router = router::router(app.clone()).into_make_service_with_connect_info::<SocketAddr>();
    let served = axum::serve(listener, router)
        .with_graceful_shutdown(async move {
            ended.await;
            // Streams would go on for as long as somebody listens.
            app.ending.cancel();
        })
        .await;
    background.end().await;
    served
}

/// The API as a service, for tests that need no socket.
pub fn service(parts: Parts) -> axum::Router {
    router::router(App::new(parts))
}
