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

use scenario::evidence::Audited;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::sightings::Sightings;
use crate::gateways::clock::Clock;
use crate::redact::Redactor;
pub(crate) use zone::Zone;

/// How many questions are kept; the rest are counted.
const KEPT_QUESTIONS: usize = 5_000;

/// The DNS of one sandbox. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Dns {
    shared: Arc<Shared>,
    _end: DropGuard,
}

/// What all questions have in common.
#[derive(Debug)]
struct Shared {
    zone: Zone,
    redactor: Redactor,
    questions: Sightings,
}

impl Dns {
    /// Answers questions that come to these sockets. It must be called within a Tokio runtime.
    pub(crate) fn serve(
        udp: UdpSocket,
        tcp: TcpListener,
        zone: Zone,
        redactor: Redactor,
        clock: Arc<Clock>,
    ) -> io::Result<Self> {
        udp.set_nonblocking(true)?;
        tcp.set_nonblocking(true)?;
        let udp = tokio::net::UdpSocket::from_std(udp)?;
        let tcp = tokio::net::TcpListener::from_std(tcp)?;
        let shared = Arc::new(Shared { zone, redactor, questions: Sightings::new(KEPT_QUESTIONS, clock) });
        let end = CancellationToken::new();
        tokio::spawn(end.clone().run_until_cancelled_owned(server::datagrams(udp, Arc::clone(&shared))));
        tokio::spawn(end.clone().run_until_cancelled_owned(server::streams(tcp, Arc::clone(&shared))));
        Ok(Self { shared, _end: end.drop_guard() })
    }

    /// Forgets the questions so far.
    pub(crate) fn clear(&self) {
        self.shared.questions.clear();
    }

    /// Writes no more questions down, and goes on answering.
    pub(crate) fn seal(&self) {
        self.shared.questions.close();
    }

    /// The questions that are kept.
    pub(crate) fn questions(&self) -> Vec<Audited> {
        self.shared.questions.kept()
    }

    /// How many questions were counted only.
    pub(crate) fn counted(&self) -> u64 {
        self.shared.questions.counted()
    }
}
