//! Tools of the gateway, as `tool` of faults and attacks names them.

use super::rules::Rules;
use crate::spec::code::Code;
use crate::spec::sections::{ToolFault, ToolServer, ToolTarget};
use crate::spec::shape::MOST_ENTRIES;
use crate::spec::types::ToolName;
use crate::spec::{ToolMatcher, host_of_tool, is_route_glob};

/// The calls that a target is about, as far as the spec tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reach {
    /// It names a service, or a route of one.
    pub(super) services: bool,
    /// It names a tool of the gateway.
    pub(super) tools: bool,
}

/// Returns true if a target names a tool: one that is known, or one that a server without `tools` may have.
pub(super) fn names_tool(rules: &Rules<'_>, target: &ToolTarget, matcher: &ToolMatcher) -> bool {
    let (spec, written) = (rules.spec, target.tool.as_str());
    if is_route_glob(written) {
        return false;
    }
    let is_about = |name: &str| name == written || matcher.is_about(name, "", "");
    let is_open = |server: &ToolServer| server.tools.is_none() && may_offer(server, written);
    rules.holes.may_have_tool(written)
        || spec.tools.known_names().take(MOST_ENTRIES).any(|name| is_about(&name))
        || host_of_tool(written).is_none() && spec.tools.servers().any(is_open)
}

/// Returns true if a server may offer a tool of this name, or one that this glob is about.
fn may_offer(server: &ToolServer, written: &str) -> bool {
    let prefix = server.prefix.as_ref().map_or("", ToolName::as_str);
    written.contains(['*', '?']) || written.starts_with(prefix) && written.len() > prefix.len()
}

/// The kind of thing that a target names, when it names a server instead of its tools.
pub(super) fn server_help(rules: &Rules<'_>, written: &str) -> Option<String> {
    let server = rules.spec.tools.servers().find(|server| server.server.as_str() == written)?;
    let example = server.known_names().next().unwrap_or_else(|| server.offered_name("*"));
    Some(format!("`{written}` is a server: name its tools, such as `{example}`"))
}

/// A fault of tools hits tools, and one of services hits services.
pub(super) fn check_mode(rules: &mut Rules<'_>, fault: &ToolFault, reach: Reach) {
    let (written, mode) = (&fault.target.tool, fault.mode.word());
    if !reach.tools && fault.mode.is_for_tools_only() {
        let message = format!("`{mode}` is about tools of the gateway, and `{written}` names none");
        let help = "name a tool that `tools` declares, or use another mode, such as `error`";
        rules.at("tool").report(Code::WrongServiceKind, message, Some(help));
    } else if !reach.services && fault.mode.is_for_services_only() {
        let message = format!("`{mode}` is about services, and `{written}` names none");
        let help = "name a service, or use another mode, such as `connection_reset` or `wrong_data`";
        rules.at("tool").report(Code::WrongServiceKind, message, Some(help));
    }
}

/// A call of a tool has no URL of its own.
pub(super) fn check_url(rules: &mut Rules<'_>, target: &ToolTarget, reach: Reach) {
    if reach == (Reach { services: false, tools: true }) && target.match_url.is_some() {
        let message = "calls of tools have no URL, so that a rule with `match_url` hits none";
        rules.at("match_url").report_key(Code::NeverFires, message, Some("remove it"));
    }
}
