//! `http://touchstone.services.internal`: the API for a Keystone SDK inside the sandbox.
//!
//! An agent sees its own sandbox, and reports its work: spans of its tools and calls of its models. All of that is
//! self-reported. It is kept as evidence, without secrets, and no verdict, count or cost depends on it.
//!
//! - A sandbox has one token, which is good for its own sandbox only: no other is seen or changed.
//! - Reporting never hurts who reports: an odd event is kept as it is, and one too many is counted. Only what is no JSON is
//!   refused.
//! - Requests that need a server (commands, files, experiments) are answered with a status, a reason and an
//!   alternative.
//!
//! Memory limits: 16 MiB of events, 32 MiB of bodies and answers under way, the buffers of 128 connections, and while
//! one body is read the values in it, of which there are at most 50,000.

mod answer;
mod environment;
mod handoffs;
mod limits;
mod path;
mod requests;
mod server;
#[cfg(test)]
mod tests;
mod trace_log;

use std::fmt;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use async_trait::async_trait;
use scenario::evidence::Evidence;
use serde_json::Value as Json;

use super::clock::Clock;
use crate::Gateway;
use crate::contract_session::ContractWorkflow;
use crate::listener::Listener;
use crate::redact::Redactor;

pub use environment::{BASE_URL, HOST, environment};
pub use limits::ApiLimits;
use requests::Requests;
use server::Server;

/// Facts about the sandbox that the gateway answers with.
#[derive(Clone)]
pub struct ApiSettings {
    /// The sandbox's id: `sb-` and 12 letters of hex.
    pub sandbox_id: String,
    /// Token of the agent: `ks_sb_` and hex.
    pub token: String,
    /// The spec.
    pub spec_id: String,
    /// The scenario.
    pub scenario_id: String,
    /// The folder that the agent works in.
    pub workspace: &'static str,
    /// Services that the agent reaches by name.
    pub services: Vec<ApiService>,
    /// The time since the agent started.
    pub clock: Arc<Clock>,
    /// Takes secrets out of the evidence.
    pub redactor: Redactor,
    /// Start of the attempt.
    pub started_at: jiff::Timestamp,
    /// The sessions of its tool contracts, where they have a workflow.
    pub workflow: Option<Arc<ContractWorkflow>>,
}

/// A service as the agent's SDK shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiService {
    /// Its name in the spec.
    pub name: String,
    /// The name under which it is reached.
    pub host: String,
    /// Its first port; 0 when it has none.
    pub port: u16,
}

impl fmt::Debug for ApiSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token is nobody's business.
        formatter.debug_struct("ApiSettings").field("sandbox_id", &self.sandbox_id).finish_non_exhaustive()
    }
}

/// The gateway of one sandbox. Dropping it ends it.
pub struct ApiGateway {
    requests: Arc<Requests>,
    server: Arc<Server>,
    listener: Listener,
}

impl ApiGateway {
    /// A gateway that answers nothing until it is served.
    #[must_use]
    pub fn new(settings: ApiSettings) -> Self {
        Self::with_limits(settings, ApiLimits::default())
    }

    /// A gateway with other limits than the usual ones.
    #[must_use]
    pub fn with_limits(settings: ApiSettings, limits: ApiLimits) -> Self {
        let requests = Arc::new(Requests::new(settings, limits));
        let listener = server::listener(&limits);
        Self { server: Server::new(Arc::clone(&requests), limits), requests, listener }
    }

    /// Serves a listener. It must be called within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// The listener cannot be served.
    pub fn serve(&self, listener: TcpListener) -> io::Result<()> {
        let server = Arc::clone(&self.server);
        self.listener.serve(listener, None, move |connection| Arc::clone(&server).connection(connection))
    }

    /// Returns the agent's reports about itself, in the order in which they came and without secrets. Each is an object
    /// that is marked with `self_reported` and `received_at_ms`, whatever the agent wrote there.
    #[must_use]
    pub fn reported(&self) -> Vec<Json> {
        self.requests.reported()
    }

    /// Returns the number of events that came and are not kept.
    #[must_use]
    pub fn uncounted(&self) -> u64 {
        self.requests.uncounted()
    }
}

#[async_trait]
impl Gateway for ApiGateway {
    /// Ends the record, and goes on answering.
    async fn seal(&self) {
        self.listener.seal().await;
        self.requests.close();
    }

    fn record(&self, evidence: &mut Evidence) {
        evidence.self_reported = self.reported();
        if self.uncounted() > 0 {
            evidence.notes.push(format!("the agent reported {} events more than are kept", self.uncounted()));
        }
    }
}

impl fmt::Debug for ApiGateway {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ApiGateway").finish_non_exhaustive()
    }
}
