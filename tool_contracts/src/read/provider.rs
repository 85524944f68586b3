//! `provider_constraints`: combinations of options that a provider refuses or ignores.

use crate::reader::{At, Reader};

/// The constraints of one provider.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProviderConstraints {
    pub(crate) block: Vec<String>,
    pub(crate) warn: Vec<String>,
    pub(crate) warn_floating_alias: bool,
}

impl ProviderConstraints {
    pub(crate) fn read(at: &At<'_>, reader: &mut Reader) -> Self {
        if !reader.is_map(at, &["block_incompatible", "warn_incompatible", "warn_floating_alias"]) {
            return Self::default();
        }
        let mut patterns = |key| reader.items(at, key, |item, reader| reader.string(item));
        let (block, warn) = (patterns("block_incompatible"), patterns("warn_incompatible"));
        Self { block, warn, warn_floating_alias: reader.flag(at, "warn_floating_alias", false) }
    }
}
