//! Where a webhook leads, and whether it may.

use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::Url;
use scenario::address::refusal;
use scenario::untrusted;
use tokio::time::timeout;

/// The length limit of a URL in characters.
const LONGEST: usize = 2000;
/// Timeout of a DNS lookup.
const PATIENCE: Duration = Duration::from_secs(5);

/// The URL of a webhook that may be written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    url: Url,
    host: Host,
    port: u16,
    private: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    Address(IpAddr),
    Name(String),
}

/// Looks names up.
#[async_trait]
pub(crate) trait Names: Debug + Send + Sync {
    /// The addresses of a name.
    async fn look_up(&self, name: &str, port: u16) -> io::Result<Vec<IpAddr>>;
}

/// The machine's own way of looking names up.
#[derive(Debug)]
pub(crate) struct SystemNames;

#[async_trait]
impl Names for SystemNames {
    async fn look_up(&self, name: &str, port: u16) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, port)).await?.map(|address| address.ip()).collect())
    }
}

/// The reason why a URL cannot be that of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WebhookUrlError {
    /// It is too long.
    #[error("it has more than {LONGEST} characters")]
    TooLong,
    /// It cannot be read.
    #[error("it is no URL: {0}")]
    NoUrl(#[source] <Url as FromStr>::Err),
    /// It is not of the web.
    #[error("only http and https are possible")]
    Scheme,
    /// It holds what nobody should read.
    #[error("it has a user or a password; messages are signed instead")]
    UserInfo,
    /// There is nobody to send to.
    #[error("it names no host")]
    NoHost,
    /// There is nowhere to send to.
    #[error("it has no port")]
    NoPort,
    /// It leads to this machine or to a private network.
    #[error("it leads to {0}, where webhooks may not lead")]
    Inside(&'static str),
}

/// Reads the URL of a webhook, and refuses one that leads to this machine or to a private network, unless those are
/// allowed. Names are only looked at.
pub(crate) fn target(text: &str, private: bool) -> Result<Target, WebhookUrlError> {
    if text.len() > LONGEST {
        return Err(WebhookUrlError::TooLong);
    }
    let url = Url::parse(text).map_err(WebhookUrlError::NoUrl)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(WebhookUrlError::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(WebhookUrlError::UserInfo);
    }
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or(WebhookUrlError::NoHost)?;
    let port = url.port_or_known_default().filter(|port| *port != 0).ok_or(WebhookUrlError::NoPort)?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let host = bare.parse().map_or_else(|_| Host::Name(bare.trim_end_matches('.').to_ascii_lowercase()), Host::Address);
    match &host {
        _ if private => {}
        Host::Address(address) => outside(*address)?,
        Host::Name(name) if name == "localhost" || name.ends_with(".localhost") => {
            return Err(WebhookUrlError::Inside("this machine"));
        }
        Host::Name(_) => {}
    }
    Ok(Target { url, host, port, private })
}

impl Target {
    /// The URL.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// The addresses that may be connected to.
    pub(crate) async fn addresses(&self, names: &dyn Names) -> Result<Vec<SocketAddr>, Unreachable> {
        let found = match &self.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => match timeout(PATIENCE, names.look_up(name, self.port)).await {
                Ok(Ok(found)) => found,
                Ok(Err(error)) => {
                    return Err(Unreachable::Unknown(untrusted::line(
                        &format!("its name could not be looked up: {error}"),
                        200,
                    )));
                }
                Err(_) => return Err(Unreachable::Unknown("looking its name up took too long".to_owned())),
            },
        };
        // One address that is refused is enough: whoever answers for the name decides which one is taken.
        if !self.private {
            found.iter().try_for_each(|address| outside(*address)).map_err(Unreachable::Refused)?;
        }
        if found.is_empty() {
            return Err(Unreachable::Unknown("its name has no address".to_owned()));
        }
        Ok(found.into_iter().map(|address| SocketAddr::new(address, self.port)).collect())
    }
}

/// Why there is no address to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unreachable {
    /// It may not be connected to.
    Refused(WebhookUrlError),
    /// It is not known now.
    Unknown(String),
}

fn outside(address: IpAddr) -> Result<(), WebhookUrlError> {
    refusal(address).map_or(Ok(()), |inside| Err(WebhookUrlError::Inside(inside)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Fixed(&'static [&'static str]);

    #[async_trait]
    impl Names for Fixed {
        async fn look_up(&self, _: &str, _: u16) -> io::Result<Vec<IpAddr>> {
            Ok(self.0.iter().map(|address| address.parse().unwrap()).collect())
        }
    }

    #[test]
    fn urls_that_lead_inside_are_refused() {
        for url in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0177.0.0.1/",
            "http://0x7f.0.0.1/",
            "http://0/",
            "https://localhost/x",
            "https://LOCALHOST./x",
            "https://a.localhost/x",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:7f00:1]/",
            "http://[64:ff9b::7f00:1]/",
            "http://[fd00::1]/",
            "http://[fe80::1]/",
            "http://10.0.0.1/",
            "http://192.168.1.1:8080/",
            "http://172.16.0.1/",
            "http://169.254.169.254/latest/meta-data/",
            "http://100.64.0.1/",
            "http://224.0.0.1/",
            "http://①②⑦.0.0.1/",
            "ftp://example.com/",
            "file:///etc/passwd",
            "gopher://example.com/",
            "javascript:alert(1)",
            "http://user:pass@example.com/",
            "http://example.com:0/",
            "//example.com/",
            "example.com",
            "",
        ] {
            assert!(target(url, false).is_err(), "{url}");
        }
        for url in ["https://example.com/hook?a=1", "http://8.8.8.8:8080/", "https://[2606:4700::1111]/"] {
            assert!(target(url, false).is_ok(), "{url}");
        }
        assert!(target("http://127.0.0.1:9/", true).is_ok());
        assert!(target("ftp://127.0.0.1:9/", true).is_err());
        assert!(target(&format!("https://example.com/{}", "x".repeat(2000)), false).is_err());
    }

    #[tokio::test]
    async fn a_name_that_leads_inside_is_refused_after_it_was_looked_up() {
        let target = target("https://example.com/hook", false).unwrap();
        for names in [&["127.0.0.1"][..], &["8.8.8.8", "10.0.0.1"], &["::ffff:169.254.169.254"], &["fd00::1"]] {
            let refused = target.addresses(&Fixed(names)).await;
            assert!(matches!(refused, Err(Unreachable::Refused(_))), "{names:?}: {refused:?}");
        }
        let found = target.addresses(&Fixed(&["8.8.8.8"])).await.unwrap();
        assert_eq!(found, ["8.8.8.8:443".parse().unwrap()]);
        assert!(matches!(target.addresses(&Fixed(&[])).await, Err(Unreachable::Unknown(_))));
        let allowed = super::target("https://example.com/hook", true).unwrap();
        assert!(allowed.addresses(&Fixed(&["127.0.0.1"])).await.is_ok());
    }
}
