//! Addresses of names on the sandbox's loopback, and the sockets that services listen on.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use gateways::addresses::{DOMAIN, EGRESS, MODEL, TOOLS, TOUCHSTONE};
use scenario::spec::Spec;
use scenario::spec::sections::{Service, ServiceKind};

/// Ports at which gateways listen. A container that wants one for every address would not get it.
const GATEWAY_PORTS: [i64; 4] = [53, 80, 443, 3128];

/// The addresses of a spec's services.
///
/// A mock has an address of its own, so that mocks can share a port. A container shares the sandbox's network and is
/// reached at 127.0.0.1, unless somebody else wants one of its ports or a name of the outside leads to it: then it gets a
/// network of its own, and an address from which we forward to it. A database whose writes are recorded has a network of its
/// own too, behind the usual address, so that there is no way around the recorder; and so has a service with faults, its own or
/// those of the network, in every chaos cell alike.
#[derive(Debug, Clone)]
pub(crate) struct Addresses {
    of: BTreeMap<String, Ipv4Addr>,
    own_network: BTreeSet<String>,
    overridden: BTreeSet<String>,
}

impl Addresses {
    /// Assigns every service an address, for the chaos cells of the spec.
    pub(crate) fn of(spec: &Spec) -> Self {
        Self::in_cell(spec, "")
    }

    /// The same in a chaos cell, which may be a profile that the spec does not have.
    pub(crate) fn in_cell(spec: &Spec, cell: &str) -> Self {
        let crowded = crowded(spec);
        let overridden = overridden(spec);
        let governed = spec.governed_services();
        let records_writes = spec.effective_audit().db_writes;
        let needs_room = |service: &Service| {
            overridden.contains(service.name().as_str()) || service.ports().iter().any(|port| crowded.contains(port))
        };
        let mut of = BTreeMap::new();
        let mut own_network = BTreeSet::new();
        for (index, service) in spec.services.iter().enumerate() {
            let name = service.name().to_string();
            let is_container = matches!(service.kind, ServiceKind::Container(_));
            let shares = is_container && !needs_room(service);
            let is_faulted = spec.may_fault(service, cell) || spec.has_network_faults_of(service);
            let is_watched = spec.may_show_attacks(service, cell);
            let is_governed = governed.contains(&name);
            let is_apart = records_writes && service.may_be_database() || is_faulted || is_watched || is_governed;
            if is_container && (!shares || is_apart) {
                own_network.insert(name.clone());
            }
            of.insert(name, if shares { Ipv4Addr::LOCALHOST } else { own_address(index) });
        }
        Self { of, own_network, overridden }
    }

    /// Returns the address of a service.
    pub(crate) fn get(&self, service: &str) -> Option<Ipv4Addr> {
        self.of.get(service).copied()
    }

    /// Returns true if a service has a network of its own.
    pub(crate) fn has_own_network(&self, service: &str) -> bool {
        self.own_network.contains(service)
    }

    /// Returns true if a name of the outside leads to a service.
    pub(crate) fn is_overridden(&self, service: &str) -> bool {
        self.overridden.contains(service)
    }

    /// Every name that leads to a service: services under both of their names, and the spec's overrides.
    pub(crate) fn hosts(&self, spec: &Spec) -> Vec<(String, Ipv4Addr)> {
        let services = self
            .of
            .iter()
            .flat_map(|(name, address)| [(name.clone(), *address), (format!("{name}{DOMAIN}"), *address)]);
        let mut hosts: Vec<_> = services.collect();
        for (host, target) in spec.network.dns_overrides.iter() {
            if let Some(address) = self.get(service_of(target.as_str())) {
                hosts.push((host.to_string(), address));
            }
        }
        hosts
    }

    /// Every name that exists without a way out: those of services, and those of gateways.
    pub(crate) fn names(&self, spec: &Spec) -> Vec<(String, Ipv4Addr)> {
        let mut names = self.hosts(spec);
        let gateways = [("touchstone", TOUCHSTONE), ("egress", EGRESS)].into_iter();
        let gateways = gateways.chain(spec.model.is_some().then_some(("model", MODEL)));
        let gateways = gateways.chain((!spec.tools.is_empty()).then_some(("tools", TOOLS)));
        names.extend(gateways.map(|(name, address)| (format!("{name}{DOMAIN}"), address)));
        names.push(("localhost".to_owned(), Ipv4Addr::LOCALHOST));
        names
    }
}

/// The service that the target of an override means.
fn service_of(target: &str) -> &str {
    target.strip_suffix(DOMAIN).unwrap_or(target)
}

/// The services that names of the outside lead to.
fn overridden(spec: &Spec) -> BTreeSet<String> {
    spec.network.dns_overrides.iter().map(|(_, target)| service_of(target.as_str()).to_owned()).collect()
}

/// Ports that a container wants and somebody else too: a service, or a gateway.
fn crowded(spec: &Spec) -> BTreeSet<i64> {
    let mut users: BTreeMap<i64, (usize, bool)> = GATEWAY_PORTS.map(|port| (port, (1, false))).into();
    for service in &spec.services {
        let container = matches!(service.kind, ServiceKind::Container(_));
        for port in service.ports().into_iter().collect::<BTreeSet<_>>() {
            let (count, any_container) = users.entry(port).or_default();
            *count += 1;
            *any_container |= container;
        }
    }
    users.into_iter().filter(|(_, (count, container))| *count > 1 && *container).map(|(port, _)| port).collect()
}

/// The address of the service at this place in the spec.
fn own_address(index: usize) -> Ipv4Addr {
    #[expect(clippy::cast_possible_truncation, reason = "the remainders are small")]
    let (third, fourth) = ((index / 250 % 250) as u8, (index % 250 + 1) as u8);
    Ipv4Addr::new(127, 10, third, fourth)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use scenario::spec::{Spec, load};

    use super::Addresses;

    fn spec(services: &str) -> Spec {
        let text = format!(
            "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\nservices: [{services}]\n\
             network: {{dns_overrides: {{api.example.com: mail.services.internal}}}}\n\
             invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
        );
        load(&text, None).spec.expect("a spec")
    }

    #[test]
    fn containers_share_the_network_and_mocks_have_addresses() {
        let spec = spec("{name: db, image: postgres}, {name: mail, type: http_mock}, {name: chat, type: http_mock}");
        let hosts: Vec<_> =
            Addresses::of(&spec).names(&spec).into_iter().map(|(name, address)| format!("{name} {address}")).collect();
        insta::assert_snapshot!(hosts.join("\n"), @r"
        chat 127.10.0.3
        chat.services.internal 127.10.0.3
        db 127.0.0.1
        db.services.internal 127.0.0.1
        mail 127.10.0.2
        mail.services.internal 127.10.0.2
        api.example.com 127.10.0.2
        touchstone.services.internal 127.20.0.2
        egress.services.internal 127.20.0.3
        localhost 127.0.0.1
        ");
    }

    #[test]
    fn a_container_with_a_port_of_a_gateway_or_a_name_of_the_outside_has_a_network_of_its_own() {
        let spec = spec(
            "{name: web, image: x, ports: [80]}, {name: app, image: x, ports: [8080]}, {name: mail, image: y, ports: [25]}",
        );
        let addresses = Addresses::of(&spec);
        assert_eq!(["web", "app", "mail"].map(|name| addresses.has_own_network(name)), [true, false, true]);
        assert_eq!(["web", "app", "mail"].map(|name| addresses.is_overridden(name)), [false, false, true]);
        assert_eq!(addresses.get("app"), Some(Ipv4Addr::LOCALHOST));
    }

    #[test]
    fn a_recorded_database_has_a_network_of_its_own_behind_the_usual_address() {
        let services = "{name: db, image: postgres}, {name: cache, image: redis}, {name: mail, type: http_mock}";
        let spec = spec(&format!("{services}]\naudit: {{db_writes: true}}\ntags: ["));
        let addresses = Addresses::of(&spec);
        assert!(addresses.has_own_network("db") && !addresses.has_own_network("cache"));
        assert_eq!(addresses.get("db"), Some(std::net::Ipv4Addr::LOCALHOST));
    }

    #[test]
    fn a_container_behind_a_faulted_network_has_a_network_of_its_own_behind_the_usual_address() {
        let services = "{name: db, image: postgres}, {name: cache, image: redis}, {name: job, image: x}, {name: mail, type: http_mock}";
        let of = |chaos: &str| {
            let spec = spec(&format!("{services}]\n{chaos}\ntags: ["));
            let addresses = Addresses::of(&spec);
            assert_eq!(addresses.get("cache"), Some(Ipv4Addr::LOCALHOST));
            ["db", "cache", "job"].map(|name| addresses.has_own_network(name))
        };
        let latency = "network_faults: [{mode: latency, services: [cache]}]";
        assert_eq!(of(&format!("chaos: {{{latency}}}")), [false, true, false]);
        assert_eq!(of(&format!("chaos_matrix: [{{name: calm}}, {{name: slow, {latency}}}]")), [false, true, false]);
        assert_eq!(of("chaos: {network_faults: [{mode: partition}]}"), [true, true, false], "a port must be known");
        assert_eq!(of("chaos: {network_faults: [{mode: dns_failure, names: [cache]}]}"), [false, false, false]);
    }

    #[test]
    fn a_container_that_may_show_the_effect_of_an_attack_has_a_network_of_its_own() {
        let services = "{name: db, image: postgres}, {name: job, image: x}, {name: mail, type: http_mock}";
        let of = |attack: &str| {
            let spec = spec(&format!("{services}]\nchaos: {{context_attacks: [{attack}]}}\ntags: ["));
            ["db", "job", "mail"].map(|name| Addresses::of(&spec).has_own_network(name))
        };
        assert_eq!(of("{type: indirect_injection, tool: mail}"), [true, false, false]);
        let without_canary = "{type: indirect_injection, tool: mail, payload: Stop.}";
        assert_eq!(of(without_canary), [false, false, false], "its effect is not known");
    }

    #[test]
    fn containers_that_want_one_port_have_networks_of_their_own() {
        let spec = spec("{name: one, image: postgres}, {name: two, image: postgres}, {name: mail, type: http_mock}");
        let addresses = Addresses::of(&spec);
        assert!(
            addresses.has_own_network("one") && addresses.has_own_network("two") && !addresses.has_own_network("mail")
        );
        assert_ne!(addresses.get("one"), addresses.get("two"));
    }
}
