//! Calls that are forwarded to a provider.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, StatusCode, header};
use scenario::evidence::Dialect;
use serde_json::Value as Json;

use crate::egress::Internet;
use crate::providers::{Key, ProviderKind, Reach, Upstream};
use crate::public_network::{PublicResolver, PublicUrl};

use super::limits::{CONNECT_WAIT, READ_WAIT};
use super::refusal::Refusal;
use super::request::ModelRequest;
use super::scrub::Scrubber;

/// Headers that belong to a connection, to who sends it, or to how the body travels. They are not passed in either direction.
const OWN_HEADERS: [&str; 26] = [
    "accept-encoding",
    "alt-svc",
    "anthropic-organization-id",
    "api-key",
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "openai-organization",
    "openai-project",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "set-cookie",
    "strict-transport-security",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
    "x-api-key",
    "x-real-ip",
];

/// The version of Anthropic's API in which we ask our own questions.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// The code of a refusal where no request can be made.
pub(super) const UNUSABLE: &str = "upstream_unusable";

/// A way to a provider.
#[derive(Debug)]
pub(super) struct Proxy {
    upstream: Upstream,
    /// The client, or why there is none.
    client: Result<reqwest::Client, String>,
}

impl Proxy {
    pub(super) fn new(upstream: Upstream) -> Self {
        // Somebody else may have installed it before; then it is the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = client(&upstream);
        Self { upstream, client }
    }

    /// The model that is asked upstream.
    pub(super) fn model<'a>(&'a self, asked: &'a ModelRequest) -> &'a str {
        self.upstream.model.as_deref().unwrap_or(&asked.model)
    }

    /// The model that is asked whatever the agent asks for.
    pub(super) fn fixed_model(&self) -> Option<&str> {
        self.upstream.model.as_deref()
    }

    /// The shape of the upstream's API.
    pub(super) fn kind(&self) -> ProviderKind {
        self.upstream.provider
    }

    /// The part of the spec, or of this machine's configuration, that describes the upstream.
    pub(super) fn name(&self) -> String {
        format!("`{}`", self.upstream.name)
    }

    /// A text without the key.
    pub(super) fn scrubbed(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.scrubbed_bytes(text.as_bytes())).into_owned()
    }

    /// A body without the key.
    pub(super) fn scrubbed_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut scrubber = self.scrubber();
        let mut scrubbed = scrubber.push(bytes);
        scrubbed.extend(scrubber.finish());
        scrubbed
    }

    /// Returns the scrubber that takes the key out of answers.
    pub(super) fn scrubber(&self) -> Scrubber {
        Scrubber::new(self.upstream.key.as_ref().map(Key::expose))
    }

    /// The headers of an answer that may pass: none that has the key.
    pub(super) fn answer_headers(&self, headers: &HeaderMap) -> HeaderMap {
        let scrubber = self.scrubber();
        let mut headers = passed(headers);
        let leaking: Vec<_> = headers
            .iter()
            .filter(|(_, value)| scrubber.finds(value.as_bytes()))
            .map(|(name, _)| name.clone())
            .collect();
        leaking.into_iter().for_each(|name| drop(headers.remove(name)));
        headers
    }

    /// Refuses calls that the provider does not speak.
    pub(super) fn check(&self, dialect: Dialect) -> Result<(), Refusal> {
        let (speaks, name, paths) = match self.upstream.provider {
            ProviderKind::OpenAi => {
                (dialect != Dialect::Messages, "openai", "/chat/completions, /responses and /embeddings")
            }
            ProviderKind::Anthropic => {
                (matches!(dialect, Dialect::Messages | Dialect::Models), "anthropic", "/messages")
            }
        };
        if speaks {
            return Ok(());
        }
        let message = format!("the upstream of this scenario has `provider: {name}`, which is called at {paths}");
        Err(Refusal::new(StatusCode::BAD_REQUEST, "wrong_provider", message))
    }

    /// Forwards a call, and returns the head of its answer.
    pub(super) async fn forward(
        &self,
        asked: &ModelRequest,
        parts: &Parts,
        body: Bytes,
    ) -> Result<reqwest::Response, Refusal> {
        let client = self.client.as_ref().map_err(|error| unusable(error))?;
        let url = self.url(&asked.route.path, parts.uri.query());
        let method = if asked.route.dialect == Dialect::Models { Method::GET } else { Method::POST };
        let mut headers = passed(&parts.headers);
        headers.insert(header::ACCEPT_ENCODING, http::HeaderValue::from_static("identity"));
        let mut request = self.with_key(client.request(method.clone(), url).headers(headers));
        if method == Method::POST {
            request = request.body(self.body(asked, body));
        }
        send(request).await
    }

    /// Sends a question of our own, with nothing of the agent's in it.
    pub(super) async fn ask(&self, path: &str, body: Option<Json>) -> Result<reqwest::Response, Refusal> {
        let client = self.client.as_ref().map_err(|error| unusable(error))?;
        let url = self.url(path, None);
        let request = match body {
            Some(body) => client.post(url).header(header::CONTENT_TYPE, "application/json").body(body.to_string()),
            None => client.get(url),
        };
        let request = match self.upstream.provider {
            ProviderKind::OpenAi => request,
            ProviderKind::Anthropic => request.header("anthropic-version", ANTHROPIC_VERSION),
        };
        send(self.with_key(request)).await
    }

    fn with_key(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        match (&self.upstream.key, self.upstream.provider) {
            (Some(key), ProviderKind::OpenAi) => request.bearer_auth(key.expose()),
            (Some(key), ProviderKind::Anthropic) => request.header("x-api-key", key.expose()),
            (None, _) => request,
        }
    }

    /// The body as it came, unless another model is to be asked.
    fn body(&self, asked: &ModelRequest, body: Bytes) -> Bytes {
        let Some(model) = self.upstream.model.as_ref().filter(|model| **model != asked.model) else { return body };
        let mut changed = asked.body.clone();
        changed["model"] = model.as_str().into();
        changed.to_string().into()
    }

    fn url(&self, path: &str, query: Option<&str>) -> String {
        let base = self.upstream.base_url.trim_end_matches('/');
        let version = match self.upstream.provider {
            ProviderKind::Anthropic if !base.ends_with("/v1") => "/v1",
            ProviderKind::Anthropic | ProviderKind::OpenAi => "",
        };
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        format!("{base}{version}{path}{query}")
    }
}

/// Makes a client that follows no redirect, and reaches only the networks that the upstream may reach.
fn client(upstream: &Upstream) -> Result<reqwest::Client, String> {
    let mut builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .connect_timeout(CONNECT_WAIT)
        .read_timeout(READ_WAIT);
    if upstream.reach == Reach::Public {
        // An address is connected to as it is; only names are looked up by the resolver.
        PublicUrl::parse(&upstream.base_url).map_err(|error| format!("its address {error}"))?;
        builder = builder.dns_resolver(PublicResolver(Arc::new(Internet)));
    }
    builder.build().map_err(|error| chain(&error))
}

/// The headers that may pass.
fn passed(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<_> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let stays = |name: &HeaderName| {
        let name = name.as_str();
        !OWN_HEADERS.contains(&name) && !name.starts_with("x-forwarded-") && !named.iter().any(|other| other == name)
    };
    headers.iter().filter(|(name, _)| stays(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

async fn send(request: reqwest::RequestBuilder) -> Result<reqwest::Response, Refusal> {
    request.send().await.map_err(|error| unreachable(&chain(&error.without_url())))
}

/// The refusal where no request can be made at all. Asking again does not change that.
fn unusable(reason: &str) -> Refusal {
    let message = format!("the upstream cannot be asked: {reason}");
    Refusal::new(StatusCode::BAD_GATEWAY, UNUSABLE, message)
}

fn unreachable(reason: &str) -> Refusal {
    let message = format!("the upstream did not answer: {reason}");
    Refusal::passing(StatusCode::BAD_GATEWAY, "upstream_unreachable", message)
}

/// An error with its causes.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let texts: Vec<_> = std::iter::once(error.to_string()).chain(causes.map(ToString::to_string)).collect();
    texts.join(": ")
}
