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
//! - **Refusals that asking again does not change** say so (`x-should-retry: false`), because the stock clients try again after
//!   5xx and 429.
//!
//! How much memory it takes at most: 64 MiB of requests and answers and 64 MiB of texts of tools that are kept, 512 MiB that are under way,
//! and the buffers of 512 connections.

mod answering;
mod conversation;
mod entries;
mod gateway;
mod ledger;
mod limits;
mod passing;
mod proxy;
mod reading;
mod refusal;
mod replay;
mod request;
mod route;
mod script;
mod scrub;
mod server;
mod settings;
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

use scenario::evidence::{Fired, ModelRecord, Usage};
use tokio::io::{AsyncRead, AsyncWrite};

pub use limits::ModelGatewayLimits;
pub use script::Script;
pub use settings::{Cost, MissingSource, ModelSettings, Recording, Source};

use gateway::{Answers, Gateway};
use server::Server;

/// The model of one scenario. Dropping it ends it.
pub struct ModelGateway {
    gateway: Arc<Gateway>,
    server: Arc<Server>,
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
        Self { server: Server::new(Arc::clone(&gateway)), gateway }
    }

    /// Serves a listener; there may be several. It must be called within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// The listener cannot be served.
    pub fn serve(&self, listener: TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        self.server.serve(tokio::net::TcpListener::from_std(listener)?);
        Ok(())
    }

    /// Serves a connection that somebody else accepted, such as one that came over TLS. HTTP/1 is spoken on it. It returns once
    /// there is room for the connection.
    pub async fn serve_stream<S>(&self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        self.server.take(stream).await;
    }

    /// Ends the records. What the agent had sent before it was ended is taken first, as long as that does not take long; a
    /// connection that stays is cut. Later requests are refused, and not recorded.
    pub async fn seal(&self) {
        self.server.settle().await;
        self.gateway.sealed.store(true, Ordering::Release);
        self.gateway.ledger.close();
    }

    /// What crossed the gateway so far.
    #[must_use]
    pub fn record(&self) -> ModelRecord {
        let (variants, unused_turns) = match &self.gateway.answers {
            Answers::Script(player) => (player.variants(), player.unused()),
            Answers::Upstream(_) | Answers::Recording(_) => (Vec::new(), Vec::new()),
        };
        let entries = self.gateway.ledger.entries();
        ModelRecord {
            calls: entries.calls.clone(),
            only_counted: entries.only_counted,
            tools: entries.tools.clone(),
            tools_only_counted: entries.tools_only_counted,
            variants,
            unused_turns,
            exhausted: entries.exhausted,
            misses: entries.misses.clone(),
        }
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

impl Drop for ModelGateway {
    fn drop(&mut self) {
        self.server.stop();
    }
}

impl fmt::Debug for ModelGateway {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ModelGateway").finish_non_exhaustive()
    }
}
