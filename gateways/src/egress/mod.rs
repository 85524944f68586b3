//! The way to the outside: names that the spec allows, and nothing else.
//!
//! Allowed names lead to one address of the sandbox's loopback. A connection there is judged by the name that it says
//! itself: each request of HTTP by its host, TLS by the server that its beginning names, which is then passed on as it
//! is. The gateway looks the name up outside, once, and connects only to addresses outside (`scenario::address`). It
//! records every connection that went out and every one that was denied.

mod client;
mod entrance;
#[cfg(test)]
mod fault_tests;
mod gate;
mod hello;
mod outside;
mod plain;
mod policy;
#[cfg(test)]
mod tests;
mod upstream;

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use scenario::evidence::{Audited, Evidence, Fired, Limit};

use crate::Gateway;
use crate::listener::{IdleTimeout, Listener, ListenerLimits};
use crate::redact::Redactor;
pub use entrance::Entrance;
pub use gate::Gate;
pub use outside::{Internet, Outside};
pub use policy::Policy;

/// The bounds of connections. Answers of models take their time.
const LIMITS: ListenerLimits = ListenerLimits {
    connections: 256,
    idle: IdleTimeout::Bytes(Duration::from_secs(300)),
    drain: Duration::from_millis(250),
};

/// The egress gateway of one sandbox. It ends when it is dropped.
#[derive(Debug)]
pub struct Egress {
    gate: Arc<Gate>,
    listener: Listener,
    acting: WhileActing,
}

/// The gateway while the agent acts. Before, all may go out.
#[derive(Debug, Clone)]
pub struct WhileActing {
    /// Policy of the way out.
    pub policy: Policy,
    /// True when it listens. Where it does not, other services may have its ports.
    pub listens: bool,
}

/// An egress gateway by itself, which lets every name out. It ends when it is dropped.
#[derive(Debug)]
pub struct OpenEgress {
    _egress: Egress,
}

impl OpenEgress {
    /// Serves requests of HTTP that come to a listener.
    ///
    /// # Errors
    ///
    /// The listener cannot be used.
    pub fn plain(listener: TcpListener, outside: Arc<dyn Outside>) -> io::Result<Self> {
        let gate = Gate::new(outside, [], Redactor::default(), Arc::default(), None);
        let egress = Egress::new(gate, WhileActing { policy: Policy::Open, listens: true });
        egress.serve(listener, Entrance::Plain)?;
        Ok(Self { _egress: egress })
    }
}

impl Egress {
    /// A gateway behind this gate, which is not served yet.
    pub fn new(gate: Arc<Gate>, acting: WhileActing) -> Self {
        Self { gate, listener: Listener::new("the egress gateway", LIMITS), acting }
    }

    /// Serves the connections of a listener. It must be called within a Tokio runtime.
    pub fn serve(&self, listener: TcpListener, entrance: Entrance) -> io::Result<()> {
        let gate = Arc::clone(&self.gate);
        self.listener.serve(listener, None, move |connection| entrance::serve(entrance, connection, Arc::clone(&gate)))
    }

    /// Applies a policy from now on. Connections that were made before are cut, and the record of earlier ones is
    /// cleared.
    async fn apply(&self, policy: Policy) {
        self.gate.set_policy(policy);
        self.listener.cut().await;
        self.gate.seen.clear();
    }

    /// Returns the connections that went out and those that were denied.
    pub fn seen(&self) -> Vec<Audited> {
        self.gate.seen.kept()
    }
}

#[async_trait]
impl Gateway for Egress {
    /// Applies the policy of the spec.
    async fn begin(&self) {
        self.apply(self.acting.policy.clone()).await;
        if !self.acting.listens {
            self.listener.close().await;
        }
    }

    /// Ends the record, after open connections have ended.
    async fn seal(&self) {
        self.listener.seal().await;
        self.gate.seen.close();
    }

    fn record(&self, evidence: &mut Evidence) {
        let seen = self.seen();
        if !seen.is_empty() {
            evidence.audit.get_or_insert_default().extend(seen);
        }
        // Connections that were only counted could be to anybody.
        let counted = self.gate.seen.counted();
        if counted > 0 {
            let detail = format!("{counted} connections to the outside more than the audit keeps");
            evidence.limits.push(Fired { limit: Limit::Requests, detail });
        }
    }
}
