//! Security headers of every response.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderValue};

/// Only what this server serves, and nothing that stands in a page itself.
const PAGES: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// The browser of the API makes styles and pictures while it runs. It shows nothing that an agent wrote.
const BROWSER: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                       font-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";
const PERMISSIONS: HeaderName = HeaderName::from_static("permissions-policy");
const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Adds what browsers obey: an answer is what it says to be and nothing else, is in no frame of others, and loads
/// nothing.
pub(crate) async fn add_security_headers(request: Request, next: Next) -> Response {
    let is_browser = request.uri().path().starts_with("/docs");
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    set(headers, X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(headers, CONTENT_SECURITY_POLICY, if is_browser { BROWSER } else { PAGES });
    set(headers, REFERRER_POLICY, "same-origin");
    set(headers, X_FRAME_OPTIONS, "DENY");
    set(headers, OPENER, "same-origin");
    set(headers, RESOURCE, "same-origin");
    set(headers, PERMISSIONS, "camera=(), geolocation=(), microphone=(), payment=(), usb=()");
    // What somebody may see is kept for nobody else; and a page not at all, so that who has signed out goes back to none.
    let is_page = headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    let kept = HeaderValue::from_static(if is_page { "no-store" } else { "private, no-cache" });
    headers.entry(CACHE_CONTROL).or_insert(kept);
    response
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.insert(name, HeaderValue::from_static(value));
}
