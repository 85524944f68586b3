//! Providers of models: their addresses, names and prices.

mod access;
mod file;
mod key;
mod prices;
mod reach;
mod unavailable;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use scenario::evidence::TokenCount;

pub use access::{InvalidHost, ProviderAccess, ProviderHost, RefusedProvider};
use file::File;
pub use key::Key;
use prices::Prices;
use reach::{Reached, reach, usual};
pub use unavailable::ProviderUnavailable;

/// Aliases that specs may use without knowing this machine; they lead nowhere until its owner says where.
const VENDOR_ALIASES: [&str; 2] = ["paragon-fast", "paragon-max"];
/// Beginnings of the names of OpenAI's models.
const OPENAI_NAMES: [&str; 6] = ["gpt", "o1", "o3", "o4", "chatgpt", "text-embedding"];

/// The providers that this machine knows, and the price table.
#[derive(Debug, Clone, Default)]
pub struct Providers {
    /// The file that says so, also when it is not there.
    source: Option<PathBuf>,
    aliases: BTreeMap<String, Reached>,
    openai: Option<Reached>,
    anthropic: Option<Reached>,
    prices: Prices,
    warnings: Vec<String>,
}

/// Destination of a model's calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Name in messages: the alias, or the provider.
    pub name: String,
    /// The shape of its API.
    pub provider: ProviderKind,
    /// Its address, with the version and without a slash at its end: `https://api.openai.com/v1`.
    pub base_url: String,
    /// The key; `None` when it needs none.
    pub key: Option<Key>,
    /// The model to ask, whatever was asked for.
    pub model: Option<String>,
    /// Addresses that it may have.
    pub reach: Reach,
    /// The family of its model, where the owner says it: models of one family are likely to err together.
    pub family: Option<String>,
}

/// Addresses that a provider may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Any address, because the operator named the provider.
    Anywhere,
    /// Addresses of the public network only, because a stranger named the provider.
    Public,
}

/// The shape of a provider's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    /// OpenAI's, or one like it.
    OpenAi,
    /// Anthropic's.
    Anthropic,
}

/// Reason why the providers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProvidersError {
    /// The file exists and cannot be read, or was named and does not exist.
    #[error("cannot read the models in `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The file has an error.
    #[error("`{}` does not say where models are: {reason}; it looks like `aliases: {{paragon-fast: {{provider: openai, model: gpt-4o-mini, api_key_env: OPENAI_API_KEY}}}}`", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The error and its place.
        reason: String,
    },
}

/// Looks up a variable of the worker's environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Providers {
    /// Loads the providers of a file, which need not be there, and those whose keys are in the environment.
    pub fn load(path: &Path, environment: Environment<'_>) -> Result<Self, ProvidersError> {
        match fs::read_to_string(path) {
            Ok(text) => Self::read(&text, path, environment),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::read("", path, environment),
            Err(source) => Err(ProvidersError::Read { path: path.to_owned(), source }),
        }
    }

    /// Reads the providers of a text, and those whose keys are in the environment. Messages name the text by its path.
    pub fn read(text: &str, path: &Path, environment: Environment<'_>) -> Result<Self, ProvidersError> {
        let broken = |reason: String| ProvidersError::Broken { path: path.to_owned(), reason };
        let is_empty = text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
        let file = if is_empty { Ok(File::default()) } else { serde_yaml::from_str::<File>(text) };
        let File { aliases, prices } = file.map_err(|error| broken(error.to_string()))?;
        let mut providers = Self { source: Some(path.to_owned()), prices, ..Self::default() };
        providers.openai = Some(usual(ProviderKind::OpenAi, environment));
        providers.anthropic = Some(usual(ProviderKind::Anthropic, environment));
        for (name, alias) in aliases {
            if alias.api_key.is_some() {
                let place = path.display();
                providers.warnings.push(format!(
                    "the alias `{name}` in `{place}` holds its key itself; `api_key_env` or `api_key_file` keep it out of the file"
                ));
            }
            let reached = reach(&name, alias, path, environment)
                .map_err(|problem| broken(format!("aliases.{name}: {problem}")))?;
            providers.aliases.insert(name, reached);
        }
        Ok(providers)
    }

    /// Returns warnings about the configuration for its owner.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The provider behind an alias.
    pub fn upstream(&self, alias: &str) -> Result<Upstream, ProviderUnavailable> {
        match self.aliases.get(alias) {
            Some(reached) => reached.get(),
            None => Err(self.unknown(alias)),
        }
    }

    /// The provider of a model: that of the alias of this name, else the one whose models are called so. The model is that
    /// of the alias, when it has one.
    pub fn for_model(&self, model: &str) -> Result<Upstream, ProviderUnavailable> {
        let named = |upstream: Upstream| {
            let asked = upstream.model.clone().unwrap_or_else(|| model.to_owned());
            Upstream { model: Some(asked), ..upstream }
        };
        if self.aliases.contains_key(model) || VENDOR_ALIASES.contains(&model) {
            return self.upstream(model).map(named);
        }
        let (reached, key) = if model.starts_with("claude") {
            (&self.anthropic, "ANTHROPIC_API_KEY")
        } else if OPENAI_NAMES.iter().any(|name| model.starts_with(name)) {
            (&self.openai, "OPENAI_API_KEY")
        } else {
            return Err(self.unknown(model));
        };
        let reached = reached.as_ref().ok_or_else(|| ProviderUnavailable::UnsetVariable(key.to_owned()))?;
        reached.get().map(named)
    }

    /// Returns the cost of tokens of a model in US dollars; `None` when it has no price.
    #[must_use]
    pub fn cost(&self, model: &str, tokens: &TokenCount) -> Option<f64> {
        self.prices.of(model).or_else(|| prices::shipped(model)).map(|price| price.cost(tokens))
    }

    /// The keys of all providers, with a name for each: secrets that must be in nothing that is kept.
    #[must_use]
    pub fn keys(&self) -> Vec<(String, String)> {
        let all = self.aliases.values().chain(&self.openai).chain(&self.anthropic);
        let named = |reached: &Reached| {
            let key = reached.upstream.key.as_ref()?;
            Some((format!("key of {}", reached.upstream.name), key.expose().to_owned()))
        };
        all.filter_map(named).collect()
    }

    fn unknown(&self, alias: &str) -> ProviderUnavailable {
        let file = self.source.as_ref().map_or_else(|| "models.yaml".to_owned(), |path| path.display().to_string());
        let known = self.aliases.keys().cloned().collect();
        ProviderUnavailable::UnknownAlias { alias: alias.to_owned(), file, known }
    }
}

#[cfg(test)]
mod tests;
