//! `http://tools.services.internal/mcp`: the tools of a spec over the Model Context Protocol.
//!
//! A tool is an HTTP operation of a service, answers that are written down, or a tool of an MCP server that runs in the
//! sandbox or beside it. Whatever it is, a call goes the same way (`call.rs`): it is counted, found, faulted, checked, carried
//! out, written down and answered. Its place in the call trace is found when the agent has ended.
//!
//! - **Sessions and requests that stand alone are served on one address** (`protocol/`). The sandbox's loopback is the
//!   authentication.
//! - **A tool that is not offered cannot be called**, whatever a header says.
//! - **Definitions are pinned at first sight** (`catalogue.rs`): a change is written down, and refused where the spec says so.
//! - **A server that is dead or silent is an answer**, within a bound, and hides no tool of another.
//!
//! Memory limits: 64 MiB of calls, 128 MiB of messages under way, the buffers of 512 connections, and for each server
//! its lists, up to 5,000 tools.

mod call;
mod call_log;
mod catalogue;
mod endpoint;
mod faulted;
mod governed;
mod limits;
mod methods;
mod mock;
mod operation;
mod protocol;
mod recording;
mod result;
mod server;
mod service_client;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use scenario::evidence::{Evidence, Fired, McpClient, ToolRecord};
use scenario::spec::sections::{DeclaredTool, Tools};
use serde_json::{Value as Json, json};
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::Gateway;
use crate::clock::Clock;
use crate::contract_session::ContractSession;
use crate::faults::FaultEngine;
use crate::listener::{DRAIN, IdleTimeout, Listener, ListenerLimits};
use crate::memory_budget::Room;
use crate::redact::Redactor;
use call_log::CallLog;
use catalogue::{Catalogue, OfferedTool, ToolKind};
use faulted::Faulted;
use limits::{CONNECTIONS, CallLimit, IDLE_WAIT, UNDER_WAY_BYTES};
use mock::MockedTool;
use operation::Operation;
use protocol::{Sessions, Version, notification};
pub use recording::RecordedTools;
pub use server::{McpServer, ServerFailure, ServerLink, ServerPipe};
use service_client::ServiceClient;
pub use service_client::ServicePlace;

/// The address of the gateway inside the sandbox.
pub const URL: &str = "http://tools.services.internal/mcp";
/// Number of clients that are kept.
const KEPT_CLIENTS: usize = 20;
/// Pause after clients were told that a server's list changed, in which they are told nothing more of it.
const NEWS_PAUSE: Duration = Duration::from_millis(100);
/// Time for which calls under way may go on when the agent has ended.
const LAST_CALLS: Duration = Duration::from_secs(1);

/// Parts that a tool gateway is made of.
pub struct ToolGatewaySettings {
    /// The tools that the spec declares, each with its service and headers.
    pub declared: Vec<DeclaredWith>,
    /// The servers that answered, with the tools that they listed.
    pub servers: Vec<(McpServer, Vec<Json>)>,
    /// The tools and answers of a recording, in place of all others.
    pub recorded: Option<RecordedTools>,
    /// Limits of the agent's use of its tools.
    pub tools: Tools,
    /// The time since the agent started.
    pub clock: Arc<Clock>,
    /// Takes secrets out of the records.
    pub redactor: Redactor,
    /// The faults of the scenario.
    pub faults: Option<Arc<FaultEngine>>,
    /// The session under tool contracts.
    pub contracts: Option<Arc<ContractSession>>,
}

/// A tool that the spec declares, with the service that it calls and the headers that it sends.
#[derive(Debug)]
pub struct DeclaredWith {
    /// The tool.
    pub tool: DeclaredTool,
    /// The service of an HTTP tool.
    pub service: Option<ServicePlace>,
    /// The headers of an HTTP tool, with templates replaced.
    pub headers: Vec<(String, String)>,
}

/// The tool gateway of one sandbox. Dropping it ends it, and the links to its servers.
pub struct ToolGateway {
    inner: Arc<Inner>,
    listener: Listener,
    /// Ends all that goes on for the gateway.
    _ended: DropGuard,
}

/// State that all calls share.
struct Inner {
    catalogue: Catalogue,
    sessions: Sessions,
    limits: CallLimit,
    log: CallLog,
    clients: Mutex<Vec<McpClient>>,
    lists: AtomicU64,
    clock: Arc<Clock>,
    redactor: Redactor,
    faults: Option<Arc<FaultEngine>>,
    faulted: Faulted,
    contracts: Option<Arc<ContractSession>>,
    recording: Option<RecordedTools>,
    room: Room,
    tasks: TaskTracker,
    ended: CancellationToken,
}

impl ToolGateway {
    /// A gateway that answers nothing until it is served.
    #[must_use]
    pub fn new(settings: ToolGatewaySettings) -> Self {
        let ToolGatewaySettings { declared, servers, recorded, tools, clock, redactor, faults, contracts } = settings;
        let declared = match &recorded {
            Some(recorded) => recorded.definitions().filter_map(OfferedTool::recorded).collect(),
            None => declared.into_iter().map(offered).collect(),
        };
        let records_answers = tools.record.is_some();
        let inner = Inner {
            catalogue: Catalogue::new(declared, servers),
            sessions: Sessions::default(),
            limits: CallLimit::new(&tools.limits),
            log: CallLog::new(redactor.clone(), records_answers),
            clients: Mutex::default(),
            lists: AtomicU64::new(0),
            clock,
            redactor,
            faults,
            faulted: Faulted::default(),
            contracts,
            recording: recorded,
            room: Room::new(UNDER_WAY_BYTES),
            tasks: TaskTracker::new(),
            ended: CancellationToken::new(),
        };
        let idle = IdleTimeout::Requests(IDLE_WAIT);
        let limits = ListenerLimits { connections: CONNECTIONS, idle, drain: DRAIN };
        let ended = inner.ended.clone().drop_guard();
        Self { inner: Arc::new(inner), _ended: ended, listener: Listener::new("the tool gateway", limits) }
    }

    /// Serves a listener. It must be called within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// The listener cannot be served.
    pub fn serve(&self, listener: TcpListener) -> io::Result<()> {
        let inner = Arc::clone(&self.inner);
        self.listener.serve(listener, None, move |connection| Arc::clone(&inner).connection(connection))?;
        for server in self.inner.catalogue.servers() {
            let watching = Arc::clone(&self.inner).watch(Arc::clone(server));
            tokio::spawn(self.inner.ended.clone().run_until_cancelled_owned(watching));
        }
        if let Some(contracts) = &self.inner.contracts {
            let following = Arc::clone(&self.inner).follow_contracts(Arc::clone(contracts));
            tokio::spawn(self.inner.ended.clone().run_until_cancelled_owned(following));
        }
        Ok(())
    }

    /// The agent has ended, and its sandbox is about to end: servers that go with it did not fail.
    pub fn agent_ended(&self) {
        self.inner.catalogue.servers().for_each(|server| server.agent_ended());
        self.inner.catalogue.close_idle();
    }

    /// The limit that fired.
    #[must_use]
    pub fn fired(&self) -> Option<Fired> {
        self.inner.limits.fired()
    }

    /// Waits for a limit to fire; it may never do.
    pub async fn limit_fired(&self) -> Fired {
        self.inner.limits.wait().await
    }
}

/// The configuration by which clients of MCP find the gateway, as most of them read it.
#[must_use]
pub fn client_configuration() -> Json {
    let server = json!({"type": "http", "url": URL});
    json!({"mcpServers": {scenario::evidence::TOOL_GATEWAY: server}})
}

fn offered(declared: DeclaredWith) -> OfferedTool {
    let DeclaredWith { tool, service, headers } = declared;
    let kind = match (&tool.http, &tool.mock, service) {
        (Some(operation), _, Some(service)) => {
            ToolKind::Operation(Operation::new(operation.clone(), &headers, ServiceClient::new(service)))
        }
        (_, Some(mock), _) => ToolKind::Mock(MockedTool::new(mock.clone())),
        // The validator lets no other tool through.
        _ => ToolKind::Recorded,
    };
    OfferedTool::declared(&tool, kind)
}

impl Inner {
    /// Notifies clients when a server's tools changed, for ever.
    async fn watch(self: Arc<Self>, server: Arc<McpServer>) {
        loop {
            self.catalogue.follow(&server, &self.clock).await;
            self.sessions.notify(notification("notifications/tools/list_changed", json!({})));
            sleep(NEWS_PAUSE).await;
        }
    }

    /// Returns the record of the tools that were offered, without secrets.
    fn tool_record(&self, only_counted: u64) -> ToolRecord {
        let (definitions, changes) = self.catalogue.definitions();
        let mut record = ToolRecord {
            definitions,
            changes,
            servers: self.catalogue.server_records(),
            clients: self.clients.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            lists: self.lists.load(Ordering::Acquire),
            calls: self.limits.calls(),
            only_counted,
            misses: self.recording.as_ref().map(RecordedTools::misses).unwrap_or_default(),
            unused: self.recording.as_ref().map_or(0, RecordedTools::unused),
        };
        redact(&mut record, &self.redactor);
        record
    }

    fn count_list(&self) {
        self.lists.fetch_add(1, Ordering::AcqRel);
    }

    /// Writes down who connected.
    fn note_client(&self, info: &Json, version: Version) {
        if !info.is_object() {
            return;
        }
        let text = |key: &str| self.redactor.text(info[key].as_str().unwrap_or_default());
        let line = |key: &str| scenario::untrusted::line(&text(key), 100);
        let client = McpClient { name: line("name"), version: line("version"), protocol: version.name().to_owned() };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.len() < KEPT_CLIENTS && !clients.contains(&client) {
            clients.push(client);
        }
    }
}

/// Takes secrets out of descriptions that servers and agents gave of themselves.
fn redact(record: &mut ToolRecord, redactor: &Redactor) {
    if redactor.is_empty() {
        return;
    }
    for tool in &mut record.definitions {
        redactor.redact(&mut tool.name);
        tool.definition = serde_json::from_str(&redactor.text(&tool.definition.to_string())).unwrap_or_default();
    }
    record.changes.iter_mut().for_each(|change| redactor.redact(&mut change.tool));
    for server in &mut record.servers {
        let texts = server.program.iter_mut().chain(&mut server.ended).chain(&mut server.hidden);
        texts.for_each(|text| redactor.redact(text));
    }
    record.misses.iter_mut().for_each(|missed| redactor.redact(missed));
}

#[async_trait]
impl Gateway for ToolGateway {
    /// Forgets the calls of the setup.
    async fn begin(&self) {
        self.inner.log.forget();
        self.inner.limits.forget();
        self.inner.lists.store(0, Ordering::Release);
        self.inner.clients.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Waits for calls under way for a moment, cancels the rest, and ends the record.
    async fn seal(&self) {
        self.listener.seal().await;
        self.inner.tasks.close();
        let _ = timeout(LAST_CALLS, self.inner.tasks.wait()).await;
        self.inner.ended.cancel();
        let _ = timeout(LAST_CALLS, self.inner.tasks.wait()).await;
        self.inner.log.close();
    }

    fn record(&self, evidence: &mut Evidence) {
        let (calls, only_counted) = self.inner.log.calls();
        evidence.call_trace = std::mem::take(&mut evidence.call_trace).with_executions(calls);
        for (report, _) in evidence.call_trace.tampered() {
            let tool = scenario::untrusted::line(&report.tool, 100);
            evidence.notes.push(format!(
                "the agent told the model another result of `{tool}` than the tool gave (result_tampered)"
            ));
        }
        let tools = self.inner.tool_record(only_counted);
        for change in tools.changes.iter().filter(|change| !change.injected) {
            let what = if change.sha256.is_some() { "changed its definition" } else { "vanished" };
            let tool = scenario::untrusted::line(&change.tool, 100);
            evidence.notes.push(format!("the tool `{tool}` {what} while the agent acted (tool_schema_changed)"));
        }
        evidence.tools = Some(tools);
        // A limit that fired with the agent's last call ended nobody, and counts all the same.
        if let Some(fired) = self.fired().filter(|fired| evidence.limits.iter().all(|one| one.limit != fired.limit)) {
            evidence.limits.push(fired);
        }
    }
}

impl fmt::Debug for ToolGateway {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ToolGateway").field("catalogue", &self.inner.catalogue).finish_non_exhaustive()
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Inner").finish_non_exhaustive()
    }
}
