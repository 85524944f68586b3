//! Zone of the sandbox: the names that exist, and their addresses.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use crate::addresses::{DOMAIN, EGRESS};
use crate::egress::Gate;

/// The names of a sandbox.
#[derive(Debug, Default)]
pub struct Zone {
    names: BTreeMap<String, Ipv4Addr>,
    gate: Option<Arc<Gate>>,
    asks_outside: bool,
}

/// Resolution of a name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Resolution {
    /// An address.
    Address(Ipv4Addr),
    /// A name of the outside, if it exists there.
    Outside,
    /// Nowhere.
    Nothing,
}

impl Zone {
    /// These names, and no others.
    pub fn new(names: impl IntoIterator<Item = (String, Ipv4Addr)>) -> Self {
        let names = names.into_iter().map(|(name, address)| (name.to_ascii_lowercase(), address));
        Self { names: names.collect(), gate: None, asks_outside: false }
    }

    /// Besides, the names that a gate lets through; and, if it may ask outside, all that exist.
    #[must_use]
    pub fn with_gate(mut self, gate: Arc<Gate>, asks_outside: bool) -> Self {
        self.gate = Some(gate);
        self.asks_outside = asks_outside;
        self
    }

    /// Resolves a name, as far as that is known without asking the outside.
    pub(super) fn find(&self, name: &str) -> Resolution {
        let name = name.to_ascii_lowercase();
        if let Some(address) = self.names.get(&name) {
            return Resolution::Address(*address);
        }
        if name.ends_with(".localhost") {
            return Resolution::Address(Ipv4Addr::LOCALHOST);
        }
        // Names below this are ours alone, and numbers turned round have no names.
        if name.ends_with(DOMAIN) || name.ends_with(".arpa") {
            return Resolution::Nothing;
        }
        match &self.gate {
            Some(gate) if gate.lets_through(&name) => Resolution::Address(EGRESS),
            Some(_) if self.asks_outside => Resolution::Outside,
            _ => Resolution::Nothing,
        }
    }

    /// Returns true if a name exists outside.
    pub(super) async fn exists_outside(&self, name: &str) -> bool {
        match &self.gate {
            Some(gate) => gate.exists(&name.to_ascii_lowercase()).await,
            None => false,
        }
    }
}
