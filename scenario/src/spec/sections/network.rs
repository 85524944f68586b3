//! `network`: the hosts that the sandbox may reach.

use crate::spec::section::{by_default, choice, section};
use crate::spec::types::{HostGlob, HostName, Table, Whole};

section! {
    /// What the sandbox may reach. A sandbox has nothing but loopback: declared services are always reachable, and
    /// everything else goes through a gateway of ours or not at all.
    ///
    /// ```yaml
    /// network:
    ///   egress: { default: deny, allow: ["api.example.com"] }
    ///   dns_overrides: { api.stripe.com: stripe-mock.services.internal }
    /// ```
    pub struct Network {
        /// What may be reached outside.
        egress: Egress = by_default(),
        /// What may reach the sandbox from the machine that runs it: ports that are opened on its loopback.
        ingress: Option<Ingress>,
        /// Real names that lead to services of the sandbox.
        dns_overrides: Table<HostName, HostName> = Table::default(),
    }
}

choice! {
    /// Whether something may pass.
    pub enum Policy {
        /// It may not.
        Deny = "deny",
        /// It may.
        Allow = "allow",
    }
}

section! {
    /// What may be reached outside, over HTTP and HTTPS on ports 80 and 443.
    pub struct Egress {
        /// What happens to names that are not listed.
        default: Policy = Policy::Deny,
        /// Names that may be reached; `*.example.com` means every name below `example.com`.
        allow: Vec<HostGlob> = Vec::new(),
    }
}

section! {
    /// What may reach the sandbox.
    pub struct Ingress {
        /// What happens to connections that are not listed.
        default: Policy = Policy::Deny,
        /// Connections that may come in.
        allow: Vec<IngressRule> = Vec::new(),
    }
}

section! {
    /// A connection that may come in.
    pub struct IngressRule {
        /// Where it comes from.
        from: IngressSource,
        /// The port of the sandbox.
        to_port: Whole<1, 65535>,
    }
}

choice! {
    /// Where a connection comes from.
    pub enum IngressSource {
        /// The machine that runs the sandbox.
        Host = "host",
    }
}
