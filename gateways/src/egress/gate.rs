//! Decides which connections may go out, resolves their names, and records both.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use http::StatusCode;
use scenario::address;
use scenario::evidence::AuditEvent;
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout, timeout_at};

use super::outside::Outside;
use super::policy::{Policy, host_name};
use super::upstream::{Record, Upstream};
use crate::audit_log::Sightings;
use crate::clock::Clock;
use crate::faulted_requests::FaultedRequests;
use crate::faults::{FaultEngine, ToolFaults};
use crate::redact::Redactor;

/// Number of connections that are kept in the record; the rest are counted.
const KEPT_CONNECTIONS: usize = 10_000;
/// Number of names that are remembered with their addresses; more are refused.
const PINNED_NAMES: usize = 2_000;
/// Number of addresses of one name that are tried.
const TRIED_ADDRESSES: usize = 4;
/// Timeout for looking a name up, and then for connecting.
const PATIENCE: Duration = Duration::from_secs(10);
/// Timeout for one address of several.
const PATIENCE_EACH: Duration = Duration::from_secs(4);
/// Length of a client's description of itself that is kept.
const KEPT_TEXT: usize = 300;

/// The addresses of a name, once they were looked up.
type Pin = Arc<OnceCell<Vec<IpAddr>>>;

/// Decides which connections may go out of one sandbox.
#[derive(Debug)]
pub struct Gate {
    policy: RwLock<Policy>,
    /// Names that lead to services: they are not to be had from outside.
    inside: BTreeSet<String>,
    outside: Arc<dyn Outside>,
    pins: Mutex<HashMap<String, Pin>>,
    redactor: Redactor,
    faults: Option<Arc<FaultEngine>>,
    /// Requests that can be read, which faults may hit.
    pub(super) faulted: FaultedRequests,
    /// Connections that went out and those that were denied.
    pub(super) seen: Sightings,
}

/// Refusal of a connection to the outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The host, as the client named it.
    pub(super) host: String,
    /// Status of the answer to a client that speaks HTTP.
    pub(super) status: StatusCode,
    /// The reason.
    pub(super) reason: String,
}

impl Refusal {
    /// Makes the refusal of a connection that is not allowed.
    pub(super) fn forbidden(host: &str, reason: impl Into<String>) -> Self {
        Self { host: host.to_owned(), status: StatusCode::FORBIDDEN, reason: reason.into() }
    }

    fn unreachable(host: &str, reason: impl Into<String>) -> Self {
        Self { host: host.to_owned(), status: StatusCode::BAD_GATEWAY, reason: reason.into() }
    }
}

impl Gate {
    /// A gate that is open. `inside` are the names that lead to services, `faults` those that hosts outside may have.
    pub fn new(
        outside: Arc<dyn Outside>,
        inside: impl IntoIterator<Item = String>,
        redactor: Redactor,
        clock: Arc<Clock>,
        faults: Option<Arc<FaultEngine>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            policy: RwLock::new(Policy::Open),
            inside: inside.into_iter().map(|name| name.to_ascii_lowercase()).collect(),
            outside,
            pins: Mutex::default(),
            redactor,
            faults,
            faulted: FaultedRequests::default(),
            seen: Sightings::new(KEPT_CONNECTIONS, clock),
        })
    }

    /// Changes the policy from now on.
    pub(super) fn set_policy(&self, policy: Policy) {
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = policy;
    }

    /// Returns true if a name leads to the outside. It is not looked up.
    pub(crate) fn lets_through(&self, name: &str) -> bool {
        self.judge(name).is_ok()
    }

    /// Returns true if a name exists outside. The caller decides who may ask.
    pub(crate) async fn exists(&self, name: &str) -> bool {
        match host_name(name) {
            Some(name) => self.look_up(&name).await.is_ok(),
            None => false,
        }
    }

    /// The name as it is compared, when it may go out.
    pub(super) fn judge(&self, host: &str) -> Result<String, Refusal> {
        let Some(name) = host_name(host) else {
            let reason = "only a host with a name can be reached, and this is none; call it by its name";
            return Err(Refusal::forbidden(host, reason));
        };
        if self.inside.contains(&name) {
            let reason = "the name leads to a service of this sandbox; call it directly, without a proxy";
            return Err(Refusal::forbidden(host, reason));
        }
        if !self.policy.read().unwrap_or_else(PoisonError::into_inner).allows(&name) {
            let reason =
                "the spec does not let it out of the sandbox; to allow it, add the name to `network.egress.allow`";
            return Err(Refusal::forbidden(host, reason));
        }
        Ok(name)
    }

    /// The faults of a name that was judged.
    pub(super) fn faults_of(&self, name: &str) -> Option<ToolFaults> {
        self.faults.as_ref().and_then(|faults| ToolFaults::of_host(faults, name))
    }

    /// Connects to a name that was judged, at an address that is the outside.
    pub(super) async fn open(self: &Arc<Self>, name: &str, port: u16) -> Result<Upstream, Refusal> {
        let addresses = self.look_up(name).await?;
        let (stream, address) = self
            .connect(&addresses, port)
            .await
            .map_err(|error| Refusal::unreachable(name, format!("it could not be reached: {error}")))?;
        let _ = stream.set_nodelay(true);
        Ok(Upstream::new(stream, Record::new(self, name, address)))
    }

    /// The addresses of a name that are the outside. They are looked up once: a name that leads elsewhere later does not.
    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, Refusal> {
        let Some(pin) = self.pin(name) else {
            return Err(Refusal::unreachable(name, format!("this sandbox has called {PINNED_NAMES} names already")));
        };
        let failed = |error: String| Refusal::unreachable(name, format!("the name could not be looked up: {error}"));
        let resolve = || async {
            let resolved = timeout(PATIENCE, self.outside.resolve(name)).await;
            let found = resolved
                .map_err(|_| failed("it took too long".to_owned()))?
                .map_err(|error| failed(error.to_string()))?;
            if found.is_empty() { Err(failed("it has no address".to_owned())) } else { Ok(found) }
        };
        let found = pin.get_or_try_init(resolve).await?;
        let allowed: Vec<_> = found.iter().copied().filter(|found| address::refusal(*found).is_none()).collect();
        match found.first().and_then(|first| address::refusal(*first)) {
            Some(reason) if allowed.is_empty() => {
                Err(Refusal::forbidden(name, format!("the name leads to {reason}, which no sandbox may reach")))
            }
            _ if allowed.is_empty() => Err(failed("it has no address".to_owned())),
            _ => Ok(allowed),
        }
    }

    /// Returns the cell that keeps the addresses of a name; `None` when there are too many names.
    fn pin(&self, name: &str) -> Option<Pin> {
        let mut pins = self.pins.lock().unwrap_or_else(PoisonError::into_inner);
        if pins.len() >= PINNED_NAMES && !pins.contains_key(name) {
            // Names that could not be looked up need not be remembered.
            pins.retain(|_, pin| pin.initialized());
        }
        let is_full = pins.len() >= PINNED_NAMES;
        match pins.get(name) {
            Some(pin) => Some(Arc::clone(pin)),
            None if is_full => None,
            None => Some(Arc::clone(pins.entry(name.to_owned()).or_default())),
        }
    }

    /// Connects to the first address that answers.
    async fn connect(&self, addresses: &[IpAddr], port: u16) -> io::Result<(TcpStream, SocketAddr)> {
        let end = Instant::now() + PATIENCE;
        let mut last = io::Error::from(io::ErrorKind::TimedOut);
        for address in addresses.iter().take(TRIED_ADDRESSES) {
            let address = SocketAddr::new(*address, port);
            let alone = if addresses.len() == 1 { end } else { end.min(Instant::now() + PATIENCE_EACH) };
            match timeout_at(alone, self.outside.connect(address)).await {
                Ok(Ok(stream)) => return Ok((stream, address)),
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(last)
    }

    /// Returns the redactor, which finds secrets in outgoing bytes.
    pub(super) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Writes down that something did not go out.
    pub(super) fn deny(&self, port: u16, refusal: &Refusal) {
        let mut host = self.redactor.host_name(&refusal.host);
        host.truncate(host.floor_char_boundary(KEPT_TEXT));
        let reason = self.redactor.text(&refusal.reason);
        self.seen.record(AuditEvent::EgressDenied { host, port, reason });
    }

    /// Records a connection that went out.
    pub(super) fn note(&self, host: &str, address: SocketAddr, (bytes_out, bytes_in): (u64, u64)) {
        let host = self.redactor.host_name(host);
        let (port, address) = (address.port(), address.ip().to_string());
        self.seen.record(AuditEvent::Egress { host, port, address, bytes_out, bytes_in });
    }
}
