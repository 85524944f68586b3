//! A connection, as those see it who answer its requests.

use crate::registry::{Id, Registry};
use crate::shares::Full;

/// The connection on which a request came; every request has it among its extensions.
#[derive(Debug, Clone)]
pub struct Connection {
    registry: Registry,
    id: Id,
}

impl Connection {
    pub(crate) fn new(registry: Registry, id: Id) -> Self {
        Self { registry, id }
    }

    /// Counts the connection as one of a key, because a request showed it. When the key has too many, its longest idle one is
    /// closed; when none is idle, there is no place.
    pub fn authenticated(&self, key: &str) -> Result<(), Full> {
        self.registry.authenticate(self.id, key)
    }

    /// Counts the connection as nobody's again, because a request showed no key or a wrong one.
    pub fn unauthenticated(&self) {
        self.registry.forget_key(self.id);
    }
}
