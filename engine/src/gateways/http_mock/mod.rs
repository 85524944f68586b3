//! `http_mock` services: HTTP servers that answer as told, and record every request before they answer.
//!
//! All mocks of a sandbox live in one [`HttpMocks`]. A listener may be a wildcard one that several mocks share: the
//! address that a client called says which is meant.
//!
//! What is recorded: every request whose head could be read. When its body does not come whole, what came is recorded with
//! the status of our refusal: 400 when the client went away or broke the rules, 408 when it paused for too long, 413 when
//! the body is larger than 64 MiB, 503 when too many large bodies are under way. What is no HTTP at all, or has a head
//! larger than 64 KiB, is turned away by the HTTP library and is no request. Requests stand in the order in which they
//! had come whole, which is also the order in which sequences answer.
//!
//! How much memory it takes at most: for each recording mock 96 MiB of journal; for the sandbox 64 MiB of calls, 128 MiB
//! of bodies and rendered answers under way, and the buffers of 512 connections.

mod answer;
mod arrival;
mod limits;
mod matching;
mod mock;
mod request;
mod sending;
mod server;
mod template;
#[cfg(test)]
mod template_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wire_tests;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::net::{IpAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use scenario::evidence::{AuditEvent, Exchange, Fired, Journal};
use scenario::spec::sections::HttpMock;
use serde_json::Value as Json;

pub use limits::MockLimits;

use super::calls::CallLog;
use super::clock::Clock;
use mock::Mock;
use server::Server;

/// Replaces the values of secrets in an exchange before it is kept. It is also called with the answers of calls, as
/// exchanges whose body is the answer.
pub type Redact = Arc<dyn Fn(&mut Exchange) + Send + Sync>;

/// What mocks know of their scenario.
#[derive(Clone)]
pub struct MockContext {
    /// The scenario's seed, for templates.
    pub seed: u64,
    /// Which repetition it is, for templates.
    pub replica: u32,
    /// The cell's parameters, for templates.
    pub parameters: IndexMap<String, Json>,
    /// The time since the agent started.
    pub clock: Arc<Clock>,
    /// Replaces the values of secrets.
    pub redact: Redact,
    /// Whether to collect calls for the audit.
    pub collect_calls: bool,
}

impl Default for MockContext {
    fn default() -> Self {
        Self {
            seed: 0,
            replica: 0,
            parameters: IndexMap::new(),
            clock: Arc::default(),
            redact: Arc::new(|_| {}),
            collect_calls: false,
        }
    }
}

impl fmt::Debug for MockContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Parameters may be large, and the hook cannot be shown.
        formatter.debug_struct("MockContext").field("seed", &self.seed).finish_non_exhaustive()
    }
}

/// All mocks of one sandbox. Dropping it ends them.
pub struct HttpMocks {
    mocks: BTreeMap<String, Arc<Mock>>,
    calls: Option<Arc<Mutex<CallLog>>>,
    server: Arc<Server>,
}

impl HttpMocks {
    /// Mocks by the names of their services. They answer nothing until they are served.
    #[must_use]
    pub fn new(mocks: impl IntoIterator<Item = (String, HttpMock)>, context: MockContext) -> Self {
        Self::with_limits(mocks, context, MockLimits::default())
    }

    /// Mocks with other limits than the usual ones.
    #[must_use]
    pub fn with_limits(
        mocks: impl IntoIterator<Item = (String, HttpMock)>,
        context: MockContext,
        limits: MockLimits,
    ) -> Self {
        let calls = context.collect_calls.then(|| Arc::new(Mutex::new(CallLog::new(limits.calls))));
        let context = Arc::new(context);
        let mock = |(name, settings): (String, HttpMock)| {
            let mock = Mock::new(name.clone(), settings, &context, limits, calls.clone());
            (name, Arc::new(mock))
        };
        let mocks = mocks.into_iter().map(mock).collect();
        Self { mocks, calls, server: Server::new(limits) }
    }

    /// Serves a listener. `names` says which service has which address; a request to any other address is answered with
    /// 404 and counted. It must be called within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// The listener cannot be served.
    pub fn serve(&self, listener: TcpListener, names: HashMap<IpAddr, String>) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let mock =
            |(address, name): (IpAddr, String)| Some((address.to_canonical(), Arc::clone(self.mocks.get(&name)?)));
        self.server.serve(listener, names.into_iter().filter_map(mock).collect());
        Ok(())
    }

    /// The journals of the recording mocks; that of a mock that was never called is empty.
    #[must_use]
    pub fn journals(&self) -> BTreeMap<String, Journal> {
        self.mocks.iter().filter_map(|(name, mock)| Some((name.clone(), mock.journal()?))).collect()
    }

    /// The limit `requests`, for each mock that got more requests than it keeps.
    #[must_use]
    pub fn fired_limits(&self) -> Vec<Fired> {
        self.mocks.values().filter_map(|mock| mock.fired()).collect()
    }

    /// The calls to all mocks, in the order of their answers; empty unless the context asks for them.
    #[must_use]
    pub fn calls(&self) -> Vec<AuditEvent> {
        self.call_log().map_or_else(Vec::new, |log| log.calls().to_vec())
    }

    /// How many calls came after the number that is kept.
    #[must_use]
    pub fn uncollected_calls(&self) -> u64 {
        self.call_log().map_or(0, |log| log.counted())
    }

    /// How many requests came to addresses that have no mock.
    #[must_use]
    pub fn stray_requests(&self) -> u64 {
        self.server.strays()
    }

    /// Ends the records, and goes on answering: what checks call afterwards is not the agent's doing. What the agent had
    /// sent before it was ended is taken first, as long as that does not take long.
    pub async fn seal(&self) {
        if !self.mocks.is_empty() {
            self.server.settle().await;
        }
        self.close();
    }

    /// Ends all listeners and connections. A request that is coming in is recorded as far as it came; afterwards nothing
    /// is recorded any more.
    pub async fn stop(&self) {
        self.server.stop().await;
        self.close();
    }

    fn close(&self) {
        self.mocks.values().for_each(|mock| mock.close());
        if let Some(mut log) = self.call_log() {
            log.close();
        }
    }

    fn call_log(&self) -> Option<MutexGuard<'_, CallLog>> {
        self.calls.as_ref().map(|calls| calls.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for HttpMocks {
    fn drop(&mut self) {
        self.server.cancel();
    }
}

impl fmt::Debug for HttpMocks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpMocks").field("mocks", &self.mocks.keys()).finish_non_exhaustive()
    }
}
