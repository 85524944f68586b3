//! The names of a sandbox: its own DNS.
//!
//! It knows the names of services and gateways, the spec's overrides, and the names that the egress gateway lets through,
//! all of which lead to addresses of the sandbox's loopback. Nothing is asked of anybody else, so a question carries
//! nothing out; only with `determinism.dns: system` are other names looked up outside. Every question is written down.

mod message;
mod server;
#[cfg(test)]
mod tests;
mod zone;

use std::io;
use std::net::{TcpListener, UdpSocket};
use std::sync::Arc;

use async_trait::async_trait;
use scenario::evidence::{Audited, Evidence};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::audit_log::Sightings;
use crate::Gateway;
use crate::clock::Clock;
use crate::faults::FaultEngine;
use crate::listener::Listener;
use crate::redact::Redactor;
pub use zone::Zone;

/// Number of questions that are kept; the rest are counted.
const KEPT_QUESTIONS: usize = 5_000;

/// The DNS of one sandbox. It ends when it is dropped.
#[derive(Debug)]
pub struct Dns {
    shared: Arc<Shared>,
    _listener: Listener,
    _end: DropGuard,
}

/// State that all questions share.
#[derive(Debug)]
struct Shared {
    zone: Zone,
    redactor: Redactor,
    questions: Sightings,
    /// Lookups that fail on purpose.
    faults: Option<Arc<FaultEngine>>,
}

impl Dns {
    /// Answers questions that come to these sockets. It must be called within a Tokio runtime.
    pub fn serve(
        udp: UdpSocket,
        tcp: TcpListener,
        zone: Zone,
        redactor: Redactor,
        clock: Arc<Clock>,
        faults: Option<Arc<FaultEngine>>,
    ) -> io::Result<Self> {
        udp.set_nonblocking(true)?;
        let udp = tokio::net::UdpSocket::from_std(udp)?;
        let faults = faults.filter(|faults| !faults.spares_names());
        let shared = Arc::new(Shared { zone, redactor, questions: Sightings::new(KEPT_QUESTIONS, clock), faults });
        let end = CancellationToken::new();
        tokio::spawn(end.clone().run_until_cancelled_owned(server::datagrams(udp, Arc::clone(&shared))));
        let listener = server::listen(tcp, Arc::clone(&shared))?;
        Ok(Self { shared, _listener: listener, _end: end.drop_guard() })
    }

    /// The questions that are kept.
    pub fn questions(&self) -> Vec<Audited> {
        self.shared.questions.kept()
    }
}

#[async_trait]
impl Gateway for Dns {
    /// Forgets the questions so far.
    async fn begin(&self) {
        self.shared.questions.clear();
    }

    /// Writes no more questions down, and goes on answering.
    async fn seal(&self) {
        self.shared.questions.close();
    }

    fn record(&self, evidence: &mut Evidence) {
        let questions = self.questions();
        if !questions.is_empty() {
            evidence.audit.get_or_insert_default().extend(questions);
        }
        let counted = self.shared.questions.counted();
        if counted > 0 {
            evidence.notes.push(format!("{counted} lookups of names more than are kept"));
        }
    }
}
