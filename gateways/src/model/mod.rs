//! The model gateway: the model that the agent talks to, in the shapes of OpenAI's and Anthropic's APIs.
//!
//! It speaks chat completions, responses, embeddings and the list of models of OpenAI, and messages and the list of models of
//! Anthropic, at paths with and without `/v1`. Answers come from a script, an upstream or a recording ([`Source`]). What it
//! promises beyond what all gateways do:
//!
//! - **The key stays outside.** The agent has a token of its scenario; a request without it is answered with 401. The
//!   upstream's key is added here, and taken out of whatever the upstream says.
//! - **Streams pass as they come**, and are read on the way: tokens, tools, ends.
//! - **A call counts when it was answered** with a status of 2xx. Refusals cost nothing and use up no turn.
//! - **A limit that fires** stays fired: every later request is answered with 429, and [`ModelGateway::limit_fired`] resolves.
//!   `max_calls` fires at the first call beyond it; tokens and cost are added up when an answer has ended.
//! - **A provider that fails is tried again** before anything of an answer has reached the agent, and blamed only when it fails a
//!   question of the gateway's own too (`provider.rs`).
//! - **Refusals that asking again does not change** say so (`x-should-retry: false`), because the stock clients try again after
//!   5xx and 429.
//!
//! Memory limits: 64 MiB of requests and answers and 64 MiB of texts of tools that are kept (some arguments also as
//! trees, of 200,000 values in all), 512 MiB that are under way, and the buffers of 512 connections.

mod answering;
mod entries;
mod event_ends;
mod failure;
mod fault;
mod forwarding;
mod gateway;
mod governed;
mod ledger;
mod limits;
mod pace;
mod passing;
mod provider;
mod proxy;
mod refusal;
mod replay;
mod request;
mod rewriting;
mod route;
mod script;
mod scrub;
mod sending;
mod server;
mod settings;
mod slow_body;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod ticket;
mod wire;

use std::fmt;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use scenario::evidence::{CallTrace, Evidence, Fired, ModelRecord, ProviderFailure, Usage};

pub use limits::{ModelGatewayLimits, RetryLimits};
pub use pace::PaceLimits;
pub use script::Script;
pub use settings::{Cost, MissingSource, ModelSettings, Recording, Source};

use crate::listener::Listener;
use gateway::{Answers, Gateway};

/// The model of one scenario. Dropping it ends it.
pub struct ModelGateway {
    gateway: Arc<Gateway>,
    listener: Listener,
}

impl ModelGateway {
    /// A gateway that answers nothing until it is served.
    #[must_use]
    pub fn new(settings: ModelSettings) -> Self {
        Self::with_limits(settings, ModelGatewayLimits::default())
    }

    /// A gateway with other largest numbers than the usual ones.
    #[must_use]
    pub fn with_limits(settings: ModelSettings, limits: ModelGatewayLimits) -> Self {
        let gateway = Gateway::new(settings, limits);
        Self { gateway, listener: server::listener(&limits) }
    }

    /// Serves a listener; there may be several. It must be called within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// The listener cannot be served.
    pub fn serve(&self, listener: TcpListener) -> io::Result<()> {
        let gateway = Arc::clone(&self.gateway);
        let link = gateway.link();
        let serve = move |connection| server::serve(Arc::clone(&gateway), connection);
        self.listener.serve_link(listener, None, link, serve)
    }

    /// Returns the record of everything that crossed the gateway so far.
    #[must_use]
    pub fn recorded(&self) -> ModelRecord {
        let (variants, unused_turns) = match &self.gateway.answers {
            Answers::Script(player) => (player.variants(), player.unused()),
            Answers::Upstream(_) | Answers::Recording(_) => (Vec::new(), Vec::new()),
        };
        let (provider_failures, provider_down) = match &self.gateway.answers {
            Answers::Upstream(forwarding) => forwarding.failures(),
            Answers::Script(_) | Answers::Recording(_) => (Vec::new(), false),
        };
        let redacted = |failure: ProviderFailure| self.gateway.ledger.redacted(failure);
        let entries = self.gateway.ledger.entries();
        ModelRecord {
            calls: entries.calls.clone(),
            only_counted: entries.only_counted,
            tools_only_counted: entries.tools_only_counted,
            earlier_tools: Vec::new(),
            variants,
            unused_turns,
            exhausted: entries.exhausted,
            misses: entries.misses.clone(),
            provider_failures: provider_failures.into_iter().map(redacted).collect(),
            provider_down,
        }
    }

    /// The tools that the model called so far, and the results that the agent sent back.
    #[must_use]
    pub fn call_trace(&self) -> CallTrace {
        self.gateway.ledger.entries().trace.trace().clone()
    }

    /// Calls, tokens and cost so far. The cost is `None` when a call was billed whose model has no price.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.gateway.ledger.entries().used()
    }

    /// The limit that fired.
    #[must_use]
    pub fn fired(&self) -> Option<Fired> {
        self.gateway.ledger.fired()
    }

    /// Waits for a limit of the model to fire; it may never do.
    pub async fn limit_fired(&self) -> Fired {
        self.gateway.ledger.wait_for_limit().await
    }
}

#[async_trait]
impl crate::Gateway for ModelGateway {
    /// Ends the records. A connection that stays is cut. Later requests are refused, and not recorded.
    async fn seal(&self) {
        self.listener.seal().await;
        if let Answers::Upstream(forwarding) = &self.gateway.answers {
            forwarding.settle().await;
        }
        self.gateway.sealed.store(true, Ordering::Release);
        self.gateway.ledger.close();
    }

    fn record(&self, evidence: &mut Evidence) {
        let record = self.recorded();
        evidence.call_trace = self.call_trace();
        evidence.usage = self.usage();
        evidence.model = Some(record);
        // A limit that fired with the agent's last call ended nobody, and counts all the same.
        if let Some(fired) = self.fired().filter(|fired| evidence.limits.iter().all(|one| one.limit != fired.limit)) {
            evidence.limits.push(fired);
        }
    }
}

impl fmt::Debug for ModelGateway {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ModelGateway").finish_non_exhaustive()
    }
}
