//! `http_mock` services: HTTP servers that answer as told, and record every request before they answer.
//!
//! All mocks of a sandbox live in one [`HttpMocks`]. Each has listeners of its own: the address that a client called says
//! which mock is meant, whatever its `Host` header says. Where a name of the outside leads to a mock, TLS is taken off
//! first.
//!
//! The journal records every request whose head could be read. When its body does not come whole, the part that came is
//! recorded with the status of our refusal: 400 when the client disconnected or broke the rules, 408 when it paused for
//! too long, 413 when the body is larger than 64 MiB, 503 when too many large bodies are under way. Bytes that are no
//! HTTP at all, or have a head larger than 64 KiB, are turned away by the HTTP library and are no request. Requests
//! stand in the order in which they had come whole, which is also the order in which sequences answer.
//!
//! Memory limits: for each recording mock 96 MiB of journal; for the sandbox 64 MiB of calls, 128 MiB of bodies and
//! rendered answers under way, and the buffers of 512 connections.

mod answer;
mod arrival;
mod body;
mod fault;
#[cfg(test)]
mod fault_program_tests;
#[cfg(test)]
mod fault_tests;
mod governed;
#[cfg(test)]
mod governed_tests;
mod limits;
mod matching;
mod memory;
mod mock;
#[cfg(test)]
mod replay_tests;
mod request;
mod request_count;
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

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use indexmap::IndexMap;
use scenario::evidence::{Audited, Evidence, Exchange, Fired, Journal, Limit, Played};
use scenario::replay::Session;
use scenario::spec::sections::{HttpMock, ReplayMatching};
use serde_json::Value as Json;

pub(crate) use answer::Answer;
pub(crate) use fault::{Applied, apply, instead, other_path};
pub use limits::MockLimits;
pub(crate) use memory::{AnswerMemory, RequestKey};
pub(crate) use mock::no_room;
pub use request::LONGEST_METHOD;
pub use request_count::CountError;

use super::calls::CallLog;
use super::clock::Clock;
use super::tls::Terminator;
use crate::Gateway;
use crate::contract_session::ServiceGovernor;
use crate::faults::FaultEngine;
use crate::listener::Listener;
use crate::redact::Redactor;
use mock::Mock;
use server::Server;

/// Replaces the values of secrets in an exchange before it is kept. It is also called with the answers of calls, as
/// exchanges whose body is the answer.
pub type Redact = Arc<dyn Fn(&mut Exchange) + Send + Sync>;

/// Facts about the scenario that mocks use.
#[derive(Clone)]
pub struct MockContext {
    /// The scenario's seed, for templates.
    pub seed: u64,
    /// Number of the repetition, for templates.
    pub replica: u32,
    /// The cell's parameters, for templates.
    pub parameters: IndexMap<String, Json>,
    /// The time since the agent started.
    pub clock: Arc<Clock>,
    /// Replaces the values of secrets.
    pub redact: Redact,
    /// True to collect calls for the audit.
    pub collect_calls: bool,
    /// Redactor that finds honeytokens in requests, whether they are recorded or not.
    pub watch: Option<Redactor>,
    /// The faults that hit requests on purpose.
    pub faults: Option<Arc<FaultEngine>>,
    /// The session that recording mocks answer from.
    pub replay: Option<MockReplay>,
    /// The governors of mocks whose requests are tool calls under contracts, by mock.
    pub governors: BTreeMap<String, Arc<ServiceGovernor>>,
}

/// A recorded session that mocks answer from.
#[derive(Debug, Clone)]
pub struct MockReplay {
    /// The session.
    pub session: Arc<Session>,
    /// The way to find the answer to a call.
    pub matching: ReplayMatching,
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
            watch: None,
            faults: None,
            replay: None,
            governors: BTreeMap::new(),
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
    listener: Listener,
    replay: Option<MockReplay>,
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
        let replay = context.replay.clone();
        let context = Arc::new(context);
        let mock = |(name, settings): (String, HttpMock)| {
            let mock = Mock::new(name.clone(), settings, &context, limits, calls.clone());
            (name, Arc::new(mock))
        };
        let mocks = mocks.into_iter().map(mock).collect();
        Self { mocks, calls, server: Server::new(limits), listener: server::listener(&limits), replay }
    }

    /// Serves a mock on a listener. It must be called within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// The listener cannot be served, or no mock has this name.
    pub fn serve(&self, listener: TcpListener, name: &str) -> io::Result<()> {
        self.listen(listener, name, None)
    }

    /// Serves a mock on a listener to which TLS may come as well.
    pub fn serve_secure(&self, listener: TcpListener, name: &str, terminator: Terminator) -> io::Result<()> {
        self.listen(listener, name, Some(terminator))
    }

    fn listen(&self, listener: TcpListener, name: &str, terminator: Option<Terminator>) -> io::Result<()> {
        let unknown = || io::Error::new(io::ErrorKind::NotFound, format!("there is no mock `{name}`"));
        let mock = Arc::clone(self.mocks.get(name).ok_or_else(unknown)?);
        let server = Arc::clone(&self.server);
        self.listener.serve_link(listener, terminator, mock.link(), move |connection| {
            Arc::clone(&server).connection(connection, Arc::clone(&mock))
        })
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
    pub fn calls(&self) -> Vec<Audited> {
        self.call_log().map_or_else(Vec::new, |log| log.calls().to_vec())
    }

    /// Returns the number of calls after those that are kept.
    #[must_use]
    pub fn uncollected_calls(&self) -> u64 {
        self.call_log().map_or(0, |log| log.counted())
    }

    /// Records the differences of the agent's calls from those of the session. With strict matching they fail the
    /// scenario.
    fn record_replay(&self, evidence: &mut Evidence) {
        let Some(replay) = &self.replay else { return };
        let mut played = Played { session: replay.session.id.clone(), ..Played::default() };
        played.is_strict = replay.matching == ReplayMatching::Strict;
        self.mocks.values().for_each(|mock| mock.tell_replay(&mut played));
        match played.is_strict {
            true => evidence.offences.extend(played.differences()),
            false => evidence.notes.extend(played.differences()),
        }
        evidence.replay = Some(played);
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

#[async_trait]
impl Gateway for HttpMocks {
    /// Ends the records, and goes on answering: later calls of checks are not the agent's doing. A connection that
    /// stays is cut, and a request that is coming in on it is recorded as far as it came.
    async fn seal(&self) {
        if !self.mocks.is_empty() {
            self.listener.seal().await;
        }
        self.close();
    }

    fn record(&self, evidence: &mut Evidence) {
        evidence.journals = self.journals();
        evidence.limits.extend(self.fired_limits());
        self.record_replay(evidence);
        let calls = self.calls();
        if !calls.is_empty() {
            evidence.audit.get_or_insert_default().extend(calls);
        }
        // Calls that were only counted could be to anybody.
        let uncollected = self.uncollected_calls();
        if uncollected > 0 && evidence.limits.iter().all(|fired| fired.limit != Limit::Requests) {
            let detail = format!("{uncollected} calls more than the audit keeps");
            evidence.limits.push(Fired { limit: Limit::Requests, detail });
        }
    }
}

impl fmt::Debug for HttpMocks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpMocks").field("mocks", &self.mocks.keys()).finish_non_exhaustive()
    }
}
