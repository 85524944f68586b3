//! Ids of spans, which derive from the scenario's own.

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::hex;

/// The spans of one scenario.
#[derive(Debug)]
pub(super) struct Spans {
    root: String,
}

impl Spans {
    /// Spans of what ran in this sandbox, from this moment.
    pub(super) fn new(sandbox: &str, started: Timestamp) -> Self {
        Self { root: id(&format!("{sandbox} {started}")) }
    }

    /// The scenario itself.
    pub(super) fn root(&self) -> &str {
        &self.root
    }

    /// A call of the model.
    pub(super) fn call(&self, index: usize) -> String {
        id(&format!("{} call {index}", self.root))
    }

    /// A tool.
    pub(super) fn tool(&self, index: usize) -> String {
        id(&format!("{} tool {index}", self.root))
    }
}

/// Eight bytes in hex, as OpenTelemetry has them.
fn id(name: &str) -> String {
    hex(&Sha256::digest(name)[..8])
}
