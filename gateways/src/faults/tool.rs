//! Rules of faults of services that are called over HTTP, and the faults of one such service.

use std::sync::Arc;

use scenario::spec::ToolMatcher;
use scenario::spec::sections::{ToolFault, ToolMode};

use super::ledger::Ledger;
use super::rule::{Decision, Rule};
use super::{Fault, FaultEngine, ToolRequest};

/// The calls that a rule of `tool_faults` is about.
#[derive(Debug)]
pub(super) struct ToolRule {
    matcher: Option<ToolMatcher>,
    /// True when its calls are connections, and not requests.
    counts_connections: bool,
    /// True when it can hit a connection whose requests are encrypted.
    hits_connections: bool,
    /// True when it gives answers that were given before.
    remembers: bool,
    /// True when it is about tools of the gateway, and about no service and host.
    is_for_tools_only: bool,
    /// True when its calls are lists of tools, and not calls of them.
    counts_lists: bool,
}

/// The rules of a spec.
pub(super) fn rules(faults: &[ToolFault]) -> impl Iterator<Item = Rule<ToolRule, ToolMode>> {
    faults.iter().enumerate().map(|(index, fault)| Rule {
        id: format!("tool_faults[{index}]"),
        target: fault.target.tool.to_string(),
        matcher: ToolRule {
            matcher: ToolMatcher::new(&fault.target),
            counts_connections: matches!(fault.mode, ToolMode::ConnectionRefused(_)),
            hits_connections: fault.mode.hits_connections(),
            remembers: match &fault.mode {
                ToolMode::WrongData(wrong) => wrong.stale,
                ToolMode::WrongEntity(wrong) => wrong.from.is_none(),
                _ => false,
            },
            is_for_tools_only: fault.mode.is_for_tools_only(),
            counts_lists: fault.mode.counts_lists(),
        },
        trigger: fault.trigger.clone(),
        mode: fault.mode.clone(),
    })
}

impl ToolRule {
    /// Returns true if this request is one of its calls, whose route is `service:METHOD /path`.
    pub(super) fn is_about_request(&self, service: &str, route: &str, url: &str) -> bool {
        let matches = |matcher: &ToolMatcher| is_of_kind(matcher, service) && matcher.matches(service, route, url);
        !self.counts_connections && !self.is_for_tools_only && self.matcher.as_ref().is_some_and(matches)
    }

    /// Returns true if a call of this tool is one of its calls.
    fn is_about_tool_call(&self, tool: &str) -> bool {
        !self.counts_lists && self.names_tool(tool)
    }

    /// Returns true if a list with these tools is one of its calls.
    fn is_about_list<'t>(&self, mut tools: impl Iterator<Item = &'t str>) -> bool {
        self.counts_lists && tools.any(|tool| self.names_tool(tool))
    }

    fn names_tool(&self, tool: &str) -> bool {
        let is_plain = |matcher: &ToolMatcher| !matcher.is_narrowed() && matcher.matches(tool, tool, "");
        !self.counts_connections && self.matcher.as_ref().is_some_and(is_plain)
    }

    fn is_about_connection(&self, service: &str) -> bool {
        self.counts_connections && self.may_be_about(service)
    }

    /// Returns true if an encrypted connection to this host is one of its calls.
    fn is_about_encrypted(&self, host: &str) -> bool {
        let is_whole = self.matcher.as_ref().is_some_and(|matcher| !matcher.is_narrowed());
        is_whole && self.hits_connections && self.may_be_about(host)
    }

    fn may_be_about(&self, service: &str) -> bool {
        let is_about = |matcher: &ToolMatcher| is_of_kind(matcher, service) && matcher.may_be_about_service(service);
        !self.is_for_tools_only && self.matcher.as_ref().is_some_and(is_about)
    }
}

/// Returns true if a rule is about hosts and this is one, or neither: a glob over services, such as `*`, is about no
/// host. Hosts have a dot in their names, and services have none.
fn is_of_kind(matcher: &ToolMatcher, service: &str) -> bool {
    matcher.is_about_hosts() == service.contains('.')
}

impl FaultEngine {
    /// True when some rule refuses connections to this service.
    pub(super) fn may_refuse(&self, service: &str) -> bool {
        self.tools.any(|rule| rule.is_about_connection(service))
    }

    /// Decides if a connection to this service is refused.
    pub(super) fn refuses(&self, ledger: &mut Ledger, service: &str) -> bool {
        let target = format!("{service}:connect");
        let is_about = |rule: &ToolRule| rule.is_about_connection(service);
        self.tools.decide(ledger, self.clock.elapsed_ms(), &target, is_about).fault.is_some()
    }
}

impl FaultEngine {
    /// Decides on a call of a declared tool, or of a tool of an MCP server.
    #[must_use]
    pub fn tool_call(&self, tool: &str) -> Decision<ToolMode> {
        if self.tools.is_empty() {
            return Decision::none();
        }
        let is_about = |rule: &ToolRule| rule.is_about_tool_call(tool);
        self.tools.decide(&mut self.ledger(), self.clock.elapsed_ms(), tool, is_about)
    }

    /// Decides on a list of these tools. Which of them the fault is about, [`names_tool`](Self::names_tool) tells.
    #[must_use]
    pub fn tool_list(&self, tools: &[&str]) -> Option<Fault<ToolMode>> {
        if self.tools.is_empty() {
            return None;
        }
        let is_about = |rule: &ToolRule| rule.is_about_list(tools.iter().copied());
        self.tools.decide(&mut self.ledger(), self.clock.elapsed_ms(), "tools/list", is_about).fault
    }

    /// Returns true if the rule of a fault is about a tool.
    #[must_use]
    pub fn names_tool(&self, fault: &Fault<ToolMode>, tool: &str) -> bool {
        let rule = fault.rule.checked_sub(self.tools.offset).and_then(|index| self.tools.rules.get(index));
        rule.is_some_and(|rule| rule.matcher.names_tool(tool))
    }
}

/// The faults of one container that is called over HTTP, or of one host outside.
#[derive(Debug, Clone)]
pub struct ToolFaults {
    engine: Arc<FaultEngine>,
    /// The service, or the host.
    pub service: String,
    /// True when some rule gives answers that were given before.
    pub remembers: bool,
}

impl ToolFaults {
    /// The faults of a service; `None` when no rule is about its requests.
    #[must_use]
    pub fn of(engine: &Arc<FaultEngine>, service: &str) -> Option<Self> {
        let is_about = |rule: &ToolRule| !rule.counts_connections && rule.may_be_about(service);
        let remembers = engine.tools.any(|rule| rule.remembers && is_about(rule));
        let faults = Self { engine: Arc::clone(engine), service: service.to_owned(), remembers };
        engine.tools.any(is_about).then_some(faults)
    }

    /// The faults of a host outside; `None` when no rule is about it.
    #[must_use]
    pub fn of_host(engine: &Arc<FaultEngine>, host: &str) -> Option<Self> {
        let is_about = |rule: &ToolRule| host.contains('.') && rule.may_be_about(host);
        let remembers = engine.tools.any(|rule| rule.remembers && is_about(rule));
        let faults = Self { engine: Arc::clone(engine), service: host.to_owned(), remembers };
        engine.tools.any(is_about).then_some(faults)
    }

    /// Decides if a connection whose requests can be read is refused.
    #[must_use]
    pub fn refuses(&self) -> bool {
        self.engine.refuses(&mut self.engine.ledger(), &self.service)
    }

    /// Decides on a connection whose requests are encrypted.
    #[must_use]
    pub fn encrypted(&self) -> Decision<ToolMode> {
        let engine = &self.engine;
        let target = format!("{}:connect", self.service);
        let is_about = |rule: &ToolRule| rule.is_about_encrypted(&self.service);
        engine.tools.decide(&mut engine.ledger(), engine.clock.elapsed_ms(), &target, is_about)
    }

    /// Decides on a request.
    #[must_use]
    pub fn request(&self, method: &str, path: &str, url: &str) -> Decision<ToolMode> {
        self.engine.tool(ToolRequest { service: &self.service, method, path, url })
    }

    /// Takes a fault back that had no effect.
    pub fn take_back(&self, fault: &Fault<ToolMode>) {
        self.engine.take_back(fault);
    }
}
