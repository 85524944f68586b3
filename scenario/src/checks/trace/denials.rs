//! Requests that the gateways of a sandbox refused.

use std::collections::BTreeSet;

use crate::evidence::{AuditEvent, Evidence, MergedCall, ModelCall};
use crate::untrusted;

/// Number of characters of a denial that are shown.
const MOST_SHOWN: usize = 200;
/// The names below this are those of services, and lead nowhere only when they are misspelt.
const OWN_DOMAIN: &str = ".services.internal";

/// Every denial, in words.
pub(super) fn of(evidence: &Evidence) -> Vec<String> {
    let hosts = hosts(evidence).into_iter().map(|host| format!("host {}", named(&host)));
    let calls = evidence.model.iter().flat_map(|model| &model.calls).filter(|call| is_refused(call));
    let calls = calls.map(|call| {
        let reason = call.problem.as_deref().unwrap_or_default();
        format!("call of the model ({}): {reason}", call.status)
    });
    hosts.chain(calls).chain(tools(evidence)).map(|denial| untrusted::line(&denial, MOST_SHOWN)).collect()
}

/// The calls of tools that the tool gateway refused.
fn tools(evidence: &Evidence) -> impl Iterator<Item = String> {
    let refused = |call: MergedCall<'_>| Some(format!("call of `{}`: {}", call.seen.tool, call.at_gateway()?.refused?));
    evidence.calls().into_iter().filter_map(refused)
}

fn named(host: &str) -> &str {
    if host.is_empty() { "without a name" } else { host }
}

/// The hosts outside that could not be reached, each once.
fn hosts(evidence: &Evidence) -> BTreeSet<String> {
    let events = evidence.audit.iter().flatten().map(|audited| &audited.event);
    let refused = events.filter_map(|event| match event {
        AuditEvent::EgressDenied { host, .. } => Some(host),
        AuditEvent::Dns { name, answer: None, .. } if is_outside(name) && !is_hidden(name, evidence) => Some(name),
        _ => None,
    });
    refused.map(|host| host.trim_end_matches('.').to_ascii_lowercase()).collect()
}

/// True when a name is that of a host outside.
fn is_outside(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name.contains('.') && !name.ends_with(OWN_DOMAIN) && !name.ends_with(".arpa")
}

/// True when a fault made a name lead nowhere.
fn is_hidden(name: &str, evidence: &Evidence) -> bool {
    let target = format!("dns:{name}");
    evidence.faults.iter().flat_map(|faults| &faults.firings).any(|firing| firing.target.eq_ignore_ascii_case(&target))
}

/// True when the gateway itself refused a call, for what was asked.
fn is_refused(call: &ModelCall) -> bool {
    let is_ours = !call.from_upstream && call.fault.is_none() && call.provider.is_none() && call.problem.is_some();
    is_ours && (400..500).contains(&call.status) && call.status != HUNG_UP
}

/// The status in the record of a call whose client hung up.
const HUNG_UP: u16 = 499;
