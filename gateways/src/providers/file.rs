//! The file in which the machine's owner lists models and their prices.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::prices::Prices;

/// Content of `models.yaml`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    /// Names of providers.
    pub(super) aliases: BTreeMap<String, Alias>,
    /// Prices, before those that ship.
    pub(super) prices: Prices,
}

/// Address of a provider, as the file has it.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Alias {
    pub(super) base_url: Option<String>,
    pub(super) provider: ProviderName,
    pub(super) model: Option<String>,
    /// The family of the model, where its name does not say it.
    pub(super) family: Option<String>,
    /// The environment variable that holds the key.
    pub(super) api_key_env: Option<String>,
    /// The file that holds the key.
    pub(super) api_key_file: Option<String>,
    /// The key itself.
    pub(super) api_key: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ProviderName {
    OpenAi,
    Anthropic,
}

impl std::fmt::Debug for Alias {
    /// Without the key.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { base_url, provider, model, .. } = self;
        formatter
            .debug_struct("Alias")
            .field("base_url", base_url)
            .field("provider", provider)
            .field("model", model)
            .finish_non_exhaustive()
    }
}
