//! Signing in with a key, and out again.

use axum::Router;
use axum::extract::{Form, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use http::header::SET_COOKIE;
use http::{HeaderMap, HeaderValue, StatusCode};
use maud::{Markup, html};
use serde::Deserialize;

use super::layout::{Frame, Tab};
use super::session::{self, Visitor, require_own_page};
use crate::app::App;
use crate::auth;
use crate::config::Access;
use crate::error::ApiError;
use crate::extract::QueryParams;
use crate::retry::patiently;

/// Where to go afterwards.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NextQuery {
    next: String,
}

/// The fields of the form.
#[derive(Deserialize)]
struct SignInForm {
    key: String,
    next: String,
    token: String,
}

/// The token of a form without fields.
#[derive(Debug, Deserialize)]
pub(super) struct BareForm {
    pub(super) token: String,
}

/// The routes that anybody may ask.
pub(super) fn open_routes() -> Router<App> {
    Router::new().route("/sign-in", get(form).post(sign_in))
}

/// The routes for who has signed in.
pub(super) fn keyed_routes() -> Router<App> {
    Router::new().route("/sign-out", post(sign_out))
}

async fn form(State(app): State<App>, headers: HeaderMap, QueryParams(query): QueryParams<NextQuery>) -> Response {
    if app.config.access == Access::Open {
        return Redirect::to("/experiments").into_response();
    }
    let ended = session::has_ended(&app, &headers).await;
    let problem = ended.then_some("Your session has ended, or the key was revoked.");
    page(&session::token(&app, &headers), &query.next, problem).into_response()
}

async fn sign_in(
    State(app): State<App>,
    headers: HeaderMap,
    Form(form): Form<SignInForm>,
) -> Result<Response, ApiError> {
    require_own_page(&headers)?;
    let token = session::token(&app, &headers);
    if !session::is_same(&form.token, &token) {
        let message = "The form was too old. Please try once more.";
        return Ok((StatusCode::FORBIDDEN, page(&token, &form.next, Some(message))).into_response());
    }
    let hash = auth::hash(form.key.trim());
    match patiently(&app.retries, || auth::by_hash(&app, hash.clone())).await {
        Ok(caller) if caller.sandbox.is_none() => {
            let mut response = Redirect::to(&own_path(&form.next)).into_response();
            response.headers_mut().insert(SET_COOKIE, cookie(&session::remember(&app, &headers, &hash)?)?);
            Ok(response)
        }
        Err(error) if error.is_ours() => Err(error),
        _ => {
            let message = "This key is not known here, or it was revoked.";
            Ok((StatusCode::UNAUTHORIZED, page(&token, &form.next, Some(message))).into_response())
        }
    }
}

async fn sign_out(visitor: Visitor, headers: HeaderMap, Form(form): Form<BareForm>) -> Result<Response, ApiError> {
    visitor.require_token(&form.token)?;
    let mut response = Redirect::to("/sign-in").into_response();
    response.headers_mut().insert(SET_COOKIE, cookie(&session::forget(&headers))?);
    Ok(response)
}

fn cookie(text: &str) -> Result<HeaderValue, ApiError> {
    HeaderValue::from_str(text).map_err(|error| ApiError::internal(error.to_string()))
}

/// A path of this server, whatever a link said: another site is not where somebody goes after signing in.
fn own_path(next: &str) -> String {
    let is_own = next.starts_with('/') && !next.starts_with("//") && !next.contains('\\');
    let is_plain = next.bytes().all(|byte| byte.is_ascii_graphic());
    if is_own && is_plain { next.to_owned() } else { "/experiments".to_owned() }
}

fn page(token: &str, next: &str, problem: Option<&str>) -> Markup {
    let body = html! {
        div.narrow {
            h1 { "Sign in" }
            p.quiet { "With an API key. " code { "touchstone key create" } " makes one; the first start of the server printed one." }
            @if let Some(problem) = problem { p.notice.bad #problem role="alert" { (problem) } }
            form.stack method="post" action="/sign-in" {
                input type="hidden" name="token" value=(token);
                input type="hidden" name="next" value=(next);
                label for="key" { "API key" }
                input #key type="password" name="key" required autocomplete="current-password" autofocus
                    spellcheck="false" placeholder="ts_live_…" aria-describedby=[problem.map(|_| "problem")];
                button.primary type="submit" { "Sign in" }
            }
            // Who comes from another site comes without the cookie; a link of this page brings it along.
            @if !next.is_empty() && problem.is_none() { p.quiet { "Signed in already? " a href=(own_path(next)) { "Go on" } "." } }
        }
    };
    Frame { title: "Sign in", tab: Tab::None, visitor: None }.around(&body)
}

#[cfg(test)]
mod tests {
    use super::own_path;

    #[test]
    fn nobody_is_led_to_another_site() {
        assert_eq!(own_path("/specs/a?x=1"), "/specs/a?x=1");
        for elsewhere in [
            "",
            "https://evil.example",
            "//evil.example",
            "/\\evil.example",
            "javascript:alert(1)",
            "/\tx",
            "/\u{1}",
            "/ä",
        ] {
            assert_eq!(own_path(elsewhere), "/experiments", "{elsewhere}");
        }
    }
}
