//! Address of a provider, and the key for it.

use std::fs;
use std::path::Path;

use super::file::{Alias, ProviderName};
use super::{Environment, Key, ProviderKind, ProviderUnavailable, Reach, Upstream};

/// Address of a provider, and the key for it or the reason why there is none.
#[derive(Debug, Clone)]
pub(super) struct Reached {
    pub(super) upstream: Upstream,
    pub(super) problem: Option<ProviderUnavailable>,
}

impl Reached {
    /// Returns the address, or the reason why the provider cannot be asked.
    pub(super) fn get(&self) -> Result<Upstream, ProviderUnavailable> {
        match &self.problem {
            Some(problem) => Err(problem.clone()),
            None => Ok(self.upstream.clone()),
        }
    }
}

/// The provider itself, with the key and the address of the environment.
pub(super) fn usual(provider: ProviderKind, environment: Environment<'_>) -> Reached {
    let (name, address, prefix) = match provider {
        ProviderKind::OpenAi => ("openai", "https://api.openai.com/v1", "OPENAI"),
        ProviderKind::Anthropic => ("anthropic", "https://api.anthropic.com/v1", "ANTHROPIC"),
    };
    let given = environment(&format!("{prefix}_BASE_URL")).filter(|url| !url.trim().is_empty());
    let key = environment(&format!("{prefix}_API_KEY")).and_then(|key| Key::new(&key));
    let mut base_url = clean(given.as_deref().unwrap_or(address));
    // Anthropic's own clients add the version themselves.
    if provider == ProviderKind::Anthropic && !base_url.ends_with("/v1") {
        base_url.push_str("/v1");
    }
    let problem = key.is_none().then(|| ProviderUnavailable::UnsetVariable(format!("{prefix}_API_KEY")));
    Reached {
        upstream: Upstream {
            name: name.to_owned(),
            provider,
            base_url,
            key,
            model: None,
            reach: Reach::Anywhere,
            family: None,
        },
        problem,
    }
}

/// Returns the provider of an alias, or the mistake in it.
pub(super) fn reach(name: &str, alias: Alias, path: &Path, environment: Environment<'_>) -> Result<Reached, String> {
    let provider = match alias.provider {
        ProviderName::OpenAi => ProviderKind::OpenAi,
        ProviderName::Anthropic => ProviderKind::Anthropic,
    };
    let usual = usual(provider, environment);
    let base_url = alias.base_url.as_deref().map(clean);
    if let Some(url) = base_url.as_deref().filter(|url| !is_address(url)) {
        return Err(format!("base_url: `{url}` is no address such as `https://api.example.com/v1`"));
    }
    let own = base_url.is_some();
    let (key, problem) = match (&alias.api_key, &alias.api_key_env, &alias.api_key_file) {
        // An address of its own may need no key; the provider itself does.
        (None, None, None) if own => (None, None),
        (None, None, None) => (usual.upstream.key, usual.problem),
        (Some(key), None, None) => kept(Key::new(key), || ProviderUnavailable::EmptyKey),
        (None, Some(variable), None) => kept(environment(variable).and_then(|key| Key::new(&key)), || {
            ProviderUnavailable::UnsetVariable(variable.clone())
        }),
        (None, None, Some(file)) => key_in(file, path),
        _ => return Err("give one of `api_key_env`, `api_key_file` and `api_key`".to_owned()),
    };
    let problem =
        problem.map(|reason| ProviderUnavailable::AliasWithoutKey { alias: name.to_owned(), reason: Box::new(reason) });
    let base_url = base_url.unwrap_or(usual.upstream.base_url);
    let (name, reach) = (name.to_owned(), Reach::Anywhere);
    let upstream = Upstream { name, provider, base_url, key, model: alias.model, reach, family: alias.family };
    Ok(Reached { upstream, problem })
}

fn kept(key: Option<Key>, problem: impl FnOnce() -> ProviderUnavailable) -> (Option<Key>, Option<ProviderUnavailable>) {
    let problem = key.is_none().then(problem);
    (key, problem)
}

/// The key in a file; a relative path starts beside the configuration.
fn key_in(file: &str, path: &Path) -> (Option<Key>, Option<ProviderUnavailable>) {
    let place = path.parent().unwrap_or(Path::new("")).join(file);
    match fs::read_to_string(&place) {
        Ok(text) => kept(Key::new(&text), || ProviderUnavailable::EmptyKeyFile(place)),
        Err(error) => (None, Some(ProviderUnavailable::UnreadableKeyFile { path: place, reason: error.to_string() })),
    }
}

fn clean(url: &str) -> String {
    url.trim().trim_end_matches('/').to_owned()
}

fn is_address(url: &str) -> bool {
    let parsed: Option<http::Uri> = url.parse().ok();
    parsed.is_some_and(|uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some())
}
