//! The public network: all that an untrusted spec may make the worker connect to.
//!
//! The author of a spec names servers that the worker calls: repositories and providers of models. Without these
//! checks, that could be anything that only the worker can reach.

use std::fmt::{self, Debug};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use scenario::address::refusal;

use crate::egress::Outside;

/// The reason why a URL does not lead to the public network. It reads after the name of the thing that has the URL.
#[derive(Debug, thiserror::Error)]
pub enum NotPublic {
    /// The text is no URL.
    #[error("has no address that can be read ({0})")]
    Unreadable(String),
    /// The scheme is neither `https` nor `http`; other schemes have other rules.
    #[error("is not reached over https or http")]
    Scheme,
    /// The URL has no host.
    #[error("names no host")]
    NoHost,
    /// The host is not on the public network.
    #[error("leads to {0}")]
    Private(&'static str),
}

/// A URL whose host is a name, or an address of the public network.
#[derive(Debug, Clone)]
pub struct PublicUrl {
    /// The name, or an address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl PublicUrl {
    /// Reads a URL, and refuses one that leads elsewhere, as far as it tells without looking its name up.
    pub fn parse(text: &str) -> Result<Self, NotPublic> {
        let url = Url::parse(text).map_err(|error| NotPublic::Unreadable(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(NotPublic::Scheme);
        }
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err(NotPublic::NoHost);
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let bare = host.trim_end_matches('.');
        if bare == "localhost" || bare.ends_with(".localhost") {
            return Err(NotPublic::Private("a loopback address"));
        }
        if let Some(why) = host.parse().ok().and_then(refusal) {
            return Err(NotPublic::Private(why));
        }
        Ok(Self { host, port })
    }

    /// The addresses of the host, all of them public.
    pub async fn addresses(&self, outside: &dyn Outside) -> Result<Vec<IpAddr>, LookupError> {
        public_addresses(outside, &self.host).await
    }
}

/// The reason why a name has no public address.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// The name leads to an address that is not public.
    #[error("`{name}` leads to {why}")]
    Private {
        /// The name.
        name: String,
        /// The kind of address.
        why: &'static str,
    },
    /// The name has no address now.
    #[error("cannot find `{name}`: {cause}")]
    Unknown {
        /// The name.
        name: String,
        /// The error.
        cause: io::Error,
    },
}

/// Looks a name up. One address that is not public is enough to refuse it: the owner of the name decides which one is
/// taken.
async fn public_addresses(outside: &dyn Outside, name: &str) -> Result<Vec<IpAddr>, LookupError> {
    let found = outside.resolve(name).await;
    let found = found.map_err(|cause| LookupError::Unknown { name: name.to_owned(), cause })?;
    match found.iter().find_map(|address| refusal(*address)) {
        Some(why) => Err(LookupError::Private { name: name.to_owned(), why }),
        None => Ok(found),
    }
}

/// Looks names up for a client each time that it connects. The client connects to the address that was checked, so a
/// name that leads elsewhere the next time leads nowhere.
pub(crate) struct PublicResolver(pub(crate) Arc<dyn Outside>);

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let outside = Arc::clone(&self.0);
        Box::pin(async move {
            let found = public_addresses(&*outside, name.as_str()).await?;
            // The client puts the port of the URL in.
            let addresses: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

impl Debug for PublicResolver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PublicResolver")
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use tokio::net::TcpStream;

    use super::*;

    /// A network in which every name has these addresses, one list for each time that it is looked up.
    #[derive(Debug)]
    pub(crate) struct Scripted(pub(crate) Mutex<Vec<&'static [&'static str]>>);

    #[async_trait]
    impl Outside for Scripted {
        async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
            let mut left = self.0.lock().expect("one at a time");
            let found = if left.len() > 1 { left.remove(0) } else { left[0] };
            Ok(found.iter().map(|address| address.parse().expect("an address")).collect())
        }

        async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
            TcpStream::connect(address).await
        }
    }

    #[test]
    fn an_address_in_any_spelling_is_seen_for_what_it_is() {
        for url in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0177.0.0.1/",
            "http://0/",
            "http://LOCALHOST./v1",
            "http://a.localhost:8080/v1",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:7f00:1]/",
            "http://[64:ff9b::a9fe:a9fe]/",
            "http://[fd00:ec2::254]/latest",
            "http://169.254.169.254/latest/meta-data",
            "http://①②⑦.0.0.1/",
            "https://10.0.0.1:8443/v1",
            "https://example.com@192.168.1.1/v1",
            "file:///etc/passwd",
            "gopher://example.com/",
            "example.com/v1",
        ] {
            assert!(PublicUrl::parse(url).is_err(), "{url}");
        }
        for url in ["https://api.example.com/v1", "http://8.8.8.8:8080/", "https://[2606:4700::1111]/"] {
            assert!(PublicUrl::parse(url).is_ok(), "{url}");
        }
    }

    #[tokio::test]
    async fn a_name_is_looked_at_each_time_that_it_is_looked_up() {
        let answers: Vec<&[&str]> = vec![&["8.8.8.8"], &["8.8.8.8", "127.0.0.1"], &["::ffff:169.254.169.254"]];
        let resolver = PublicResolver(Arc::new(Scripted(Mutex::new(answers))));
        let ask = async || resolver.resolve("api.example.com".parse().expect("a name")).await;
        let found: Vec<_> = ask().await.unwrap_or_else(|error| panic!("{error}")).collect();
        assert_eq!(found, ["8.8.8.8:0".parse().expect("an address")]);
        for why in ["a loopback address", "an address of a cloud's metadata"] {
            let Err(error) = ask().await else { panic!("it leads elsewhere") };
            assert_eq!(error.to_string(), format!("`api.example.com` leads to {why}"));
        }
    }
}
