//! The network of one attempt: its names, its way out, its HTTPS, and its way in.

mod trust;
mod variables;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use doorkeeper::protocol::Transport;
use scenario::evidence::{Audited, Evidence, Fired, Limit};
use scenario::spec::Spec;
use scenario::spec::sections::Dns as Lookup;

use crate::attempt::Attempt;
use crate::door::Door;
use crate::error::EngineError;
use crate::event::{Event, Events};
use crate::gateways::clock::Clock;
use crate::gateways::dns::{Dns, Zone};
use crate::gateways::egress::{Egress, Entrance, Gate, Policy};
use crate::gateways::ingress::Ingress;
use crate::gateways::tls::{Authority, Inside, Terminator};
use crate::redact::Redactor;
use crate::services::Addresses;
use crate::services::addresses::{DNS, EGRESS};
use variables::needs_authority;
pub(crate) use variables::variables;

/// The port of DNS.
const DNS_PORT: u16 = 53;
/// Where the ways into the egress gateway are.
const ENTRANCES: [(u16, Entrance); 3] = [(80, Entrance::Plain), (443, Entrance::Tls), (PROXY_PORT, Entrance::Proxy)];
/// The port of the proxy.
const PROXY_PORT: u16 = 3128;
/// The network of one attempt.
#[derive(Debug)]
pub(crate) struct Network {
    dns: Dns,
    egress: Option<Arc<Egress>>,
    /// What may go out while the agent acts.
    policy: Policy,
    /// Whether names may lead to the egress gateway while the agent acts.
    is_kept: bool,
    authority: Option<Arc<Authority>>,
}

impl Network {
    /// Opens everything; until the agent starts, all may go out.
    pub(super) async fn open(
        attempt: &Attempt<'_>,
        door: &Door,
        addresses: &Addresses,
        redactor: &Redactor,
        clock: &Arc<Clock>,
    ) -> Result<Self, EngineError> {
        let spec = attempt.spec;
        let names = addresses.names(spec);
        let policy = Policy::of(&spec.network.egress);
        let asks_outside = spec.determinism.dns == Lookup::System;
        let is_kept = policy.lets_anything_out() || asks_outside;
        let mut zone = Zone::new(names.clone());
        let mut egress = None;
        if is_kept || !spec.setup.commands.is_empty() {
            let inside = names.into_iter().map(|(name, _)| name);
            let gate =
                Gate::new(Arc::clone(&attempt.machine.outside), inside, redactor.at("egress"), Arc::clone(clock));
            zone = zone.with_gate(Arc::clone(&gate), asks_outside);
            egress = Some(listen(Egress::new(gate), door).await?);
        }
        let dns = serve_names(door, zone, redactor.at("dns"), Arc::clone(clock)).await?;
        let authority = if needs_authority(spec) { Some(authority(spec)?) } else { None };
        Ok(Self { dns, egress, policy, is_kept, authority })
    }

    /// What takes TLS off connections, where the sandbox has an authority.
    pub(super) fn terminator(&self, inside: Inside) -> Result<Option<Terminator>, EngineError> {
        let make = |authority| Terminator::new(authority, inside).map_err(EngineError::files("prepare HTTPS"));
        self.authority.as_ref().map(make).transpose()
    }

    /// Has the sandbox trust its authority.
    pub(super) async fn trust(&self, door: &Door) -> Result<(), EngineError> {
        match &self.authority {
            Some(authority) => trust::add(door, &authority.pem()).await,
            None => Ok(()),
        }
    }

    /// Lets out what the spec says and no more, and forgets what was seen: from now on the agent acts.
    pub(crate) async fn close_up(&self) {
        if let Some(egress) = &self.egress {
            egress.apply(self.policy.clone()).await;
            if !self.is_kept {
                egress.leave().await;
            }
        }
        self.dns.clear();
    }

    /// Ends the records, and goes on serving.
    pub(super) async fn seal(&self) {
        if let Some(egress) = &self.egress {
            egress.seal().await;
        }
        self.dns.seal();
    }

    /// What was seen: lookups, and then what went out or did not.
    pub(super) fn journal(&self) -> Vec<Audited> {
        let mut events = self.dns.questions();
        events.extend(self.egress.iter().flat_map(|egress| egress.seen()));
        events
    }

    /// How many connections were counted and not kept.
    pub(super) fn uncollected(&self) -> u64 {
        self.egress.as_ref().map_or(0, |egress| egress.counted())
    }

    /// Adds what was seen to the evidence, also when the spec asks for no audit.
    pub(super) fn record(&self, evidence: &mut Evidence) {
        let events = self.journal();
        if !events.is_empty() {
            evidence.audit.get_or_insert_default().extend(events);
        }
        if self.dns.counted() > 0 {
            evidence.notes.push(format!("{} lookups of names more than are kept", self.dns.counted()));
        }
        // Connections that were only counted could be to anybody.
        if self.uncollected() > 0 {
            let detail = format!("{} connections to the outside more than the audit keeps", self.uncollected());
            evidence.limits.push(Fired { limit: Limit::Requests, detail });
        }
    }
}

/// Opens the ports of this machine that lead into the sandbox, and tells where they are. They close when dropped.
pub(crate) async fn let_in(
    attempt: &Attempt<'_>,
    door: &Door,
    evidence: &mut Evidence,
    events: &Events,
) -> Result<Vec<Ingress>, EngineError> {
    let mut open = Vec::new();
    for rule in attempt.spec.network.ingress.iter().flat_map(|ingress| &ingress.allow) {
        let Ok(port) = u16::try_from(rule.to_port.get()) else { continue };
        let operation = EngineError::files(format!("open a way in to port {port} of the sandbox"));
        let ingress = Ingress::open(door.clone(), port).await.map_err(operation)?;
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

async fn listen(egress: Arc<Egress>, door: &Door) -> Result<Arc<Egress>, EngineError> {
    for (port, entrance) in ENTRANCES {
        let operation = format!("listen for the egress gateway on port {port}");
        let listener = door.listen(Transport::Tcp, at(EGRESS, port)).await;
        let listener = listener.map_err(EngineError::door(operation.clone()))?;
        egress.serve(listener.into(), entrance).map_err(EngineError::files(operation))?;
    }
    Ok(egress)
}

async fn serve_names(door: &Door, zone: Zone, redactor: Redactor, clock: Arc<Clock>) -> Result<Dns, EngineError> {
    let operation = "listen for questions about names";
    let udp = door.listen(Transport::Udp, at(DNS, DNS_PORT)).await.map_err(EngineError::door(operation))?;
    let tcp = door.listen(Transport::Tcp, at(DNS, DNS_PORT)).await.map_err(EngineError::door(operation))?;
    Dns::serve(udp.into(), tcp.into(), zone, redactor, clock).map_err(EngineError::files(operation))
}

fn at(address: Ipv4Addr, port: u16) -> SocketAddr {
    SocketAddr::from((address, port))
}
