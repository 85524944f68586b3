//! The gateways of one attempt besides its mocks and its network: the model, and the API of its own sandbox.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use doorkeeper::protocol::Transport;
use jiff::Timestamp;
use scenario::cassette::Cassette;
use scenario::evidence::{Evidence, Fired, TokenCount};
use scenario::spec::sections::{Model, ModelMode, Provider};

use crate::attempt::Attempt;
use crate::door::Door;
use crate::entropy;
use crate::environment::Environment;
use crate::error::EngineError;
use crate::gateways::api::{self, ApiGateway, ApiService, ApiSettings};
use crate::gateways::clock::Clock;
use crate::gateways::model::{ModelGateway, ModelSettings, Source};
use crate::providers::{Key, ProviderKind, Upstream};
use crate::redact::Redactor;
use crate::services::HTTP;
use crate::services::addresses::{DOMAIN, MODEL, TOUCHSTONE};

/// The gateways of one attempt besides its mocks and its network.
#[derive(Debug)]
pub(crate) struct Gateways {
    api: ApiGateway,
    model: Option<ModelGateway>,
    variables: Environment,
}

impl Gateways {
    /// Opens them inside the sandbox.
    pub(super) async fn open(
        attempt: &Attempt<'_>,
        door: &Door,
        clock: &Arc<Clock>,
        redactor: &Redactor,
        now: Timestamp,
    ) -> Result<Self, EngineError> {
        let settings = api_settings(attempt, clock, redactor, now);
        let mut variables = api::environment(&settings);
        let api = ApiGateway::new(settings);
        let listener = listen(door, TOUCHSTONE, "the API gateway").await?;
        api.serve(listener).map_err(EngineError::files("serve the API gateway"))?;
        let mut gateway = None;
        if let Some(model) = &attempt.spec.model {
            let token = format!("ts-{}", entropy::hex(24));
            variables.extend(model_variables(&token));
            let opened = ModelGateway::new(model_settings(attempt, model, token, clock, redactor)?);
            let listener = listen(door, MODEL, "the model gateway").await?;
            opened.serve(listener).map_err(EngineError::files("serve the model gateway"))?;
            gateway = Some(opened);
        }
        Ok(Self { api, model: gateway, variables })
    }

    /// The variables by which programs in the sandbox find them.
    pub(super) fn variables(&self) -> &Environment {
        &self.variables
    }

    /// Waits for a limit of the model to fire; it may never do.
    pub(crate) async fn limit_fired(&self) -> Fired {
        match &self.model {
            Some(model) => model.limit_fired().await,
            None => std::future::pending().await,
        }
    }

    /// What programs in the sandbox reported about themselves so far.
    pub(crate) fn reported(&self) -> Vec<serde_json::Value> {
        self.api.reported()
    }

    /// Ends the records.
    pub(super) async fn seal(&self) {
        self.api.seal().await;
        if let Some(model) = &self.model {
            model.seal().await;
        }
    }

    /// Adds what crossed them to the evidence.
    pub(super) fn record(&self, evidence: &mut Evidence) {
        evidence.self_reported = self.api.reported();
        if self.api.uncounted() > 0 {
            evidence.notes.push(format!("the agent reported {} events more than are kept", self.api.uncounted()));
        }
        let Some(model) = &self.model else { return };
        let record = model.record();
        (evidence.tool_calls, evidence.tool_errors) = record.tool_counts();
        evidence.usage = model.usage();
        evidence.model = Some(record);
        // A limit that fired with the agent's last call ended nobody, and counts all the same.
        if let Some(fired) = model.fired().filter(|fired| evidence.limits.iter().all(|one| one.limit != fired.limit)) {
            evidence.limits.push(fired);
        }
    }
}

async fn listen(door: &Door, address: Ipv4Addr, whose: &str) -> Result<std::net::TcpListener, EngineError> {
    let address = SocketAddr::from((address, HTTP));
    let listener = door.listen(Transport::Tcp, address).await;
    Ok(listener.map_err(EngineError::door(format!("listen for {whose}")))?.into())
}

fn api_settings(attempt: &Attempt<'_>, clock: &Arc<Clock>, redactor: &Redactor, now: Timestamp) -> ApiSettings {
    let services = attempt.spec.services.iter().map(|service| ApiService {
        name: service.name().to_string(),
        host: format!("{}{DOMAIN}", service.name()),
        port: service.ports().first().and_then(|port| u16::try_from(*port).ok()).unwrap_or(0),
    });
    ApiSettings {
        sandbox_id: attempt.sandbox_id.map_or_else(|| format!("sb-{}", entropy::hex(6)), str::to_owned),
        token: format!("ks_sb_{}", entropy::hex(24)),
        spec_id: attempt.spec.id.to_string(),
        scenario_id: attempt.scenario.id.to_string(),
        services: services.collect(),
        clock: Arc::clone(clock),
        redactor: redactor.clone(),
        started_at: now,
    }
}

/// The variables by which stock clients of OpenAI and Anthropic find the model, and names of our own.
fn model_variables(token: &str) -> Environment {
    let host = format!("http://model{DOMAIN}");
    let version = format!("{host}/v1");
    let urls = [
        ("OPENAI_BASE_URL", &version),
        ("OPENAI_API_BASE", &version),
        ("TOUCHSTONE_MODEL_URL", &version),
        ("KEYSTONE_MODEL_URL", &version),
        // Anthropic's clients add the version themselves.
        ("ANTHROPIC_BASE_URL", &host),
    ];
    let keys = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TOUCHSTONE_MODEL_KEY", "KEYSTONE_MODEL_KEY"];
    let urls = urls.map(|(name, url)| (name.to_owned(), url.clone()));
    urls.into_iter().chain(keys.map(|name| (name.to_owned(), token.to_owned()))).collect()
}

fn model_settings(
    attempt: &Attempt<'_>,
    model: &Model,
    token: String,
    clock: &Arc<Clock>,
    redactor: &Redactor,
) -> Result<ModelSettings, EngineError> {
    let refused = |what: String| EngineError::Unsupported { what };
    let recording = recording(attempt, model)?;
    let upstream = upstream(attempt, model).map_err(|problem| refused(format!("`model.upstream`: {problem}")))?;
    let source = Source::new(model, attempt.scenario, &attempt.values(), upstream, recording.as_ref())
        .map_err(|error| refused(error.to_string()))?;
    let providers = Arc::clone(&attempt.machine.providers);
    Ok(ModelSettings {
        source,
        limits: model.limits.clone(),
        token,
        cost: Arc::new(move |model: &str, tokens: &TokenCount| providers.cost(model, tokens)),
        clock: Arc::clone(clock),
        redactor: redactor.at("model"),
    })
}

/// What `replay` answers from.
fn recording(attempt: &Attempt<'_>, model: &Model) -> Result<Option<Cassette>, EngineError> {
    let Some(path) = model.recording.as_ref().filter(|_| model.mode == ModelMode::Replay) else { return Ok(None) };
    let refused =
        |reason: String| EngineError::Unsupported { what: format!("`model.recording`: {}: {reason}", path.as_str()) };
    let bytes = attempt.bundle.read(path.as_str()).map_err(|error| refused(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|error| refused(error.to_string()))?;
    Cassette::parse(&text).map(Some).map_err(|error| refused(error.to_string()))
}

/// Where `proxy` and `record` forward to.
fn upstream(attempt: &Attempt<'_>, model: &Model) -> Result<Option<Upstream>, String> {
    let Some(upstream) = &model.upstream else { return Ok(None) };
    let values = attempt.values();
    let own_model = upstream.model.as_ref().map(|model| model.render(&values));
    if let Some(alias) = &upstream.alias {
        let known = attempt.machine.providers.upstream(alias.as_str())?;
        return Ok(Some(Upstream { model: own_model.or(known.model), ..known }));
    }
    let key = upstream.api_key.as_ref().and_then(|name| attempt.secrets.get(name.as_str()));
    Ok(Some(Upstream {
        name: "model.upstream".to_owned(),
        provider: match upstream.provider {
            Provider::OpenAi => ProviderKind::OpenAi,
            Provider::Anthropic => ProviderKind::Anthropic,
        },
        base_url: upstream.base_url.as_ref().map(|url| url.render(&values)).unwrap_or_default(),
        key: key.and_then(|key| Key::new(key)),
        model: own_model,
    }))
}
