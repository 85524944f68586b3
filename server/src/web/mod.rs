//! The web pages: what people see of experiments in a browser.
//!
//! ```text
//! request ─► who looks (`session`, by cookie or key) ─► page ─► markup (`layout`) ─► headers that browsers obey (`security_headers`)
//!                                                        └ refusals become pages too (`refusal`)
//! ```
//!
//! Pages are made here and need no script: a script only keeps what is being run up to date. Whatever an agent, a model or a
//! spec wrote is hostile: it reaches a page through `foreign` (or `ansi`, `json`, `yaml`, `diff`, which use it), which shows
//! control characters, and through maud, which escapes the rest. Nothing is loaded from elsewhere.
//!
//! To add a page: write its file or folder with `routes()`, list it below, link to it from `layout` or from a page that leads
//! to it, and test it through HTTP in `tests/it/web_*.rs` and in a browser in `cli/tests/serving/test_pages.py`.

mod ansi;
mod approvals;
mod assets;
mod badges;
mod certificate;
mod chart;
mod compare;
mod coverage;
mod diff;
mod error_page;
mod experiment;
mod history;
mod json;
mod labels;
mod layout;
mod live;
mod numbers;
mod scenario_page;
mod security_headers;
pub(crate) mod session;
mod sign_in;
mod spec;
mod submit;
mod tables;
mod untrusted_html;
mod workers;
mod yaml;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::Redirect;
use axum::routing::get;

use crate::app::App;

pub(crate) use error_page::refusals_as_pages;
pub(crate) use scenario_page::Stories;
pub(crate) use security_headers::add_security_headers;

/// All pages.
pub(crate) fn routes(app: &App) -> Router<App> {
    let pages = Router::new()
        .merge(history::routes())
        .merge(experiment::routes())
        .merge(scenario_page::routes())
        .merge(compare::routes())
        .merge(spec::routes())
        .merge(coverage::routes())
        .merge(submit::routes())
        .merge(approvals::routes())
        .merge(labels::routes())
        .merge(workers::routes())
        .merge(sign_in::keyed_routes())
        .route_layer(from_fn_with_state(app.clone(), session::look));
    Router::new()
        .merge(pages)
        .merge(sign_in::open_routes())
        .merge(assets::routes())
        .route("/", get(|| async { Redirect::to("/experiments") }))
}
