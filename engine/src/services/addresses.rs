//! Which name leads to which address of the sandbox's loopback, and who listens where.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use scenario::spec::Spec;
use scenario::spec::sections::{Service, ServiceKind};

/// The addresses of a spec's services.
///
/// A mock has an address of its own, so that mocks can share a port. A container shares the sandbox's network and is
/// reached at 127.0.0.1, unless another service wants one of its ports: then it gets a network of its own, and an address
/// from which we forward to it.
#[derive(Debug, Clone)]
pub(crate) struct Addresses {
    of: BTreeMap<String, Ipv4Addr>,
    own_network: BTreeSet<String>,
}

impl Addresses {
    /// Gives every service an address.
    pub(crate) fn of(spec: &Spec) -> Self {
        let crowded = crowded(spec);
        let is_crowded = |service: &Service| service.ports().iter().any(|port| crowded.contains(port));
        let mut of = BTreeMap::new();
        let mut own_network = BTreeSet::new();
        for (index, service) in spec.services.iter().enumerate() {
            let name = service.name().to_string();
            let is_container = matches!(service.kind, ServiceKind::Container(_));
            if is_container && is_crowded(service) {
                own_network.insert(name.clone());
            }
            let address = if is_container && !is_crowded(service) { Ipv4Addr::LOCALHOST } else { own_address(index) };
            of.insert(name, address);
        }
        Self { of, own_network }
    }

    /// Where a service is reached.
    pub(crate) fn get(&self, service: &str) -> Option<Ipv4Addr> {
        self.of.get(service).copied()
    }

    /// Whether a service has a network of its own.
    pub(crate) fn has_own_network(&self, service: &str) -> bool {
        self.own_network.contains(service)
    }

    /// Every name that leads somewhere: services under both of their names, and the spec's overrides.
    pub(crate) fn hosts(&self, spec: &Spec) -> Vec<(String, Ipv4Addr)> {
        let services = self
            .of
            .iter()
            .flat_map(|(name, address)| [(name.clone(), *address), (format!("{name}.services.internal"), *address)]);
        let mut hosts: Vec<_> = services.collect();
        for (host, target) in spec.network.dns_overrides.iter() {
            let target = target.as_str();
            let service = target.strip_suffix(".services.internal").unwrap_or(target);
            if let Some(address) = self.get(service) {
                hosts.push((host.to_string(), address));
            }
        }
        hosts
    }
}

/// Ports that more than one service wants, with a container among them.
fn crowded(spec: &Spec) -> BTreeSet<i64> {
    let mut users: BTreeMap<i64, (usize, bool)> = BTreeMap::new();
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
            Addresses::of(&spec).hosts(&spec).into_iter().map(|(name, address)| format!("{name} {address}")).collect();
        insta::assert_snapshot!(hosts.join("\n"), @r"
        chat 127.10.0.3
        chat.services.internal 127.10.0.3
        db 127.0.0.1
        db.services.internal 127.0.0.1
        mail 127.10.0.2
        mail.services.internal 127.10.0.2
        api.example.com 127.10.0.2
        ");
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
