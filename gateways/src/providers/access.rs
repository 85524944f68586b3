//! Providers that a spec may name by their address.

use std::str::FromStr;

use reqwest::Url;

use super::Reach;
use crate::public_network::{NotPublic, PublicUrl};

/// The providers that a spec may name by their address. Aliases are the operator's own and lead anywhere.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ProviderAccess {
    /// Any provider: the spec belongs to the machine's owner.
    #[default]
    Any,
    /// Providers of the public network, and private ones that the operator named.
    Public {
        /// The private ones.
        except: Vec<ProviderHost>,
    },
}

/// A host that an operator allows, as `HOST` or `HOST:PORT`. Without a port it is the usual one of the URL's scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderHost {
    host: String,
    port: Option<u16>,
}

/// The text is neither `HOST` nor `HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no host; write `HOST` or `HOST:PORT`, such as `llm.internal:8000`")]
pub struct InvalidHost(String);

/// The spec names a provider that is not on the public network. The message follows the name of the key in the spec.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0}; use an alias of `models.yaml`, or let who runs the worker allow it with `--allow-private-providers HOST:PORT`"
)]
pub struct RefusedProvider(#[from] pub NotPublic);

impl FromStr for ProviderHost {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        let invalid = || InvalidHost(text.to_owned());
        // The usual port of a scheme is not told from none, so two are asked.
        let parse = |scheme: &str| Url::parse(&format!("{scheme}://{text}")).map_err(|_| invalid());
        let (http, https) = (parse("http")?, parse("https")?);
        let bare = http.path() == "/" && !text.contains(['/', '?', '#', '@', '\\']);
        let host = http.host_str().filter(|host| bare && !host.is_empty()).ok_or_else(invalid)?;
        Ok(Self { host: host.to_owned(), port: http.port().or(https.port()) })
    }
}

impl ProviderHost {
    fn is_of(&self, url: &Url) -> bool {
        let port = match self.port {
            Some(port) => url.port_or_known_default() == Some(port),
            None => url.port().is_none(),
        };
        port && url.host_str() == Some(self.host.as_str())
    }
}

impl ProviderAccess {
    /// Returns the networks that a client of a provider at this address may reach, or the reason why it may not be
    /// asked.
    pub fn reach(&self, base_url: &str) -> Result<Reach, RefusedProvider> {
        let Self::Public { except } = self else { return Ok(Reach::Anywhere) };
        let url = Url::parse(base_url).ok();
        if url.is_some_and(|url| except.iter().any(|host| host.is_of(&url))) {
            return Ok(Reach::Anywhere);
        }
        Ok(PublicUrl::parse(base_url).map(|_| Reach::Public)?)
    }
}

#[cfg(test)]
mod tests {
    use super::{ProviderAccess, ProviderHost};
    use crate::providers::Reach;

    #[test]
    fn only_what_the_operator_named_is_reached_besides_the_public_network() {
        let except = ["llm.internal:8000", "10.0.0.7", "[fd00::1]:80"].map(|host| host.parse().expect("a host"));
        let access = ProviderAccess::Public { except: except.to_vec() };
        for url in ["http://llm.internal:8000/v1", "https://10.0.0.7/v1", "http://0xa000007/v1", "http://[fd00::1]/"] {
            assert_eq!(access.reach(url).ok(), Some(Reach::Anywhere), "{url}");
        }
        for url in ["https://api.example.com/v1", "http://llm.internal:8001/v1", "http://llm.internal.example.com/"] {
            assert_eq!(access.reach(url).ok(), Some(Reach::Public), "{url}");
        }
        for url in ["http://10.0.0.7:9/v1", "https://[fd00::1]/", "http://127.0.0.1:8000/", "http://10.0.0.8/"] {
            let refused = access.reach(url).expect_err(url).to_string();
            assert!(refused.contains("--allow-private-providers"), "{refused}");
        }
        assert_eq!(ProviderAccess::Any.reach("http://127.0.0.1/").ok(), Some(Reach::Anywhere));
    }

    #[test]
    fn a_host_is_a_host_and_no_url() {
        for text in ["", "http://llm.internal", "llm.internal/v1", "a@b", "a?b", ":80", "a:b"] {
            assert!(text.parse::<ProviderHost>().is_err(), "{text}");
        }
    }
}
