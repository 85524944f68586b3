//! Refusals as pages, for who wants pages.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Redirect, Response};
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use maud::{Markup, html};

use super::layout::{Frame, Tab};
use super::session::{self, Visitor};
use super::submit::findings;
use crate::app::App;
use crate::error::Refused;

/// Shows what was refused as a page, when the request is one of a browser for a page. Who is not known is led to sign in.
pub(crate) async fn refusals_as_pages(State(app): State<App>, request: Request, next: Next) -> Response {
    let headers = request.headers().clone();
    if !wants_page(&headers) || request.uri().path().starts_with("/v1/") {
        return next.run(request).await;
    }
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let place = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
    let mut response = next.run(request).await;
    let Some(refused) = response.extensions_mut().remove::<Refused>() else { return response };
    let status = response.status();
    if status == StatusCode::UNAUTHORIZED && reads {
        return Redirect::to(&format!("/sign-in?next={}", escaped(&place))).into_response();
    }
    let visitor = session::visitor(&app, &headers).await.ok();
    let (mut parts, _) = response.into_parts();
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    parts.headers.remove(CONTENT_LENGTH);
    Response::from_parts(parts, page(visitor.as_ref(), status, &refused).into_string().into())
}

fn wants_page(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.split(',').any(|kind| kind.trim().starts_with("text/html"))
}

/// A text as one value of a query.
pub(super) fn escaped(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let escape = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(escape).collect()
}

fn page(visitor: Option<&Visitor>, status: StatusCode, refused: &Refused) -> Markup {
    let title = match status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::UNAUTHORIZED => "Sign in first",
        StatusCode::FORBIDDEN => "Not allowed",
        StatusCode::BAD_REQUEST => "Not understood",
        StatusCode::CONFLICT => "Not now",
        StatusCode::METHOD_NOT_ALLOWED => "Not possible here",
        StatusCode::TOO_MANY_REQUESTS => "Too many requests",
        status if status.is_server_error() => "Something is wrong here",
        _ => "Refused",
    };
    let body = html! {
        div.narrow {
            p.quiet { (status.as_u16()) }
            h1 { (title) }
            @if refused.findings.is_empty() {
                p.message { (super::untrusted_html::prose(&refused.message)) }
            } @else {
                (findings(&refused.findings))
            }
            p { a href="/experiments" { "All experiments" } }
        }
    };
    Frame { title, tab: Tab::None, visitor }.around(&body)
}
