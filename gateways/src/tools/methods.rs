//! The methods of the protocol.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use scenario::spec::sections::ToolMode;
use serde_json::{Value as Json, json};

use super::Inner;
use super::catalogue::{OfferedTool, hash_of};
use super::limits::PAGE;
use super::protocol::{Era, RpcError, Version};
use super::server::McpServer;
use crate::contract_session::ContractSession;
use crate::faults::milliseconds;

/// The key of `_meta` under which a server tells its name.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

impl Inner {
    /// The answer to `initialize`.
    pub(super) fn initialize(&self, params: &Json) -> Result<Json, RpcError> {
        let wanted =
            params["protocolVersion"].as_str().ok_or_else(|| RpcError::params("`protocolVersion` is missing"))?;
        let version = Version::of_session(wanted);
        self.note_client(&params["clientInfo"], version);
        Ok(json!({
            "protocolVersion": version.name(),
            "capabilities": self.capabilities(),
            "serverInfo": server_info(),
        }))
    }

    /// The answer to a method that needs no session and makes no stream, except calls of tools.
    pub(super) async fn answer(
        &self,
        era: Era,
        method: &str,
        params: &Json,
        contracts: Option<&Arc<ContractSession>>,
    ) -> Result<Json, RpcError> {
        let result = match method {
            "ping" if !era.is_alone() => json!({}),
            "server/discover" => self.discover(),
            "tools/list" => self.list_tools(params, contracts)?,
            "logging/setLevel" => json!({}),
            "resources/list" => self.list_of_servers("resources", "resources").await,
            "resources/templates/list" => self.list_of_servers("resources/templates", "resourceTemplates").await,
            "prompts/list" => self.list_of_servers("prompts", "prompts").await,
            "resources/read" => self.ask_servers("resources", method, params).await?,
            "prompts/get" => self.ask_servers("prompts", method, params).await?,
            "completion/complete" => self.ask_servers("completions", method, params).await?,
            _ => return Err(RpcError::no_method(method)),
        };
        Ok(complete(era, method, result))
    }

    fn discover(&self) -> Json {
        json!({
            "supportedVersions": Version::names(),
            "capabilities": self.capabilities(),
            "_meta": {SERVER_INFO: server_info()},
        })
    }

    /// Returns the gateway's capabilities: tools, and those that its servers have besides.
    fn capabilities(&self) -> Json {
        let mut capabilities = json!({"tools": {"listChanged": true}});
        for what in ["resources", "prompts", "completions"] {
            if self.catalogue.servers().any(|server| server.capabilities[what].is_object()) {
                capabilities[what] = json!({});
            }
        }
        capabilities
    }

    /// A page of the tools.
    fn list_tools(&self, params: &Json, contracts: Option<&Arc<ContractSession>>) -> Result<Json, RpcError> {
        let from = match &params["cursor"] {
            Json::Null => 0,
            cursor => cursor
                .as_str()
                .and_then(|cursor| cursor.parse().ok())
                .ok_or_else(|| RpcError::params("the cursor is not one of ours"))?,
        };
        let shown = self.shown(contracts);
        let page: Vec<_> = shown.iter().skip(from).take(PAGE).cloned().collect();
        let next = from.saturating_add(PAGE);
        let mut result = json!({"tools": page});
        if next < shown.len() {
            result["nextCursor"] = next.to_string().into();
        }
        Ok(result)
    }

    /// Prepares a list of tools: asks the servers again, and the fault engine. Returns how long the list hangs, if it does.
    pub(super) async fn before_list(&self, params: &Json) -> Option<Duration> {
        // The pages of one list are one list.
        if !params["cursor"].is_null() {
            return None;
        }
        self.count_list();
        self.catalogue.refresh(self.clock.elapsed_ms()).await;
        let faults = self.faults.as_ref()?;
        let offered = self.catalogue.offered();
        let there = offered.iter().filter(|tool| !self.faulted.has_vanished(&tool.name));
        let names: Vec<_> = there.map(|tool| tool.name.as_str()).collect();
        let fault = faults.tool_list(&names)?;
        match &fault.mode {
            ToolMode::ListHang(hang) => return Some(Duration::from_millis(milliseconds(hang.delay_ms.get()))),
            ToolMode::RugPull(swapped) => {
                for tool in offered.iter().filter(|tool| faults.names_tool(&fault, &tool.name)) {
                    self.faulted.swap(&tool.name, swapped);
                    let shown = self.faulted.swapped(&tool.name, &tool.definition).unwrap_or_default();
                    self.catalogue.note_injected(&tool.name, Some(hash_of(&shown)), self.clock.elapsed_ms());
                }
            }
            _ => {}
        }
        None
    }

    /// The definitions of all tools, as the agent sees them now.
    fn shown(&self, contracts: Option<&Arc<ContractSession>>) -> Vec<Json> {
        let offered = self.catalogue.offered();
        let names: Vec<String> = offered.iter().map(|tool| tool.name.clone()).collect();
        let by_contracts = contracts.or(self.contracts.as_ref()).map(|session| session.shown(&names));
        let is_shown = |name: &String| by_contracts.as_ref().is_none_or(|shown| shown.contains(name));
        let there = offered.iter().filter(|tool| !self.faulted.has_vanished(&tool.name) && is_shown(&tool.name));
        let shown = |tool: &Arc<OfferedTool>| {
            let swapped = self.faulted.swapped(&tool.name, &tool.definition);
            swapped.unwrap_or_else(|| tool.definition.clone())
        };
        there.map(shown).collect()
    }

    /// The lists of all servers that have such a thing, one after the other. A server that does not answer has none.
    async fn list_of_servers(&self, what: &str, key: &str) -> Json {
        let capability = what.split('/').next().unwrap_or(what);
        let method = format!("{what}/list");
        let able = self.able(capability);
        let lists = join_all(able.iter().map(|server| server.list_within(&method, key))).await;
        let items: Vec<Json> = lists.into_iter().flatten().flatten().collect();
        json!({ key: items })
    }

    /// The answer of the first server that has one.
    async fn ask_servers(&self, capability: &str, method: &str, params: &Json) -> Result<Json, RpcError> {
        let mut plain = params.clone();
        if let Some(object) = plain.as_object_mut() {
            object.remove("_meta");
        }
        let mut problem = RpcError::no_method(method);
        for server in self.able(capability) {
            match server.request_within(method, plain.clone()).await {
                Ok(result) => return Ok(result),
                Err(failure) => problem = failure.to_rpc(),
            }
        }
        Err(problem)
    }

    fn able(&self, capability: &str) -> Vec<Arc<McpServer>> {
        self.catalogue.servers().filter(|server| server.capabilities[capability].is_object()).cloned().collect()
    }
}

/// The result as its era has it: one that stands alone says that it is complete, and that nobody should keep it.
pub(super) fn complete(era: Era, method: &str, mut result: Json) -> Json {
    if era.is_alone() && result.is_object() {
        if result.get("resultType").is_none() {
            result["resultType"] = "complete".into();
        }
        let is_cacheable = matches!(method, "server/discover" | "resources/read") || method.ends_with("/list");
        if is_cacheable {
            result["ttlMs"] = 0.into();
            result["cacheScope"] = "private".into();
        }
    }
    result
}

fn server_info() -> Json {
    json!({"name": "touchstone", "title": "Touchstone", "version": env!("CARGO_PKG_VERSION")})
}
