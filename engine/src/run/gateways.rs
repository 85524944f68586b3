//! The gateways of one attempt besides its mocks and its network: the model, and the API of its own sandbox.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use doorkeeper::protocol::Transport;
use gateways::addresses::{DOMAIN, MODEL, TOUCHSTONE};
use gateways::api::{self, ApiGateway, ApiService, ApiSettings};
use gateways::clock::Clock;
use gateways::egress::Internet;
use gateways::faults::FaultEngine;
use gateways::model::{ModelGateway, ModelSettings, Source};
use gateways::public_network::{LookupError, NotPublic, PublicUrl};
use gateways::redact::Redactor;
use jiff::Timestamp;
use scenario::cassette::{Cassette, Recording as _};
use scenario::evidence::TokenCount;
use scenario::spec::sections::{Model, ModelMode, Provider};

use super::contracts::Contracts;
use super::replay;
use crate::attempt::Attempt;
use crate::backend::WORKSPACE;
use crate::door::Door;
use crate::entropy;
use crate::environment::Environment;
use crate::error::EngineError;
use crate::providers::{Key, ProviderKind, Reach, RefusedProvider, Upstream};
use crate::services::HTTP;

/// The parts that all gateways of one attempt share.
pub(super) struct Shared<'a> {
    /// The time since the agent started.
    pub(super) clock: &'a Arc<Clock>,
    /// Takes secrets out of everything that is kept.
    pub(super) redactor: &'a Redactor,
    /// The faults of the scenario, if it has any.
    pub(super) faults: Option<&'a Arc<FaultEngine>>,
    /// The session under tool contracts, if the spec has any.
    pub(super) contracts: Option<&'a Contracts>,
}

/// The gateways of one attempt besides its mocks and its network.
#[derive(Debug)]
pub(super) struct Opened {
    /// The API of its own sandbox.
    pub(super) api: Arc<ApiGateway>,
    /// Its model.
    pub(super) model: Option<Arc<ModelGateway>>,
    /// The variables by which programs in the sandbox find them.
    pub(super) variables: Environment,
}

impl Opened {
    /// Opens them inside the sandbox.
    pub(super) async fn open(
        attempt: &Attempt<'_>,
        door: &Door,
        shared: &Shared<'_>,
        now: Timestamp,
    ) -> Result<Self, EngineError> {
        let Shared { clock, redactor, faults, contracts } = *shared;
        let settings = api_settings(attempt, (clock, redactor, contracts), now);
        if let Some(contracts) = contracts {
            contracts.add_root_token(&settings.token);
        }
        let mut variables = api::environment(&settings);
        let api = ApiGateway::new(settings);
        let listener = listen(door, TOUCHSTONE, "the API gateway").await?;
        api.serve(listener).map_err(EngineError::files("serve the API gateway"))?;
        let mut gateway = None;
        if let Some(model) = &attempt.spec.model {
            let token = format!("ts-{}", entropy::hex(24));
            variables.extend(model_variables(&token));
            let settings = model_settings(attempt, model, token.clone(), clock, redactor)?;
            if let Some(contracts) = contracts {
                contracts.add_root_token(&token);
            }
            let contracts = contracts.map(|contracts| Arc::clone(&contracts.session));
            let settings = ModelSettings { faults: faults.cloned(), contracts, ..settings };
            check_upstream(&settings.source).await?;
            let opened = ModelGateway::new(settings);
            let listener = listen(door, MODEL, "the model gateway").await?;
            opened.serve(listener).map_err(EngineError::files("serve the model gateway"))?;
            gateway = Some(Arc::new(opened));
        }
        Ok(Self { api: Arc::new(api), model: gateway, variables })
    }
}

async fn listen(door: &Door, address: Ipv4Addr, whose: &str) -> Result<std::net::TcpListener, EngineError> {
    let address = SocketAddr::from((address, HTTP));
    let listener = door.listen(Transport::Tcp, address).await;
    Ok(listener.map_err(EngineError::door(format!("listen for {whose}")))?.into())
}

fn api_settings(
    attempt: &Attempt<'_>,
    (clock, redactor, contracts): (&Arc<Clock>, &Redactor, Option<&Contracts>),
    now: Timestamp,
) -> ApiSettings {
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
        workspace: WORKSPACE,
        services: services.collect(),
        clock: Arc::clone(clock),
        redactor: redactor.clone(),
        started_at: now,
        workflow: contracts.and_then(|contracts| contracts.workflow.clone()),
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
    let source = match replay::recorded_model(attempt, model) {
        Some(recording) => Source::Recording(recording),
        None => model_source(attempt, model)?,
    };
    let providers = Arc::clone(&attempt.machine.providers);
    Ok(ModelSettings {
        source,
        limits: model.limits.clone(),
        token,
        cost: Arc::new(move |model: &str, tokens: &TokenCount| providers.cost(model, tokens)),
        clock: Arc::clone(clock),
        time: Some(agent_time(attempt)),
        redactor: redactor.at("model"),
        faults: None,
        contracts: None,
    })
}

/// The source of the model's answers, as the spec has it.
fn model_source(attempt: &Attempt<'_>, model: &Model) -> Result<Source, EngineError> {
    let refused = |what: String| EngineError::Unsupported { what };
    let recording = recording(attempt, model)?;
    let upstream = upstream(attempt, model).map_err(|problem| refused(format!("`model.upstream`: {problem}")))?;
    Source::new(model, attempt.scenario, &attempt.values(), upstream, recording.as_ref())
        .map_err(|error| refused(error.to_string()))
}

/// Returns the agent's time limit.
fn agent_time(attempt: &Attempt<'_>) -> Duration {
    let whole = attempt.spec.resources.timeout.get();
    let own = attempt.spec.agent.as_ref().and_then(|agent| agent.common.timeout);
    own.map_or(whole, |own| own.get().min(whole))
}

/// Refuses an upstream whose name leads away from the public network. A name that cannot be found now is looked up again
/// when it is needed, and its addresses are looked at each time.
async fn check_upstream(source: &Source) -> Result<(), EngineError> {
    let Source::Upstream(upstream) = source else { return Ok(()) };
    if upstream.reach == Reach::Anywhere {
        return Ok(());
    }
    let refused = |problem: NotPublic| {
        let what = format!("`model.upstream`: `base_url` {}", RefusedProvider(problem));
        EngineError::Unsupported { what }
    };
    let url = PublicUrl::parse(&upstream.base_url).map_err(refused)?;
    match url.addresses(&Internet).await {
        Err(LookupError::Private { why, .. }) => Err(refused(NotPublic::Private(why))),
        Ok(_) | Err(LookupError::Unknown { .. }) => Ok(()),
    }
}

/// Reads the recording that `replay` answers from.
fn recording(attempt: &Attempt<'_>, model: &Model) -> Result<Option<Cassette>, EngineError> {
    let Some(path) = model.recording.as_ref().filter(|_| model.mode == ModelMode::Replay) else { return Ok(None) };
    let refused =
        |reason: String| EngineError::Unsupported { what: format!("`model.recording`: {}: {reason}", path.as_str()) };
    let bytes = attempt.bundle.read(path.as_str()).map_err(|error| refused(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|error| refused(error.to_string()))?;
    Cassette::parse(&text).map(Some).map_err(|error| refused(error.to_string()))
}

/// Finds the upstream that `proxy` and `record` forward to.
fn upstream(attempt: &Attempt<'_>, model: &Model) -> Result<Option<Upstream>, String> {
    let Some(upstream) = &model.upstream else { return Ok(None) };
    let values = attempt.values();
    let own_model = upstream.model.as_ref().map(|model| model.render(&values));
    if let Some(alias) = &upstream.alias {
        let known = attempt.machine.providers.upstream(alias.as_str()).map_err(|error| error.to_string())?;
        return Ok(Some(Upstream { model: own_model.or(known.model), ..known }));
    }
    let Some(base_url) = &upstream.base_url else { return Ok(None) };
    let named = |problem: &str| format!("`base_url` {problem}");
    let base_url = base_url.render(&values).map_err(|error| named(&format!("cannot be used: {error}")))?;
    let reach = attempt.permissions.providers.reach(&base_url).map_err(|problem| named(&problem.to_string()))?;
    let key = upstream.api_key.as_ref().and_then(|name| attempt.secrets.get(name.as_str()));
    Ok(Some(Upstream {
        name: "model.upstream".to_owned(),
        provider: match upstream.provider {
            Provider::OpenAi => ProviderKind::OpenAi,
            Provider::Anthropic => ProviderKind::Anthropic,
        },
        base_url,
        key: key.and_then(|key| Key::new(key)),
        model: own_model,
        reach,
    }))
}
