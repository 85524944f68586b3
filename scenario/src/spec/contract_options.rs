//! The options that a spec gives to its tool contracts.

use std::collections::{BTreeMap, BTreeSet};

use tool_contracts::CompileOptions;
use tool_contracts::options::Principal;

use super::Spec;
use super::sections::{CallWay, ToolContracts};
use super::template::Bindings;

impl Spec {
    /// The options to compile `tool_contracts` with: schemas of tools that the spec declares, and the tools whose executions
    /// pass a gateway.
    #[must_use]
    pub fn contract_options(
        &self,
        contracts: &ToolContracts,
        principal: Principal,
        bindings: &dyn Bindings,
    ) -> CompileOptions {
        let schemas = self.tools.declared().map(|tool| (tool.name.to_string(), tool.input_schema.as_json().clone()));
        CompileOptions {
            principal,
            gateway_tools: self.gateway_tools(contracts),
            tool_schemas: schemas.collect::<BTreeMap<_, _>>(),
            run: contracts.run_options(bindings),
            rules: contracts.rules.iter().map(|rule| rule.render(bindings).to_json()).collect(),
            ..CompileOptions::default()
        }
    }

    /// The services whose requests are tool calls under contracts: those that the contracts name, those behind tools that are HTTP
    /// operations, and MCP servers, so that there is no way around the tool gateway.
    #[must_use]
    pub fn governed_services(&self) -> Vec<String> {
        let Some(contracts) = &self.tool_contracts else { return Vec::new() };
        let named = contracts.governed_services().map(ToString::to_string);
        let operations =
            self.tools.declared().filter_map(|tool| tool.http.as_ref()).map(|http| http.service.to_string());
        let servers = self.tools.servers().filter_map(|server| server.address().map(|url| url.service.to_string()));
        named.chain(operations).chain(servers).collect()
    }

    /// The tools whose executions pass a gateway; `None` when a server has tools that are not known before it runs.
    fn gateway_tools(&self, contracts: &ToolContracts) -> Option<BTreeSet<String>> {
        if self.tools.has_open_server() {
            return None;
        }
        let governed = contracts.tools.iter().filter(|tool| tool.via != CallWay::Llm);
        Some(governed.map(|tool| tool.tool.to_string()).chain(self.tools.known_names()).collect())
    }
}
