//! `network_faults`: every rule is about a service or a name that the spec has.

use super::chaos::check_trigger;
use super::rules::Rules;
use crate::spec::code::Code;
use crate::spec::diagnostic::{alternatives, did_you_mean};
use crate::spec::network_matcher::glob;
use crate::spec::sections::chaos::DnsFailure;
use crate::spec::sections::{Chaos, Dns, DnsAnswer, Egress, NetworkMode, Policy, Service};
use crate::spec::types::{NameGlob, ServiceGlob};

/// The model among the services that a rule may name.
const MODEL: &str = "model";
/// The domain of services and gateways.
pub(super) const DOMAIN: &str = ".services.internal";

pub(super) fn check(rules: &mut Rules<'_>, chaos: &Chaos) {
    for (index, fault) in chaos.network_faults.iter().enumerate() {
        let mut list = rules.at("network_faults");
        let mut rules = list.index(index);
        check_mode(&mut rules, &fault.mode);
        check_trigger(&mut rules, &fault.trigger);
    }
}

fn check_mode(rules: &mut Rules<'_>, mode: &NetworkMode) {
    if let NetworkMode::DnsFailure(failure) = mode {
        return check_names(rules, failure);
    }
    if let NetworkMode::Latency(latency) = mode
        && latency.delay_ms.get() + latency.jitter_ms.get() == 0
    {
        rules.at("delay_ms").report(Code::NeverFires, "without a delay this fault does nothing", None);
    }
    match mode.services() {
        Some(services) => {
            for (index, service) in services.iter().enumerate() {
                let mut list = rules.at("services");
                check_service(list.index(index), service);
            }
        }
        None => check_all(rules),
    }
}

/// A rule about everything needs something.
fn check_all(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    let is_hole = rules.holes.has_section("services") || rules.holes.has_section(MODEL);
    if !is_hole && spec.model.is_none() && !spec.services.iter().any(Service::can_be_cut_off) {
        let message = "there is no service and no model whose connections could be faulted";
        rules.report(Code::NeverFires, message, Some("declare the service under `services`, or remove the fault"));
    }
}

/// A name stands for a service whose connections pass through a gateway.
fn check_service(mut rules: Rules<'_>, written: &ServiceGlob) {
    let spec = rules.spec;
    let Some(matcher) = glob(written) else { return };
    let mut matching = spec.services.iter().filter(|service| matcher.is_match(service.name().as_str())).peekable();
    let is_model = matcher.is_match(MODEL) && (spec.model.is_some() || rules.holes.has_section(MODEL));
    if is_model || rules.holes.may_have_service(written) {
        return;
    }
    if matching.peek().is_none() {
        let names = spec.services.iter().map(|service| service.name().as_str());
        let known: Vec<_> = names.chain(spec.model.as_ref().map(|_| MODEL)).collect();
        let help = did_you_mean(written, known.iter().copied()).unwrap_or_else(|| match known.is_empty() {
            true => "declare the service under `services`".to_owned(),
            false => format!("known here: {}", alternatives(known.iter().copied()).replace(" or ", " and ")),
        });
        return rules.report(Code::UnknownService, format!("there is no service `{written}`"), Some(&help));
    }
    if !matching.any(Service::can_be_cut_off) {
        let message = format!("nobody knows the ports of `{written}`, so its connections cannot be faulted");
        rules.report(Code::WrongServiceKind, message, Some("declare the `ports` of the service"));
    }
}

/// Names can be looked up, so that their failure changes something.
fn check_names(rules: &mut Rules<'_>, failure: &DnsFailure) {
    for (index, name) in failure.names.iter().enumerate() {
        let mut list = rules.at("names");
        check_name(list.index(index), name, failure.answer);
    }
}

fn check_name(mut rules: Rules<'_>, written: &NameGlob, answer: DnsAnswer) {
    let known = known_names(&rules);
    let Some(matcher) = glob(&written.to_ascii_lowercase()) else { return };
    if known.iter().any(|name| matcher.is_match(name)) || rules.holes.has_section("services") {
        return;
    }
    let is_inside = !written.contains(['.', '*']) || written.ends_with(DOMAIN);
    if is_inside {
        let help = did_you_mean(written, known.iter().map(String::as_str));
        let help = help.unwrap_or_else(|| "a service has two names: `shop` and `shop.services.internal`".to_owned());
        let message = format!("no service and no gateway has the name `{written}`");
        return rules.report(Code::UnknownService, message, Some(&help));
    }
    if answer == DnsAnswer::Nxdomain && !may_exist_outside(&rules, written) {
        let message = format!("`{written}` does not exist in the sandbox anyway, so this fault never fires");
        let help =
            "allow the name in `network.egress`, lead it to a service in `network.dns_overrides`, or answer `servfail`";
        rules.report(Code::NeverFires, message, Some(help));
    }
}

/// Every name that exists without a way out, in lower case.
fn known_names(rules: &Rules<'_>) -> Vec<String> {
    let spec = rules.spec;
    let services = spec.services.iter().flat_map(|service| {
        let name = service.name().as_str();
        [name.to_owned(), format!("{name}{DOMAIN}")]
    });
    let gateways = ["touchstone", "egress"].into_iter().chain(spec.model.as_ref().map(|_| MODEL));
    let overrides = spec.network.dns_overrides.iter().map(|(host, _)| host.to_ascii_lowercase());
    services.chain(gateways.map(|name| format!("{name}{DOMAIN}"))).chain(overrides).collect()
}

/// Returns true if a name outside may lead somewhere.
fn may_exist_outside(rules: &Rules<'_>, written: &NameGlob) -> bool {
    rules.spec.determinism.dns == Dns::System || is_allowed_out(&rules.spec.network.egress, written)
}

/// Returns true if a name, or some name that a glob matches, may be reached outside.
pub(super) fn is_allowed_out(egress: &Egress, written: &str) -> bool {
    let written = written.to_ascii_lowercase();
    let is_match = |pattern: &str, name: &str| glob(pattern).is_some_and(|glob| glob.is_match(name));
    egress.default == Policy::Allow
        || egress.allow.iter().map(|allowed| allowed.to_ascii_lowercase()).any(|allowed| {
            // Two globs have names in common when either matches the other; there are others, and this is a hint.
            is_match(&written, &allowed) || is_match(&allowed, &written)
        })
}
