//! The tools that are offered, and the changes of their definitions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use futures::future::join_all;
use scenario::evidence::{DefinitionChange, ToolDefinition, ToolServerRecord};
use scenario::spec::sections::DeclaredTool;
use scenario::spec::types::SchemaValidator;
use serde_json::{Map, Value as Json};
use sha2::{Digest as _, Sha256};

use super::mock::MockedTool;
use super::operation::Operation;
use super::server::{McpServer, ServerFailure};
use crate::clock::Clock;

/// Largest definition that is kept as evidence: 64 KiB.
const KEPT_DEFINITION_BYTES: usize = 64 * 1024;
/// Number of changes of definitions that are kept.
const KEPT_CHANGES: usize = 1_000;

/// A tool that is offered.
#[derive(Debug)]
pub(super) struct OfferedTool {
    /// The name by which the agent calls it.
    pub(super) name: String,
    /// Its definition, as the agent sees it.
    pub(super) definition: Json,
    /// The hash of its definition.
    pub(super) sha256: String,
    /// Time limit of a call.
    pub(super) timeout: Duration,
    /// Validates arguments; `None` where its server does.
    pub(super) arguments: Option<SchemaValidator>,
    /// The way in which it is carried out.
    pub(super) kind: ToolKind,
}

/// The way in which a tool is carried out.
#[derive(Debug)]
pub(super) enum ToolKind {
    /// An HTTP operation of a service.
    Operation(Operation),
    /// Answers that are written down.
    Mock(MockedTool),
    /// A tool of an MCP server, by the server's place and its own name.
    Server(Arc<McpServer>, String),
    /// A tool of a recording. It has no other answers.
    Recorded,
}

/// Result of looking a name up.
#[derive(Debug)]
pub(super) enum Found {
    /// A tool that is offered.
    Offered(Arc<OfferedTool>),
    /// A tool of a server that is not offered.
    Hidden,
    /// A tool whose definition must not change, and did.
    Changed,
    /// No tool has this name.
    Unknown,
}

/// All tools of a gateway.
#[derive(Debug)]
pub(super) struct Catalogue {
    declared: Vec<Arc<OfferedTool>>,
    servers: Vec<ServerTools>,
    history: Mutex<History>,
}

/// A server, and its tools as they are now.
#[derive(Debug)]
struct ServerTools {
    server: Arc<McpServer>,
    now: RwLock<Listed>,
}

/// A list of a server's tools.
#[derive(Debug, Default)]
struct Listed {
    offered: Vec<Arc<OfferedTool>>,
    hidden: BTreeSet<String>,
}

/// The definitions at first sight, and later changes.
#[derive(Debug, Default)]
struct History {
    first: BTreeMap<String, ToolDefinition>,
    latest: BTreeMap<String, Option<String>>,
    changes: Vec<DefinitionChange>,
}

impl Catalogue {
    /// Declared tools, and servers with the tools that they listed.
    pub(super) fn new(declared: Vec<OfferedTool>, servers: Vec<(McpServer, Vec<Json>)>) -> Self {
        let declared = declared.into_iter().map(Arc::new).collect();
        let servers = servers.into_iter().map(|(server, tools)| {
            let server = Arc::new(server);
            let now = RwLock::new(listed(&server, tools));
            ServerTools { server, now }
        });
        let catalogue = Self { declared, servers: servers.collect(), history: Mutex::default() };
        catalogue.note(0);
        catalogue
    }

    /// The tools that are offered now: declared ones first, then those of servers in their order. Of two with one name, the first.
    pub(super) fn offered(&self) -> Vec<Arc<OfferedTool>> {
        let of_servers = self.servers.iter().flat_map(|server| server.read().offered.clone());
        let mut names = BTreeSet::new();
        self.declared.iter().cloned().chain(of_servers).filter(|tool| names.insert(tool.name.clone())).collect()
    }

    /// Asks the servers for their tools again. A server that does not answer in time keeps those that it had; one that
    /// has ended too, so that calls report that it did.
    pub(super) async fn refresh(&self, at_ms: u64) {
        join_all(self.servers.iter().map(ServerTools::refresh)).await;
        self.note(at_ms);
    }

    /// Waits until a server says that its list changed, and asks it for its tools again.
    pub(super) async fn follow(&self, server: &Arc<McpServer>, clock: &Clock) {
        server.news().await;
        let known = self.servers.iter().filter(|one| Arc::ptr_eq(&one.server, server));
        join_all(known.map(ServerTools::refresh)).await;
        self.note(clock.elapsed_ms());
    }

    /// The tool of this name.
    pub(super) fn find(&self, name: &str) -> Found {
        if let Some(tool) = self.declared.iter().find(|tool| tool.name == name) {
            return Found::Offered(Arc::clone(tool));
        }
        for server in &self.servers {
            if let Some(tool) = server.read().offered.iter().find(|tool| tool.name == name) {
                let is_changed = server.server.declared.pin && !self.is_first(tool);
                return if is_changed { Found::Changed } else { Found::Offered(Arc::clone(tool)) };
            }
        }
        let is_hidden = self.servers.iter().any(|server| server.read().hidden.contains(name));
        if is_hidden { Found::Hidden } else { Found::Unknown }
    }

    /// Closes connections to services that nobody uses.
    pub(super) fn close_idle(&self) {
        for tool in &self.declared {
            if let ToolKind::Operation(operation) = &tool.kind {
                operation.close_idle();
            }
        }
    }

    /// The servers.
    pub(super) fn servers(&self) -> impl Iterator<Item = &Arc<McpServer>> {
        self.servers.iter().map(|server| &server.server)
    }

    /// The definitions as they were offered first, and their changes.
    pub(super) fn definitions(&self) -> (Vec<ToolDefinition>, Vec<DefinitionChange>) {
        let history = self.history();
        (history.first.values().cloned().collect(), history.changes.clone())
    }

    /// Returns the records of the servers.
    pub(super) fn server_records(&self) -> Vec<ToolServerRecord> {
        let record = |server: &ServerTools| server.server.record(server.read().hidden.iter().cloned().collect());
        self.servers.iter().map(record).collect()
    }

    /// Writes down a definition that a fault put in the place of another.
    pub(super) fn note_injected(&self, tool: &str, sha256: Option<String>, at_ms: u64) {
        let mut history = self.history();
        let is_known =
            history.changes.iter().any(|change| change.injected && change.tool == tool && change.sha256 == sha256);
        if !is_known && history.changes.len() < KEPT_CHANGES {
            history.changes.push(DefinitionChange { tool: tool.to_owned(), at_ms, sha256, injected: true });
        }
    }

    fn is_first(&self, tool: &OfferedTool) -> bool {
        self.history().first.get(&tool.name).is_none_or(|first| first.sha256 == tool.sha256)
    }

    /// Compares the tools with how they were before.
    fn note(&self, at_ms: u64) {
        let offered = self.offered();
        let mut history = self.history();
        for tool in &offered {
            history.saw(tool, at_ms);
        }
        let names: BTreeSet<_> = offered.iter().map(|tool| tool.name.as_str()).collect();
        history.missed(&names, at_ms);
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl History {
    fn saw(&mut self, tool: &OfferedTool, at_ms: u64) {
        let now = Some(tool.sha256.clone());
        let before = self.latest.insert(tool.name.clone(), now.clone());
        self.first.entry(tool.name.clone()).or_insert_with(|| definition(tool));
        if before.is_some_and(|before| before != now) {
            self.changed(&tool.name, now, at_ms);
        }
    }

    fn missed(&mut self, names: &BTreeSet<&str>, at_ms: u64) {
        let gone = |(name, hash): (&String, &Option<String>)| {
            (hash.is_some() && !names.contains(name.as_str())).then(|| name.clone())
        };
        let gone: Vec<_> = self.latest.iter().filter_map(gone).collect();
        for name in gone {
            self.changed(&name, None, at_ms);
            self.latest.insert(name, None);
        }
    }

    fn changed(&mut self, tool: &str, sha256: Option<String>, at_ms: u64) {
        if self.changes.len() < KEPT_CHANGES {
            self.changes.push(DefinitionChange { tool: tool.to_owned(), at_ms, sha256, injected: false });
        }
    }
}

impl ServerTools {
    fn read(&self) -> std::sync::RwLockReadGuard<'_, Listed> {
        self.now.read().unwrap_or_else(PoisonError::into_inner)
    }

    async fn refresh(&self) {
        let tools: Result<_, ServerFailure> = self.server.list_within("tools/list", "tools").await;
        match tools {
            Ok(tools) => *self.now.write().unwrap_or_else(PoisonError::into_inner) = listed(&self.server, tools),
            Err(failure) => tracing::debug!(%failure, "the tools of a server are not known anew"),
        }
    }
}

impl OfferedTool {
    /// A tool that the spec declares.
    pub(super) fn declared(tool: &DeclaredTool, kind: ToolKind) -> Self {
        let definition = tool.definition();
        Self {
            name: tool.name.to_string(),
            sha256: hash_of(&definition),
            definition,
            timeout: tool.timeout.get(),
            // A schema that was read compiles.
            arguments: tool.input_schema.validator().ok(),
            kind,
        }
    }

    /// A tool of a recording.
    pub(super) fn recorded(definition: Json) -> Option<Self> {
        let name = definition["name"].as_str()?.to_owned();
        let sha256 = hash_of(&definition);
        let timeout = Duration::from_secs(60);
        Some(Self { name, definition, sha256, timeout, arguments: None, kind: ToolKind::Recorded })
    }
}

/// A server's list: the tools that are offered, and the names of the others.
fn listed(server: &Arc<McpServer>, tools: Vec<Json>) -> Listed {
    let mut listed = Listed::default();
    for tool in tools {
        let Some(own_name) = tool["name"].as_str().map(str::to_owned) else { continue };
        let name = server.declared.offered_name(&own_name);
        if !server.declared.offers(&own_name) {
            listed.hidden.insert(name);
            continue;
        }
        let sha256 = hash_of(&tool);
        let mut definition = tool;
        definition["name"] = name.as_str().into();
        listed.offered.push(Arc::new(OfferedTool {
            name,
            definition,
            sha256,
            timeout: server.declared.timeout.get(),
            arguments: None,
            kind: ToolKind::Server(Arc::clone(server), own_name),
        }));
    }
    listed
}

fn definition(tool: &OfferedTool) -> ToolDefinition {
    let server = match &tool.kind {
        ToolKind::Server(server, _) => Some(server.declared.server.to_string()),
        ToolKind::Operation(_) | ToolKind::Mock(_) | ToolKind::Recorded => None,
    };
    let fits = tool.definition.to_string().len() <= KEPT_DEFINITION_BYTES;
    let definition = if fits { tool.definition.clone() } else { Json::Null };
    ToolDefinition { name: tool.name.clone(), server, sha256: tool.sha256.clone(), definition }
}

/// Returns the hash of the parts that an agent relies on: name, description and schema, in canonical JSON.
pub(super) fn hash_of(definition: &Json) -> String {
    let part = |key: &str| (key.to_owned(), definition[key].clone());
    let pinned: Map<String, Json> = ["name", "description", "inputSchema"].map(part).into_iter().collect();
    scenario::hex(Sha256::digest(canonical(&Json::Object(pinned)).to_string()))
}

/// The same value with the keys of objects in order.
fn canonical(value: &Json) -> Json {
    match value {
        Json::Object(object) => {
            let sorted: BTreeMap<_, _> = object.iter().map(|(key, value)| (key.clone(), canonical(value))).collect();
            sorted.into_iter().collect::<Map<_, _>>().into()
        }
        Json::Array(items) => items.iter().map(canonical).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::hash_of;

    #[test]
    fn the_hash_is_about_what_an_agent_relies_on() {
        let first = hash_of(&json!({"name": "a", "description": "d", "inputSchema": {"type": "object", "x": 1}}));
        let same =
            hash_of(&json!({"inputSchema": {"x": 1, "type": "object"}, "description": "d", "name": "a", "title": "T"}));
        assert_eq!(first, same);
        for other in [
            json!({"name": "a", "description": "e", "inputSchema": {"type": "object", "x": 1}}),
            json!({"name": "a", "description": "d", "inputSchema": {"type": "object", "x": 2}}),
        ] {
            assert_ne!(hash_of(&other), first, "{other}");
        }
    }
}
