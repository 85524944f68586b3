//! Styles, the script and the icon: parts of the program, under names that change with their content.

use std::sync::OnceLock;

use axum::Router;
use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use maud::{Markup, html};
use scenario::hex;
use sha2::{Digest as _, Sha256};

use crate::app::App;
use crate::error::ApiError;

/// Each file: its name, its kind and its content.
const FILES: [(&str, &str, &str); 3] = [
    ("style.css", "text/css; charset=utf-8", include_str!("../../assets/style.css")),
    ("page.js", "text/javascript; charset=utf-8", include_str!("../../assets/page.js")),
    ("icon.svg", "image/svg+xml", include_str!("../../assets/icon.svg")),
];

/// The routes.
pub(super) fn routes() -> Router<App> {
    Router::new().route("/assets/{name}", get(file))
}

async fn file(Path(name): Path<String>) -> Result<Response, ApiError> {
    let found = FILES.into_iter().find(|(known, ..)| *known == name);
    let (_, kind, content) = found.ok_or_else(|| ApiError::not_found("there is no such file"))?;
    // The address has the content's digest, so what is there never changes.
    let headers = [(CONTENT_TYPE, kind), (CACHE_CONTROL, "public, max-age=31536000, immutable")];
    Ok((headers, content).into_response())
}

/// Where a file is.
pub(super) fn address(name: &str) -> String {
    static DIGEST: OnceLock<String> = OnceLock::new();
    let digest = DIGEST.get_or_init(|| {
        let mut hasher = Sha256::new();
        for (_, _, content) in FILES {
            hasher.update(content);
        }
        hex(&hasher.finalize()[..6])
    });
    format!("/assets/{name}?v={digest}")
}

/// The stone, beside the name.
pub(super) fn stone() -> Markup {
    html! {
        svg.stone viewBox="0 0 16 16" width="18" height="18" aria-hidden="true" {
            path d="M2 5.5 6 2h5l3 4.5-2 6L6.5 14 2 10z" {}
            path.streak d="m5 10 6-4" {}
        }
    }
}
