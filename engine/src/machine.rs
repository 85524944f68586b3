//! Parts of the machine that all attempts share: providers of models, a way to the outside, a place for judgements.

use std::path::PathBuf;
use std::sync::Arc;

use gateways::egress::{Internet, Outside};

use crate::providers::Providers;

/// Parts of the machine that all attempts share.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The providers of models, and what they cost.
    pub providers: Arc<Providers>,
    /// Network behind the egress gateway.
    pub outside: Arc<dyn Outside>,
    /// The folder in which replies of judges are kept; `None` when each is to be asked for anew.
    pub judgements: Option<PathBuf>,
}

impl Default for Machine {
    fn default() -> Self {
        Self { providers: Arc::default(), outside: Arc::new(Internet), judgements: None }
    }
}
