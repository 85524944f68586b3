//! Starts the containers of a spec's services and waits until they are ready.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures::future::try_join_all;
use gateways::faults::{FaultEngine, ServiceFaults, ToolFaults};
use gateways::forward::ForwardFaults;
use gateways::redact::Redactor;
use gateways::tls::Terminator;
use scenario::spec::sections::{Container, Service, ServiceKind};
use tokio::time::Instant;

use super::control::LiveControl;
use super::readiness::{Ready, wait};
use super::{Addresses, Forwards};
use crate::attempt::Attempt;
use crate::backend::{Backend, Image, RunningService, Sandbox, ServiceRequest};
use crate::database::activity::Target;
use crate::database::wire::Recorded;
use crate::database::{Credentials, Database, Dial, ThroughDoor};
use crate::error::EngineError;
use crate::event::{Event, Events};
use crate::faketime::{self, FakeClock};
use crate::run::contracts::Contracts;

/// The port of HTTP.
pub(crate) const HTTP: u16 = 80;
/// The port of HTTPS.
pub(crate) const HTTPS: u16 = 443;

/// A service's container that is running.
#[derive(Debug)]
pub(crate) struct LiveService {
    /// The container.
    pub(crate) running: Arc<dyn RunningService>,
    /// Database and credentials for SQL, when it understands SQL.
    pub(crate) database: Option<(Database, Credentials)>,
    /// Kind of database, also when no credentials are known.
    pub(crate) kind: Option<Database>,
    /// True once it was started again.
    pub(crate) restarted: Arc<AtomicBool>,
}

/// The containers of a sandbox's services, by name.
pub(crate) type LiveServices = BTreeMap<String, LiveService>;

impl LiveService {
    /// Connects to its ports.
    pub(crate) fn dial(&self) -> Arc<dyn Dial> {
        Arc::new(ThroughDoor(self.running.door().clone()))
    }

    /// The database that it is, where it can be asked with SQL.
    pub(crate) fn target(&self) -> Option<Target> {
        let (database, credentials) = self.database.as_ref()?;
        Some(Target { database: *database, credentials: credentials.clone(), dial: self.dial() })
    }
}

/// Finds the images of all containers, so that a missing one is known before anything is made.
pub(crate) async fn images(
    backend: &dyn Backend,
    attempt: &Attempt<'_>,
    events: &Events,
) -> Result<BTreeMap<String, Image>, EngineError> {
    let mut images = BTreeMap::new();
    for (service, container) in containers(attempt) {
        let reference = container.image.render(&attempt.values());
        images.insert(service.name().to_string(), backend.image(&reference, events).await?);
    }
    Ok(images)
}

fn containers<'a>(attempt: &Attempt<'a>) -> impl Iterator<Item = (&'a Service, &'a Container)> {
    attempt.spec.services.iter().filter_map(|service| match &service.kind {
        ServiceKind::Container(container) => Some((service, container)),
        ServiceKind::HttpMock(_) => None,
    })
}

/// Everything that starting services needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StartAll<'a> {
    /// Addresses of the services.
    pub(crate) addresses: &'a Addresses,
    /// Their images, by name.
    pub(crate) images: &'a BTreeMap<String, Image>,
    /// Terminator that takes TLS off connections, where something is served over HTTPS.
    pub(crate) secure: Option<&'a Terminator>,
    /// Clock of databases, when it is not the real time.
    pub(crate) clock: Option<&'a FakeClock>,
    /// The faults of the scenario, if it has any.
    pub(crate) faults: Option<&'a Arc<FaultEngine>>,
    /// The session under tool contracts, if the spec has any.
    pub(crate) contracts: Option<&'a Contracts>,
    /// Finds values in what the agent sends to services, when some are looked for.
    pub(crate) watch: Option<&'a Redactor>,
    /// Receiver of events.
    pub(crate) events: &'a Events,
}

/// Starts all containers side by side, and waits until each is ready.
pub(crate) async fn start_all(
    sandbox: &dyn Sandbox,
    attempt: &Attempt<'_>,
    start: &StartAll<'_>,
    forwards: &mut Forwards,
) -> Result<LiveServices, EngineError> {
    let addresses = start.addresses;
    let starting = containers(attempt).filter_map(|(service, container)| {
        let image = start.images.get(service.name().as_str())?;
        Some(start_one(sandbox, attempt, (service, container), image, start))
    });
    let live: LiveServices = try_join_all(starting).await?.into_iter().collect();
    for service in attempt.spec.services.iter().filter(|service| addresses.has_own_network(service.name().as_str())) {
        let recorded = recorded(attempt, service, &live, start);
        forward(sandbox, attempt, service, &live, start, recorded.as_ref(), forwards).await?;
    }
    Ok(live)
}

async fn start_one(
    sandbox: &dyn Sandbox,
    attempt: &Attempt<'_>,
    (service, container): (&Service, &Container),
    image: &Image,
    start: &StartAll<'_>,
) -> Result<(String, LiveService), EngineError> {
    let name = service.name().to_string();
    let values = attempt.values();
    let mut environment: BTreeMap<_, _> =
        service.common.env.iter().map(|(key, text)| (key.to_string(), text.render(&values))).collect();
    let kind = database_of(container, image);
    let credentials = kind.and_then(|kind| credentials(kind, &environment, service));
    if kind.is_some() && credentials.is_none() && attempt.spec.effective_audit().db_writes {
        let what =
            format!("`audit.db_writes`: the service `{name}` names no user and password that are known, so its tables");
        return Err(EngineError::Unsupported { what: format!("{what} cannot be looked at") });
    }
    if kind == Some(Database::Postgres) && !image.ours {
        require_passwords(&mut environment);
    }
    let clock = start.clock.filter(|_| kind.is_some());
    if let Some(clock) = clock {
        environment.extend(clock.of_service());
    }
    let started = Instant::now();
    let request = ServiceRequest {
        name: name.clone(),
        image: image.clone(),
        command: container.command.as_ref().map(|command| command.render(&values)),
        environment,
        own_network: start.addresses.has_own_network(&name),
        restarts: start.faults.is_some_and(|faults| faults.restarts(&name)),
        shim: clock.map(|_| faketime::SHIM),
    };
    let running = sandbox.start_service(request).await?;
    let live =
        LiveService { running: running.into(), database: kind.zip(credentials), kind, restarted: Arc::default() };
    let ready = Ready::of(&live, service, container, attempt);
    wait(&live, service, &ready, attempt).await?;
    if let Some(faults) = start.faults {
        let (running, restarted) = (Arc::clone(&live.running), Arc::clone(&live.restarted));
        faults.control(&name, Arc::new(LiveControl { running, ready, restarted }));
    }
    if let Some(clock) = clock {
        clock.verify(&name, &live).await?;
    }
    start.events.tell(Event::ServiceReady { service: name.clone(), after: started.elapsed() });
    Ok((name, live))
}

/// Returns the kind of database: as stated, by the name that was asked for, or by that of the stand-in.
fn database_of(container: &Container, image: &Image) -> Option<Database> {
    let by_name = |name: &str| {
        let name = name.to_lowercase();
        let any = |words: &[&str]| words.iter().any(|word| name.contains(word));
        if any(&["postgres", "postgis", "pgvector", "timescale"]) {
            Some(Database::Postgres)
        } else if any(&["mysql", "mariadb", "percona"]) {
            Some(Database::MySql)
        } else {
            None
        }
    };
    container.database().or_else(|| by_name(&image.record.reference))
}

fn credentials(kind: Database, environment: &BTreeMap<String, String>, service: &Service) -> Option<Credentials> {
    let port = service.ports().first().and_then(|port| u16::try_from(*port).ok()).unwrap_or_else(|| usual_port(kind));
    Credentials::from_environment(kind, environment, port).ok()
}

fn usual_port(kind: Database) -> u16 {
    match kind {
        Database::Postgres => 5432,
        Database::MySql => 3306,
    }
}

/// The agent is on the database's own loopback, which Postgres trusts by default: a wrong password would pass.
fn require_passwords(environment: &mut BTreeMap<String, String>) {
    const ARGUMENT: &str = "--auth-host=scram-sha-256";
    let arguments = environment.entry("POSTGRES_INITDB_ARGS".to_owned()).or_default();
    if !arguments.contains("--auth") {
        *arguments = format!("{arguments} {ARGUMENT}").trim().to_owned();
    }
}

/// The service, when what is written to it is recorded, faulted or looked at.
fn recorded(attempt: &Attempt<'_>, service: &Service, live: &LiveServices, start: &StartAll<'_>) -> Option<Recorded> {
    let name = service.name().as_str();
    let live = live.get(name)?;
    let is_audited = live.database.is_some() && attempt.spec.effective_audit().db_writes;
    let faults = start.faults.and_then(|faults| ServiceFaults::of(faults, name, true));
    let home = live.database.as_ref().and_then(|(_, credentials)| credentials.database.clone());
    // Through TLS nothing could be found, so that a database is read also when only values are looked for.
    let is_wanted = is_audited || faults.is_some() || start.watch.is_some();
    let recorded = Recorded::new(name, live.kind?, home).with_watch(start.watch);
    is_wanted.then(|| recorded.with_faults(faults, is_audited))
}

/// Forwards connections from the sandbox to a service that has a network of its own.
async fn forward(
    sandbox: &dyn Sandbox,
    attempt: &Attempt<'_>,
    service: &Service,
    live: &LiveServices,
    start: &StartAll<'_>,
    recorded: Option<&Recorded>,
    forwards: &mut Forwards,
) -> Result<(), EngineError> {
    let addresses = start.addresses;
    let name = service.name().as_str();
    let (Some(address), Some(live)) = (addresses.get(name), live.get(name)) else { return Ok(()) };
    let usual = live.kind.map(usual_port);
    let usual = live.database.as_ref().map(|(_, credentials)| credentials.port).or(usual);
    let ports: Vec<_> = service.ports().into_iter().filter_map(|port| u16::try_from(port).ok()).collect();
    let (faults, chaos) = (start.faults, attempt.scenario.faults(attempt.spec));
    // A rule for all services is not about those that speak another protocol.
    let speaks_http = recorded.is_none() && chaos.tool_faults.iter().any(|fault| fault.may_hit(service));
    for (port, target) in ways(ports, usual, addresses.is_overridden(name)) {
        let operation = format!("listen for the service `{name}` on port {port}");
        let address = SocketAddr::new(IpAddr::V4(address), port);
        let listener = sandbox.door().listen(doorkeeper::protocol::Transport::Tcp, address).await;
        let listener = listener.map_err(EngineError::door(operation.clone()))?;
        let (listener, door) = (listener.into(), live.running.door().clone());
        let link = faults.and_then(|faults| if speaks_http { faults.http_link(name) } else { faults.link(name) });
        // What a service has at this port itself is its own business.
        let terminator = start.secure.filter(|_| port == HTTPS && target != HTTPS).cloned();
        let added = match recorded {
            Some(recorded) => forwards.recorder.add(listener, door, target, recorded.clone(), link),
            None => {
                let service = faults.and_then(|faults| ServiceFaults::of(faults, name, false));
                let http = faults.filter(|_| speaks_http).and_then(|faults| ToolFaults::of(faults, name));
                let watch = start.watch.map(|redactor| redactor.at(format!("service {name}")));
                let governor = start.contracts.and_then(|contracts| contracts.governors.get(name).cloned());
                let faults = ForwardFaults { link, service, http, watch, governor };
                forwards.add(listener, door, target, terminator, faults)
            }
        };
        added.map_err(EngineError::files(operation))?;
    }
    Ok(())
}

/// The ports at which a service is reached, and which of its own each leads to. Where a name of the outside leads to it,
/// it is at the ports of HTTP and HTTPS as well, which lead to its first one.
fn ways(declared: Vec<u16>, usual: Option<u16>, overridden: bool) -> BTreeMap<u16, u16> {
    // A database whose image is named by a parameter need not state its port.
    let ports = if declared.is_empty() { usual.into_iter().collect() } else { declared };
    let mut ways = BTreeMap::new();
    if let (true, Some(first)) = (overridden, ports.first()) {
        ways.extend([(HTTP, *first), (HTTPS, *first)]);
    }
    ways.extend(ports.into_iter().map(|port| (port, port)));
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_without_ports_is_reached_at_its_usual_one() {
        assert_eq!(ways(Vec::new(), Some(5432), false), BTreeMap::from([(5432, 5432)]));
        assert_eq!(ways(vec![6000], Some(5432), false), BTreeMap::from([(6000, 6000)]));
        assert_eq!(ways(vec![6000], None, true), BTreeMap::from([(80, 6000), (443, 6000), (6000, 6000)]));
        assert!(ways(Vec::new(), None, true).is_empty());
    }
}
