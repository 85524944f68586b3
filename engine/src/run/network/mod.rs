//! The network of one attempt: its names, its way out, its HTTPS, and its way in.

mod trust;
mod variables;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use doorkeeper::protocol::Transport;
use gateways::Gateway;
use gateways::addresses::{DNS, EGRESS};
use gateways::dns::{Dns, Zone};
use gateways::egress::{Egress, Entrance, Gate, Policy, WhileActing};
use gateways::forward::Target;
use gateways::ingress::Ingress;
use gateways::tls::{Authority, Inside, Terminator};
use scenario::evidence::Evidence;
use scenario::spec::Spec;
use scenario::spec::sections::Dns as Lookup;

use super::gateways::Shared;
use crate::attempt::Attempt;
use crate::database::ThroughDoor;
use crate::door::Door;
use crate::error::EngineError;
use crate::event::{Event, Events};
use crate::services::Addresses;
use variables::needs_authority;
pub(crate) use variables::variables;

/// The port of DNS.
const DNS_PORT: u16 = 53;
/// Entrances of the egress gateway, by port.
const ENTRANCES: [(u16, Entrance); 3] = [(80, Entrance::Plain), (443, Entrance::Tls), (PROXY_PORT, Entrance::Proxy)];
/// The port of the proxy.
const PROXY_PORT: u16 = 3128;
/// The network of one attempt.
#[derive(Debug)]
pub(super) struct Network {
    dns: Arc<Dns>,
    egress: Option<Arc<Egress>>,
    authority: Option<Arc<Authority>>,
}

impl Network {
    /// Opens everything; until the agent starts, all may go out.
    pub(super) async fn open(
        attempt: &Attempt<'_>,
        door: &Door,
        addresses: &Addresses,
        shared: &Shared<'_>,
    ) -> Result<Self, EngineError> {
        let Shared { clock, redactor, faults, .. } = *shared;
        let spec = attempt.spec;
        let names = addresses.names(spec);
        let policy = Policy::of(&spec.network.egress);
        let asks_outside = spec.determinism.dns == Lookup::System;
        // Names may lead there while the agent acts.
        let listens = policy.lets_anything_out() || asks_outside;
        let mut zone = Zone::new(names.clone());
        let mut egress = None;
        if listens || !spec.setup.commands.is_empty() {
            let inside = names.into_iter().map(|(name, _)| name);
            let (outside, redactor) = (Arc::clone(&attempt.machine.outside), redactor.at("egress"));
            let gate = Gate::new(outside, inside, redactor, Arc::clone(clock), faults.cloned());
            zone = zone.with_gate(Arc::clone(&gate), asks_outside);
            let opened = Egress::new(gate, WhileActing { policy, listens });
            egress = Some(Arc::new(listen(opened, door).await?));
        }
        let dns = serve_names(door, zone, shared).await?;
        let authority = if needs_authority(spec) { Some(authority(spec)?) } else { None };
        Ok(Self { dns: Arc::new(dns), egress, authority })
    }

    /// Returns the terminator that takes TLS off connections, where the sandbox has an authority.
    pub(super) fn terminator(&self, inside: Inside) -> Result<Option<Terminator>, EngineError> {
        let make = |authority| Terminator::new(authority, inside).map_err(EngineError::files("prepare HTTPS"));
        self.authority.as_ref().map(make).transpose()
    }

    /// Makes the sandbox trust its authority.
    pub(super) async fn trust(&self, door: &Door) -> Result<(), EngineError> {
        match &self.authority {
            Some(authority) => trust::add(door, &authority.pem()).await,
            None => Ok(()),
        }
    }

    /// Its gateways.
    pub(super) fn gateways(&self) -> Vec<Arc<dyn Gateway>> {
        let egress = self.egress.iter().map(|egress| Arc::<Egress>::clone(egress) as Arc<dyn Gateway>);
        std::iter::once(Arc::<Dns>::clone(&self.dns) as Arc<dyn Gateway>).chain(egress).collect()
    }
}

/// Opens the ports of this machine that lead into the sandbox, and tells where they are. They close when dropped.
pub(crate) fn let_in(
    attempt: &Attempt<'_>,
    door: &Door,
    evidence: &mut Evidence,
    events: &Events,
) -> Result<Vec<Ingress>, EngineError> {
    let mut open = Vec::new();
    for rule in attempt.spec.network.ingress.iter().flat_map(|ingress| &ingress.allow) {
        let Ok(port) = u16::try_from(rule.to_port.get()) else { continue };
        let operation = EngineError::files(format!("open a way in to port {port} of the sandbox"));
        let target = Target { dial: Arc::new(ThroughDoor(door.clone())), port };
        let ingress = Ingress::open(target).map_err(operation)?;
        let note = format!("port {port} of the sandbox is at {}", ingress.at);
        events.tell(Event::Note(note.clone()));
        evidence.notes.push(note);
        open.push(ingress);
    }
    Ok(open)
}

fn authority(spec: &Spec) -> Result<Arc<Authority>, EngineError> {
    let names = spec.network.dns_overrides.iter().map(|(host, _)| host.to_string());
    let names = names.chain(spec.services.iter().map(|service| service.name().to_string()));
    Authority::new(names.collect()).map_err(EngineError::files("make the sandbox's certificate authority"))
}

async fn listen(egress: Egress, door: &Door) -> Result<Egress, EngineError> {
    for (port, entrance) in ENTRANCES {
        let operation = format!("listen for the egress gateway on port {port}");
        let listener = door.listen(Transport::Tcp, at(EGRESS, port)).await;
        let listener = listener.map_err(EngineError::door(operation.clone()))?;
        egress.serve(listener.into(), entrance).map_err(EngineError::files(operation))?;
    }
    Ok(egress)
}

async fn serve_names(door: &Door, zone: Zone, shared: &Shared<'_>) -> Result<Dns, EngineError> {
    let operation = "listen for questions about names";
    let udp = door.listen(Transport::Udp, at(DNS, DNS_PORT)).await.map_err(EngineError::door(operation))?;
    let tcp = door.listen(Transport::Tcp, at(DNS, DNS_PORT)).await.map_err(EngineError::door(operation))?;
    let (redactor, clock) = (shared.redactor.at("dns"), Arc::clone(shared.clock));
    let dns = Dns::serve(udp.into(), tcp.into(), zone, redactor, clock, shared.faults.cloned());
    dns.map_err(EngineError::files(operation))
}

fn at(address: Ipv4Addr, port: u16) -> SocketAddr {
    SocketAddr::from((address, port))
}
