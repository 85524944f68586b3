//! A sandbox as clients see it.

use std::collections::BTreeMap;

use scenario::interactive::ServiceState;
use serde::Serialize;
use serde_json::Value;
use store::{Sandbox, SandboxState};
use utoipa::ToSchema;

/// Where the agent's files are.
const WORKSPACE: &str = "/workspace";

/// A sandbox.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SandboxBody {
    /// Its id.
    #[schema(example = "sb-0f3b2c4d5e6f")]
    id: String,
    /// The spec that it was made from.
    spec_id: String,
    /// `creating`, `ready`, `stopped` or `error`.
    #[schema(example = "ready")]
    state: &'static str,
    /// Where its workspace is, inside it.
    path: &'static str,
    /// Where it is asked about.
    url: String,
    /// When it was asked for.
    #[schema(format = DateTime)]
    created_at: String,
    /// When it ends by itself.
    #[schema(format = DateTime)]
    expires_at: String,
    /// Metadata of its owner.
    metadata: BTreeMap<String, String>,
    /// Services that are reached by name in it.
    services: BTreeMap<String, ServiceBody>,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// A token that is good for this sandbox and nothing else. Shown once, when the sandbox is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

impl SandboxBody {
    /// The same, with its token.
    pub(super) fn with_token(self, token: String) -> Self {
        Self { token: Some(token), ..self }
    }
}

/// The address of a service inside the sandbox.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ServiceBody {
    /// Its name there.
    host: String,
    /// Its port there; 0 when it has none.
    port: u16,
    /// True when it answers.
    ready: bool,
}

/// A sandbox as clients see it.
pub(super) fn shown(sandbox: Sandbox) -> SandboxBody {
    // What nobody wants any more is as good as gone.
    let state = if sandbox.state.is_active() && !sandbox.wanted { SandboxState::Stopped } else { sandbox.state };
    SandboxBody {
        url: format!("/v1/sandboxes/{}", sandbox.new.id),
        id: sandbox.new.id,
        spec_id: sandbox.new.spec_id,
        state: state.word(),
        path: WORKSPACE,
        created_at: sandbox.created_at.to_string(),
        expires_at: sandbox.expires_at.to_string(),
        metadata: texts(sandbox.new.metadata),
        services: services(sandbox.services),
        error: sandbox.error,
        token: None,
    }
}

/// Only texts, because one of the SDKs insists on them.
fn texts(metadata: Value) -> BTreeMap<String, String> {
    let Value::Object(fields) = metadata else { return BTreeMap::new() };
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    fields.into_iter().map(|(name, value)| (name, text(value))).collect()
}

fn services(services: Value) -> BTreeMap<String, ServiceBody> {
    let services: BTreeMap<String, ServiceState> = serde_json::from_value(services).unwrap_or_default();
    let body = |service: ServiceState| ServiceBody { host: service.host, port: service.port, ready: service.ready };
    services.into_iter().map(|(name, service)| (name, body(service))).collect()
}
