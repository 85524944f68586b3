//! An accepted connection, as a gateway gets it.

use std::fmt;
use std::io;
use std::sync::Arc;

use tokio::io::copy_bidirectional;

use super::occupancy::Occupancy;
use super::{Activity, Reset, Socket, Tasks};
use crate::honeytoken_stream::Watched;
use crate::redact::Redactor;
use crate::tls::{Duplex, Terminator};

/// An accepted connection, with TLS taken off.
pub struct Connection {
    /// Its bytes.
    pub stream: Box<dyn Duplex>,
    /// The requests under way on it.
    pub activity: Arc<Activity>,
    /// Makes it end with a reset.
    pub reset: Reset,
    /// Tasks that end when it is cut.
    pub(super) tasks: Tasks,
    pub(super) occupancy: Occupancy,
    /// The gateway, as logs call it.
    pub(super) gateway: &'static str,
}

impl Connection {
    /// Searches every incoming byte, where there is something to look for.
    #[must_use]
    pub fn watched(self, redactor: Option<&Redactor>) -> Self {
        match redactor.filter(|redactor| !redactor.is_empty()) {
            Some(redactor) => Self { stream: Box::new(Watched::new(self.stream, Some(redactor))), ..self },
            None => self,
        }
    }

    /// Passes bytes on both ways. When one side closes, the other can still send the rest.
    ///
    /// # Errors
    ///
    /// Either side broke.
    pub async fn relay(mut self, mut to: impl Duplex) -> io::Result<()> {
        copy_bidirectional(&mut self.stream, &mut to).await.map(|_| ())
    }
}

/// The bytes of a socket, without TLS where that may come.
pub(super) async fn open(socket: Socket, terminator: Option<Terminator>) -> io::Result<Box<dyn Duplex>> {
    match terminator {
        Some(terminator) => terminator.open(socket).await,
        None => Ok(Box::new(socket)),
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Connection").field("activity", &self.activity).finish_non_exhaustive()
    }
}
