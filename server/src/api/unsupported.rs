//! Parts of Keystone's API that this server does not have: each says so.

use axum::Router;
use axum::routing::any;

use crate::app::App;
use crate::error::ApiError;

/// The parts, and what to do instead.
const PARTS: [(&str, &str); 9] = [
    ("prompts", "keep prompts in `task.prompt` of a spec"),
    ("judges", "use the invariant `llm_as_judge`, or a score rule of that type"),
    ("behaviors", "use `forbidden` rules and invariants of a spec"),
    ("workspaces", "there is one workspace; owners of keys keep things apart"),
    ("paragon", "name an agent of your own in the spec"),
    ("models", "models are named in the server's `models.yaml`"),
    ("account", "see `touchstone key list`"),
    ("repositories", "use the fixture `git_repo` of a spec"),
    ("usage", "see /v1/metrics/experiments/{id} and /metrics"),
];

/// Adds an answer for each of them.
pub(crate) fn add(router: Router<App>) -> Router<App> {
    let answer = |part: &'static str, instead: &'static str| {
        move || async move { ApiError::not_implemented(format!("/v1/{part} is not a part of this server; {instead}")) }
    };
    PARTS
        .into_iter()
        .fold(router, |router, (part, instead)| {
            router
                .route(&format!("/v1/{part}"), any(answer(part, instead)))
                .route(&format!("/v1/{part}/{{*rest}}"), any(answer(part, instead)))
        })
        .route(
            "/otel/v1/traces",
            any(|| async { ApiError::not_implemented("OTLP is not read here; send events to /v1/traces") }),
        )
}
