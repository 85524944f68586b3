//! Callers and their permissions.
//!
//! A key belongs to an owner and has a scope. Handlers say what they need by what they take: `Reader`, `Submitter`,
//! `Admin`; for a sandbox also `Caller::of_sandbox`. Owners see their own things; who has the scope `admin` sees all.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use listener::Connection;
use scenario::hex;
use sha2::{Digest as _, Sha256};
use store::Scope;
use tokio::time::Instant;

use crate::app::App;
use crate::config::Access;
use crate::error::ApiError;
use crate::retry::patiently;
use crate::web::session;

/// The prefix of every key.
pub const KEY_PREFIX: &str = "ts_live_";
/// The prefix of every sandbox token.
pub const SANDBOX_PREFIX: &str = "ks_sb_";

/// Lifetime of a cached key: the longest time until a revoked one is refused.
const KNOWN: Duration = Duration::from_secs(2);
/// The most cached keys.
const REMEMBERED: usize = 10_000;

/// The caller of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The key's id.
    pub(crate) key: String,
    /// Whose things it sees.
    pub(crate) owner: String,
    /// Its permissions.
    pub(crate) scope: Scope,
    /// The only sandbox that it may use, for a sandbox's token.
    pub(crate) sandbox: Option<String>,
}

/// Keys that were looked up a moment ago.
#[derive(Debug, Default)]
pub(crate) struct Keys(Mutex<HashMap<String, (Instant, Caller)>>);

/// Somebody who may read.
#[derive(Debug, Clone)]
pub(crate) struct Reader(pub(crate) Caller);

/// Somebody who may change and submit things.
#[derive(Debug, Clone)]
pub(crate) struct Submitter(pub(crate) Caller);

/// Somebody who may do everything.
#[derive(Debug, Clone)]
pub(crate) struct Admin(pub(crate) Caller);

impl Caller {
    /// The owner whose things may be listed; `None` for those of all owners.
    pub(crate) fn sees(&self) -> Option<&str> {
        if self.scope == Scope::Admin { None } else { Some(&self.owner) }
    }

    /// The owner for whom something is done: the key's own, or for who has the scope `admin` the one that is named.
    pub(crate) fn acts_for(&self, named: Option<&str>) -> Result<String, ApiError> {
        match named.filter(|named| *named != self.owner) {
            None => Ok(self.owner.clone()),
            Some(named) if self.scope != Scope::Admin => {
                let named = scenario::untrusted::line(named, 100);
                Err(ApiError::forbidden(format!("this key is not of the owner `{named}`")))
            }
            Some(named) => {
                require_owner(named)?;
                Ok(named.to_owned())
            }
        }
    }

    /// The owner whose things are listed: the one that is named, or all that the key sees.
    pub(crate) fn looks_at(&self, named: Option<&str>) -> Result<Option<String>, ApiError> {
        match named {
            None => Ok(self.sees().map(ToOwned::to_owned)),
            Some(named) => self.acts_for(Some(named)).map(Some),
        }
    }

    /// Refuses what belongs to somebody else.
    pub(crate) fn owns(&self, owner: &str, what: &str) -> Result<(), ApiError> {
        match self.sees() {
            Some(own) if own != owner => Err(ApiError::forbidden(format!("{what} belongs to another owner"))),
            _ => Ok(()),
        }
    }

    /// Allows a sandbox to its owner, with a key that may change things, or to its own token.
    pub(crate) fn of_sandbox(&self, sandbox: &str, writes: bool) -> Result<(), ApiError> {
        match (&self.sandbox, self.scope) {
            (Some(own), _) if own == sandbox => Ok(()),
            (Some(_), _) => Err(ApiError::forbidden("a sandbox's token is good for its own sandbox only")),
            (None, Scope::Read) if writes => Err(read_only()),
            (None, _) => Ok(()),
        }
    }
}

/// Refuses what is no name of an owner.
pub(crate) fn require_owner(owner: &str) -> Result<(), ApiError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if (1..=64).contains(&owner.len()) && owner.bytes().all(is_plain) {
        return Ok(());
    }
    Err(ApiError::invalid("an owner has 1 to 64 letters, digits, `.`, `_` and `-`"))
}

/// The hash under which a key is kept.
#[must_use]
pub fn hash(key: &str) -> String {
    hex(Sha256::digest(key.as_bytes()))
}

/// Finds out who calls, and how often they do, before anything else is done.
pub(crate) async fn authenticate(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let headers = request.headers().clone();
    let writes = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    // A browser sends its cookie with whatever it is made to ask; so it reads with it, and changes things through pages.
    let found = patiently(&app.retries, || async {
        if writes { caller(&app, &headers).await } else { visitor(&app, &headers).await }
    });
    let found = found.await;
    let found = attribute(&request, found, |caller| caller);
    let counted = found.and_then(|caller| app.rates.count(&caller.key, writes).map(|()| caller));
    let caller = match counted {
        Ok(caller) => caller,
        Err(refused) => return refused.into_response(),
    };
    request.extensions_mut().insert(caller);
    next.run(request).await
}

/// Counts the connection of a request as one of the caller's, or as nobody's when the caller is not known.
pub(crate) fn attribute<T>(
    request: &Request,
    found: Result<T, ApiError>,
    caller: impl Fn(&T) -> &Caller,
) -> Result<T, ApiError> {
    // Without a socket, in tests, there is no connection.
    let Some(connection) = request.extensions().get::<Connection>() else { return found };
    if found.as_ref().is_err_and(|refused| refused.status() == StatusCode::UNAUTHORIZED) {
        connection.unauthenticated();
    }
    let found = found?;
    connection.authenticated(&caller(&found).key).map_err(|full| ApiError::full("connections", full))?;
    Ok(found)
}

/// Identifies the visitor of a page: by a key, or by the cookie that signing in left.
pub(crate) async fn visitor(app: &App, headers: &HeaderMap) -> Result<Caller, ApiError> {
    match session::key_hash(app, headers) {
        Some(hash) if key(headers).is_none() && app.config.access == Access::Keys => by_hash(app, hash).await,
        _ => caller(app, headers).await,
    }
}

async fn caller(app: &App, headers: &HeaderMap) -> Result<Caller, ApiError> {
    if app.config.access == Access::Open {
        require_loopback_name(headers)?;
        let owner = String::new();
        return Ok(Caller { key: "open".to_owned(), owner, scope: Scope::Admin, sandbox: None });
    }
    let key = key(headers).ok_or_else(|| {
        ApiError::unauthorized(
            "a key is missing: send it as `Authorization: Bearer ts_live_…`; `touchstone key create` makes one",
        )
    })?;
    by_hash(app, hash(key)).await
}

/// Finds the owner of the key with this hash.
pub(crate) async fn by_hash(app: &App, hash: String) -> Result<Caller, ApiError> {
    if let Some(known) = app.keys.known(&hash) {
        return Ok(known);
    }
    let now = app.clock.now();
    let found = app.store.key_by_hash(&hash).await?;
    let found = found.ok_or_else(|| ApiError::unauthorized("this key is not known here, or it was revoked"))?;
    if let Err(error) = app.store.touch_key(&found, now).await {
        // When a key was used last is nice to know, and no more.
        tracing::warn!(%error, "the use of a key was not noted");
    }
    let caller = Caller { key: found.id, owner: found.owner, scope: found.scope, sandbox: found.sandbox };
    app.keys.remember(hash, caller.clone());
    Ok(caller)
}

/// The key of a request, in one of the two headers that clients use.
fn key(headers: &HeaderMap) -> Option<&str> {
    let of = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = of(AUTHORIZATION.as_str()).and_then(|value| {
        let (scheme, key) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    });
    bearer.or_else(|| of("x-api-key")).filter(|key| !key.is_empty())
}

/// A server without keys answers only who calls it by a name of this machine: a page in a browser that was led here by
/// a name of its own is refused.
fn require_loopback_name(headers: &HeaderMap) -> Result<(), ApiError> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let origin = text(ORIGIN);
    // A page of somebody else sends where it comes from.
    let is_own = origin.is_empty() || origin.split_once("://").is_some_and(|(_, host)| is_loopback(host));
    if is_own && is_loopback(text(HOST)) {
        return Ok(());
    }
    Err(ApiError::forbidden("a server that runs with --no-auth answers only under localhost or a loopback address"))
}

/// True when a host, perhaps with its port, is this machine.
fn is_loopback(host: &str) -> bool {
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name).trim_start_matches('[').trim_end_matches(']');
    name.parse::<std::net::IpAddr>().map_or(name == "localhost", |address| address.is_loopback())
}

impl Keys {
    fn known(&self, hash: &str) -> Option<Caller> {
        let keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.get(hash).filter(|(since, _)| since.elapsed() < KNOWN).map(|(_, caller)| caller.clone())
    }

    /// Looks again for every key.
    pub(crate) fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn remember(&self, hash: String, caller: Caller) {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= REMEMBERED {
            keys.clear();
        }
        keys.insert(hash, (Instant::now(), caller));
    }
}

fn read_only() -> ApiError {
    ApiError::forbidden(
        "this key may only read; `touchstone key create --scope submit` makes one that may change things",
    )
}

fn sandbox_only() -> ApiError {
    ApiError::forbidden("a sandbox's token is good for its own sandbox only")
}

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| ApiError::unauthorized("a key is missing"))
    }
}

impl FromRequestParts<App> for Reader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, app).await?;
        if caller.sandbox.is_some() { Err(sandbox_only()) } else { Ok(Self(caller)) }
    }
}

impl FromRequestParts<App> for Submitter {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Reader(caller) = Reader::from_request_parts(parts, app).await?;
        if caller.scope == Scope::Read { Err(read_only()) } else { Ok(Self(caller)) }
    }
}

impl FromRequestParts<App> for Admin {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Submitter(caller) = Submitter::from_request_parts(parts, app).await?;
        if caller.scope == Scope::Admin {
            Ok(Self(caller))
        } else {
            Err(ApiError::forbidden("this needs a key with the scope `admin`"))
        }
    }
}
