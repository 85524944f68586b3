//! Hosts that faults name: `network.egress` lets them out.

use core::net::IpAddr;

use super::network_faults::{DOMAIN, is_allowed_out};
use super::rules::Rules;
use crate::spec::code::Code;

/// A rule of `tool_faults` that names a host, or a glob over hosts, can hit one.
pub(super) fn check_host(rules: &mut Rules<'_>, host: &str) {
    let (spec, host) = (rules.spec, host.to_ascii_lowercase());
    if rules.holes.has_section("network") {
        return;
    }
    let overrides = spec.network.dns_overrides.iter();
    let service = overrides.map(|(name, service)| (name.to_ascii_lowercase(), service)).find(|(name, _)| *name == host);
    if let Some((_, service)) = service {
        let service = service.strip_suffix(DOMAIN).unwrap_or(service);
        let message = format!("`{host}` leads to the service `{service}`, and not out of the sandbox");
        return rules.at("tool").report(Code::UnknownService, message, Some(&format!("name the service: `{service}`")));
    }
    if host.ends_with(DOMAIN) {
        let message = format!("`{host}` is the name of a service in the sandbox, and no host outside");
        let help = format!("name the service without `{DOMAIN}`");
        return rules.at("tool").report(Code::UnknownService, message, Some(&help));
    }
    if host.parse::<IpAddr>().is_ok() {
        let message = format!("`{host}` is an address, and only hosts with a name are reached");
        return rules.at("tool").report(Code::NeverFires, message, Some("name the host"));
    }
    if !is_allowed_out(&spec.network.egress, &host) {
        let message = format!("`{host}` is no service, and `network.egress` does not let a host of this name out");
        let help = "add the host to `network.egress.allow`, or name a service";
        rules.at("tool").report(Code::UnknownService, message, Some(help));
    }
}
