//! Sessions of browsers: a visitor signs in with a key, and gets a cookie.
//!
//! The cookie holds the hash of the key and until when it is good, sealed with the server's own key: it is no key,
//! nobody can make one, and it ends with the key. The server remembers nothing, so a restart signs nobody out.
//!
//! A browser sends cookies with whatever it is made to ask. So what changes something must come from a page of ours:
//! the browser says so itself, and the form has a token that only such a page has.

use std::time::Duration;

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{COOKIE, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use jiff::Timestamp;
use store::{ApprovalFilter, ApprovalStatus, Scope};

use crate::app::App;
use crate::auth::{self, Caller};
use crate::config::Access;
use crate::error::ApiError;
use crate::retry::patiently;
use crate::submission::seal;

/// The name of the cookie.
const NAME: &str = "touchstone_session";
/// The purpose that a cookie is sealed for, so that nothing else that is sealed can be one.
const WORDS: &str = "session of a browser";
/// Lifetime of a cookie.
const LASTS: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Somebody who looks at a page.
#[derive(Debug, Clone)]
pub(crate) struct Visitor {
    /// The caller.
    pub(crate) caller: Caller,
    /// The token that forms send back.
    pub(crate) token: String,
    /// True when it signed in, so that it can sign out.
    pub(crate) signed_in: bool,
    /// The number of calls that wait for a person.
    pub(crate) waiting: u64,
}

impl Visitor {
    /// True when it may change and submit things.
    pub(crate) fn may_submit(&self) -> bool {
        matches!(self.caller.scope, Scope::Submit | Scope::Admin)
    }

    /// Refuses who may only read.
    pub(crate) fn require_submit(&self) -> Result<(), ApiError> {
        if self.may_submit() { Ok(()) } else { Err(ApiError::forbidden("this key may only read")) }
    }

    /// Refuses a form that no page of ours made for this visitor.
    pub(crate) fn require_token(&self, token: &str) -> Result<(), ApiError> {
        if is_same(token, &self.token) {
            return Ok(());
        }
        Err(ApiError::forbidden(
            "this form is not one of yours, or it is too old: load its page again, and send it once more",
        ))
    }
}

impl FromRequestParts<App> for Visitor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| ApiError::unauthorized("sign in first"))
    }
}

/// Finds out who looks, before a page is made.
pub(crate) async fn look(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let headers = request.headers().clone();
    let writes = !matches!(*request.method(), Method::GET | Method::HEAD);
    let found = patiently(&app.retries, || visitor(&app, &headers)).await;
    let mut visitor = match auth::attribute(&request, found, |visitor| &visitor.caller) {
        Ok(visitor) => visitor,
        Err(refused) => return refused.into_response(),
    };
    let allowed = app.rates.count(&visitor.caller.key, writes);
    let own = if writes { require_own_page(&headers) } else { Ok(()) };
    if let Err(refused) = allowed.and(own) {
        return refused.into_response();
    }
    visitor.waiting = waiting(&app, &visitor.caller).await;
    request.extensions_mut().insert(visitor);
    next.run(request).await
}

/// Counts the calls that wait for a person. A page is made also when nobody can tell.
async fn waiting(app: &App, caller: &Caller) -> u64 {
    let (owner, status) = (caller.sees(), Some(ApprovalStatus::Pending));
    let filter = ApprovalFilter { owner, status, now: app.clock.now(), ..ApprovalFilter::default() };
    app.store.count_approvals(filter).await.unwrap_or(0)
}

/// Identifies the visitor. A sandbox's token opens no page.
pub(crate) async fn visitor(app: &App, headers: &HeaderMap) -> Result<Visitor, ApiError> {
    let caller = auth::visitor(app, headers).await?;
    if caller.sandbox.is_some() {
        return Err(ApiError::forbidden("a sandbox's token is good for its own sandbox only"));
    }
    let signed_in = app.config.access == Access::Keys && cookie(headers).is_some();
    Ok(Visitor { token: token(app, headers), caller, signed_in, waiting: 0 })
}

/// Compares two tokens in constant time.
pub(crate) fn is_same(token: &str, expected: &str) -> bool {
    auth::hash(token) == auth::hash(expected)
}

/// Returns the token of this browser's forms, bound to its cookie.
pub(crate) fn token(app: &App, headers: &HeaderMap) -> String {
    app.master_key.mark(&format!("form of {}", cookie(headers).unwrap_or_default()))
}

/// Refuses what another site made a browser send. Browsers say from where a request comes, and pages cannot change
/// that.
pub(crate) fn require_own_page(headers: &HeaderMap) -> Result<(), ApiError> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let is_own = match (text("sec-fetch-site"), text(ORIGIN.as_str())) {
        (Some(site), _) => site == "same-origin",
        (None, Some(origin)) => origin.split_once("://").map(|(_, host)| host) == text(HOST.as_str()),
        (None, None) => false,
    };
    if is_own { Ok(()) } else { Err(ApiError::forbidden("this was not sent by a page of this server")) }
}

/// The hash of the key with which this browser signed in, if it did and that is not too long ago.
pub(crate) fn key_hash(app: &App, headers: &HeaderMap) -> Option<String> {
    let sealed = URL_SAFE_NO_PAD.decode(cookie(headers)?).ok()?;
    let text = String::from_utf8(app.master_key.open(&sealed, WORDS).ok()?).ok()?;
    let (hash, until) = text.split_once(' ')?;
    let until: Timestamp = until.parse().ok()?;
    (app.clock.now() < until).then(|| hash.to_owned())
}

/// The header that makes a browser remember a key's hash.
pub(crate) fn remember(app: &App, headers: &HeaderMap, hash: &str) -> Result<String, ApiError> {
    let until = app.clock.now() + LASTS;
    let sealed = seal(app, format!("{hash} {until}").as_bytes(), WORDS)?;
    let value = URL_SAFE_NO_PAD.encode(sealed);
    Ok(format!("{NAME}={value}; Max-Age={}{}", LASTS.as_secs(), attributes(headers)))
}

/// The header that makes a browser forget it.
pub(crate) fn forget(headers: &HeaderMap) -> String {
    format!("{NAME}=; Max-Age=0{}", attributes(headers))
}

/// No script reads it, no other site makes it go along, and what came encrypted goes back so.
fn attributes(headers: &HeaderMap) -> String {
    let proxied = headers.get("x-forwarded-proto").and_then(|value| value.to_str().ok());
    let secure = if proxied.is_some_and(|scheme| scheme.eq_ignore_ascii_case("https")) { "; Secure" } else { "" };
    format!("; Path=/; HttpOnly; SameSite=Strict{secure}")
}

/// True when this browser has a cookie that has expired.
pub(crate) async fn has_ended(app: &App, headers: &HeaderMap) -> bool {
    let refused = |refused: ApiError| refused.status() == StatusCode::UNAUTHORIZED;
    cookie(headers).is_some() && visitor(app, headers).await.is_err_and(refused)
}

/// The value of our cookie.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == NAME).map(|(_, value)| value).filter(|value| !value.is_empty())
}
