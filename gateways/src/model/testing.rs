//! Shared parts of the gateway's tests.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use scenario::cassette::Cassette;
use scenario::evidence::{Body, ModelCall, ModelRecord, TokenCount};
use scenario::plan::{PlanOptions, Values, expand};
use scenario::spec::{Bundle, load};
use serde_json::{Value as Json, json};
use tokio::time::{Instant, sleep};

use super::{ModelGateway, ModelGatewayLimits, ModelSettings, Source};
use crate::clock::Clock;
use crate::providers::Upstream;
use crate::redact::Redactor;

/// The key that the agent has.
pub(super) const TOKEN: &str = "token-of-the-scenario";
/// A secret of the scenario.
pub(super) const SECRET: &str = "s3cret-value";
/// Time limit for whatever a test waits for.
const DEADLINE: Duration = Duration::from_secs(20);

/// A gateway that is being served on loopback.
pub(super) struct Running {
    pub(super) gateway: ModelGateway,
    pub(super) url: String,
    pub(super) client: reqwest::Client,
}

/// An answer of the gateway.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: http::HeaderMap,
    pub(super) text: String,
}

impl Answer {
    pub(super) fn json(&self) -> Json {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {}", self.text))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("a text"))
    }

    pub(super) async fn of(response: reqwest::Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.unwrap_or_else(|error| format!("broken: {error}"));
        Self { status, headers, text }
    }
}

/// Makes the settings of a model in this YAML. `m` costs a dollar for each token, and nothing else has a price.
pub(super) fn settings(model: &str, upstream: Option<Upstream>, recording: Option<&Cassette>) -> ModelSettings {
    let yaml = format!(
        "version: 1\nid: test\nbase: debian\ntask: {{prompt: x}}\nsecrets: [KEY]\nmodel: {{{model}}}\n\
         invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
    );
    let bundle = Bundle::new([("r.json".to_owned(), 1)]).expect("a bundle");
    let loaded = load(&yaml, Some(&bundle));
    let spec = loaded.spec.unwrap_or_else(|| panic!("{yaml}: {:?}", loaded.diagnostics));
    let plan = expand(&spec, PlanOptions::default()).expect("a plan");
    let secrets = BTreeMap::from([("KEY".to_owned(), SECRET.to_owned())]);
    let values = Values::with_secrets(&spec, &plan.scenarios[0], &secrets);
    let section = spec.model.as_ref().expect("a model");
    let cost = |model: &str, tokens: &TokenCount| match model {
        "m" => Some((tokens.input + tokens.output) as f64),
        _ => None,
    };
    ModelSettings {
        source: Source::new(section, &plan.scenarios[0], &values, upstream, recording).expect("a source"),
        limits: section.limits.clone(),
        token: TOKEN.to_owned(),
        cost: Arc::new(cost),
        clock: Arc::new(Clock::default()),
        time: None,
        redactor: Redactor::new(&secrets, "k1"),
        faults: None,
        contracts: None,
    }
}

impl Running {
    /// A scripted gateway.
    pub(super) fn scripted(more: &str) -> Self {
        Self::new(settings(&format!("mode: scripted, {more}"), None, None))
    }

    pub(super) fn new(settings: ModelSettings) -> Self {
        Self::with_limits(settings, ModelGatewayLimits::default())
    }

    pub(super) fn with_limits(settings: ModelSettings, limits: ModelGatewayLimits) -> Self {
        let gateway = ModelGateway::with_limits(settings, limits);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        gateway.serve(listener).expect("serving");
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().expect("a client");
        Self { gateway, url, client }
    }

    pub(super) fn request(&self, path: &str, body: impl Into<reqwest::Body>) -> reqwest::RequestBuilder {
        self.client.post(format!("{}{path}", self.url)).bearer_auth(TOKEN).body(body)
    }

    pub(super) async fn post(&self, path: &str, body: Json) -> Answer {
        self.post_bytes(path, body.to_string()).await
    }

    pub(super) async fn post_bytes(&self, path: &str, body: impl Into<reqwest::Body>) -> Answer {
        Answer::of(self.request(path, body).send().await.expect("an answer")).await
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        let request = self.client.get(format!("{}{path}", self.url)).bearer_auth(TOKEN);
        Answer::of(request.send().await.expect("an answer")).await
    }

    /// Requests a chat completion of the model `m`.
    pub(super) async fn chat(&self, text: &str) -> Answer {
        self.post("/v1/chat/completions", chat(text)).await
    }

    pub(super) fn record(&self) -> ModelRecord {
        self.gateway.recorded()
    }

    pub(super) fn only_call(&self) -> ModelCall {
        let calls = self.record().calls;
        assert_eq!(calls.len(), 1, "{calls:?}");
        calls.into_iter().next().expect("a call")
    }

    /// Waits until this holds of the record.
    pub(super) async fn recorded(&self, holds: impl Fn(&ModelRecord) -> bool) -> ModelRecord {
        let until = Instant::now() + DEADLINE;
        loop {
            let record = self.record();
            if holds(&record) {
                return record;
            }
            assert!(Instant::now() < until, "{record:?}");
            sleep(Duration::from_millis(2)).await;
        }
    }
}

/// A request for a chat completion.
pub(super) fn chat(text: &str) -> Json {
    json!({"model": "m", "messages": [{"role": "user", "content": text}]})
}

/// A body as text.
pub(super) fn text(body: &Body) -> String {
    match body {
        Body::Kept(blob) => blob.text(),
        other => panic!("{other:?}"),
    }
}
