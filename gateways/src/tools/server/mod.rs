//! MCP servers whose tools are offered: a command in the sandbox, or a service that speaks HTTP.
//!
//! A server is asked over a link, which only moves messages. It is started once; when it has ended, every call of its tools is
//! answered with an error that says so.

mod http_link;
mod pending;
mod stdio_link;

use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use scenario::evidence::ToolServerRecord;
use scenario::spec::sections::ToolServer;
use serde_json::{Value as Json, json};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::protocol::{RpcError, notification};
use super::service_client::ServicePlace;
use http_link::HttpLink;
use pending::Pending;
pub use stdio_link::ServerPipe;
use stdio_link::StdioLink;

/// The version that we speak to servers.
const VERSION: &str = "2025-11-25";
/// Number of pages of one list that are read.
const MOST_PAGES: usize = 100;
/// Number of tools of one server that are read.
const MOST_TOOLS: usize = 5_000;
/// Size limit of all items of one list: 16 MiB.
const LIST_BYTES: u64 = 16 * 1024 * 1024;
/// Timeout for a server to list its tools while the agent acts. After that, the tools that it had before are offered.
const LIST_WAIT: Duration = Duration::from_secs(10);

/// The way to an MCP server.
pub enum ServerLink {
    /// The standard input and output of a command.
    Stdio(ServerPipe),
    /// HTTP to a service, at this path.
    Http(ServicePlace, String),
}

impl fmt::Debug for ServerLink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Stdio(_) => "Stdio",
            Self::Http(..) => "Http",
        })
    }
}

/// An MCP server that answered `tools/list`.
#[derive(Debug)]
pub struct McpServer {
    /// Its declaration.
    pub(super) declared: ToolServer,
    link: Link,
    /// Its capabilities, as it says.
    pub(super) capabilities: Json,
    program: Option<String>,
    protocol: Option<String>,
    ready_ms: u64,
    list_wait: Duration,
    /// Told when it says that its list changed.
    news: Arc<Notify>,
    /// Reason why it had ended when the agent had; a later end is nobody's doing.
    ended_before: OnceLock<Option<String>>,
    /// Receives the own messages of a server over HTTP.
    listening: Option<AbortOnDropHandle<()>>,
}

#[derive(Debug)]
enum Link {
    Stdio(StdioLink),
    Http(HttpLink),
}

/// The reason why a server did not answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ServerFailure {
    /// The server answered with an error.
    #[error("{}", .0.message)]
    Refused(Box<Refusal>),
    /// The server has ended.
    #[error("the MCP server `{server}` has ended: {why}")]
    Ended {
        /// The server.
        server: String,
        /// Description of the end.
        why: String,
    },
    /// The server took too long.
    #[error("the MCP server `{server}` did not answer within {} s", .wait.as_secs_f64())]
    TimedOut {
        /// The server.
        server: String,
        /// Length of the timeout.
        wait: Duration,
    },
    /// The server broke the protocol.
    #[error("the MCP server `{server}` {problem}")]
    Broken {
        /// The server.
        server: String,
        /// Description of the problem.
        problem: String,
    },
}

/// An error that a server answered with.
#[derive(Debug, Clone)]
pub struct Refusal {
    message: String,
    error: RpcError,
}

impl ServerFailure {
    /// The error of JSON-RPC that the agent gets.
    pub(super) fn to_rpc(&self) -> RpcError {
        match self {
            Self::Refused(refusal) => refusal.error.clone(),
            other => RpcError::internal(other.to_string()),
        }
    }

    /// True when the server itself answered with an error.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_))
    }
}

/// Channel for a server's notifications about a request under way.
pub(super) type Progress = mpsc::Sender<Json>;

impl McpServer {
    /// Begins to speak with a server, and waits until it answers `tools/list`. Returns its tools too.
    ///
    /// # Errors
    ///
    /// Fails when the server does not answer within the time that its declaration gives it.
    pub async fn open(declared: ToolServer, link: ServerLink) -> Result<(Self, Vec<Json>), ServerFailure> {
        let wait = declared.start_timeout.get();
        let name = declared.server.to_string();
        let too_late = || ServerFailure::TimedOut { server: name.clone(), wait };
        timeout(wait, Self::greet(declared.clone(), link)).await.map_err(|_| too_late())?
    }

    async fn greet(declared: ToolServer, link: ServerLink) -> Result<(Self, Vec<Json>), ServerFailure> {
        let began = Instant::now();
        let news = Arc::new(Notify::new());
        let pending = Arc::new(Pending::new(declared.server.to_string(), Arc::clone(&news)));
        let link = match link {
            ServerLink::Stdio(pipe) => Link::Stdio(StdioLink::open(pipe, pending)),
            ServerLink::Http(place, path) => Link::Http(HttpLink::new(place, path, pending)),
        };
        let mut server = Self::unknown(declared, link, news);
        let client = json!({"name": "touchstone", "version": env!("CARGO_PKG_VERSION")});
        let greeting = json!({"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client});
        let welcome = server.request("initialize", greeting, None).await?;
        server.capabilities = welcome["capabilities"].clone();
        server.protocol = welcome["protocolVersion"].as_str().map(str::to_owned);
        server.program = program(&welcome["serverInfo"]);
        if let Link::Http(link) = &server.link {
            link.agreed(server.protocol.as_deref().unwrap_or(VERSION));
        }
        server.notify("notifications/initialized", json!({})).await?;
        let tools = server.list("tools/list", "tools").await?;
        server.listening = match &server.link {
            Link::Http(link) => Some(AbortOnDropHandle::new(tokio::spawn(link.clone().listen()))),
            Link::Stdio(_) => None,
        };
        server.ready_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok((server, tools))
    }

    /// A server of which nothing is known yet.
    fn unknown(declared: ToolServer, link: Link, news: Arc<Notify>) -> Self {
        let (capabilities, program, protocol, ready_ms, list_wait) = (Json::Null, None, None, 0, LIST_WAIT);
        Self {
            declared,
            link,
            capabilities,
            program,
            protocol,
            ready_ms,
            list_wait,
            news,
            ended_before: OnceLock::new(),
            listening: None,
        }
    }

    /// The same with another bound for its lists.
    #[cfg(test)]
    pub(super) fn listing_within(self, list_wait: Duration) -> Self {
        Self { list_wait, ..self }
    }

    /// Sends a request, and waits for the answer. Dropping this cancels the request.
    pub(super) async fn request(
        &self,
        method: &str,
        params: Json,
        progress: Option<Progress>,
    ) -> Result<Json, ServerFailure> {
        match &self.link {
            Link::Stdio(link) => link.request(method, params, progress).await,
            Link::Http(link) => link.request(method, params, progress).await,
        }
    }

    async fn notify(&self, method: &str, params: Json) -> Result<(), ServerFailure> {
        let message = notification(method, params);
        match &self.link {
            Link::Stdio(link) => link.send(&message).await,
            Link::Http(link) => link.notify(&message).await,
        }
    }

    /// Sends a request, and waits for the answer as long as a call of a tool may take.
    pub(super) async fn request_within(&self, method: &str, params: Json) -> Result<Json, ServerFailure> {
        let wait = self.declared.timeout.get();
        timeout(wait, self.request(method, params, None)).await.map_err(|_| self.too_late(wait))?
    }

    /// Reads a whole list, by the method that gives it and the key that it stands under.
    async fn list(&self, method: &str, key: &str) -> Result<Vec<Json>, ServerFailure> {
        let (mut items, mut bytes) = (Vec::new(), 0);
        let mut params = json!({});
        for _ in 0..MOST_PAGES {
            let mut page = self.request(method, params, None).await?;
            match page.get_mut(key).map(Json::take) {
                Some(Json::Array(more)) => {
                    bytes += size(&more);
                    items.extend(more);
                }
                _ => return Err(self.broken(&format!("answered `{method}` without `{key}`"))),
            }
            if bytes > LIST_BYTES {
                return Err(self.broken(&format!("lists more than {LIST_BYTES} bytes")));
            }
            match page["nextCursor"].as_str() {
                Some(cursor) if items.len() < MOST_TOOLS => params = json!({"cursor": cursor}),
                _ => break,
            }
        }
        items.truncate(MOST_TOOLS);
        Ok(items)
    }

    /// The same within a time.
    pub(super) async fn list_within(&self, method: &str, key: &str) -> Result<Vec<Json>, ServerFailure> {
        timeout(self.list_wait, self.list(method, key)).await.map_err(|_| self.too_late(self.list_wait))?
    }

    fn too_late(&self, wait: Duration) -> ServerFailure {
        ServerFailure::TimedOut { server: self.declared.server.to_string(), wait }
    }

    fn broken(&self, problem: &str) -> ServerFailure {
        ServerFailure::Broken { server: self.declared.server.to_string(), problem: problem.to_owned() }
    }

    /// Waits until it says that its list changed.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }

    /// Returns the reason why it answers no more; `None` while it does.
    pub(super) fn ended(&self) -> Option<String> {
        match &self.link {
            Link::Stdio(link) => link.ended(),
            Link::Http(_) => None,
        }
    }

    /// The agent has ended: whatever ends the server from now on is not written down.
    pub(super) fn agent_ended(&self) {
        self.ended_before.get_or_init(|| self.ended());
        if let Link::Http(link) = &self.link {
            link.close_idle();
        }
    }

    /// Returns its record; `hidden` are the tools that it has and that are not offered.
    pub(super) fn record(&self, hidden: Vec<String>) -> ToolServerRecord {
        ToolServerRecord {
            name: self.declared.server.to_string(),
            program: self.program.clone(),
            protocol: self.protocol.clone(),
            ready_ms: self.ready_ms,
            hidden,
            ended: self.ended_before.get().cloned().unwrap_or_else(|| self.ended()),
            stderr: String::new(),
        }
    }
}

/// Counts bytes, and keeps none.
#[derive(Default)]
struct Counted(u64);

impl io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the length of a list as JSON.
fn size(items: &[Json]) -> u64 {
    let mut counted = Counted::default();
    // Counting does not fail.
    let _ = serde_json::to_writer(&mut counted, items);
    counted.0
}

/// Name and version of a program, in one line.
fn program(info: &Json) -> Option<String> {
    let name = info["name"].as_str()?;
    let line = match info["version"].as_str() {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    };
    Some(scenario::untrusted::line(&line, 200))
}
