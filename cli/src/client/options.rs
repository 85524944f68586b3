//! Selects the server and its key.

use std::env;

use clap::Args;
use clap::builder::BoolishValueParser;
use reqwest::Url;

use super::Server;
use crate::output::CommandError;

/// Names under which Keystone's clients look for a server and a key. Commands that need a server look there too.
const KEYSTONE_URL: &str = "KEYSTONE_BASE_URL";
const KEYSTONE_KEY: &str = "KEYSTONE_API_KEY";

/// Which server.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ServerOptions {
    /// The server, such as `http://127.0.0.1:8012`.
    #[arg(long, env = "TOUCHSTONE_URL", value_name = "URL")]
    url: Option<String>,
    /// The key for the server; better given by the environment, because a command line can be read by others.
    #[arg(long, env = "TOUCHSTONE_API_KEY", hide_env_values = true, value_name = "KEY")]
    api_key: Option<String>,
}

/// Which server, if any: without one, the command is about what is kept on this machine.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct MaybeServer {
    #[command(flatten)]
    server: ServerOptions,
    /// What is kept on this machine is meant, also where `TOUCHSTONE_URL` or the configuration names a server.
    #[arg(long, value_parser = BoolishValueParser::new())]
    local: bool,
}

impl ServerOptions {
    /// The server that is named; otherwise how to name one.
    pub(crate) fn required(&self, instead: &str) -> Result<Server, CommandError> {
        let url =
            self.url.clone().filter(|url| !url.is_empty()).or_else(|| variable(KEYSTONE_URL)).ok_or_else(|| {
                CommandError::Usage(format!(
                    "say which server: `--url URL`, TOUCHSTONE_URL, or `url` in the configuration file{instead}"
                ))
            })?;
        self.connect(&url)
    }

    /// The server that is named for Touchstone, if one is.
    pub(crate) fn named(&self) -> Result<Option<Server>, CommandError> {
        match self.url.as_deref() {
            // A variable of a script that has no value must not mean another place.
            Some("") => {
                Err(CommandError::Usage("`--url` is empty; leave it away when this machine is meant".to_owned()))
            }
            url => url.map(|url| self.connect(url)).transpose(),
        }
    }

    fn connect(&self, url: &str) -> Result<Server, CommandError> {
        let wrong = |why: &str| CommandError::Usage(format!("`{url}` is no address of a server: {why}"));
        let url: Url = url.parse().map_err(|_| wrong("write it as http://HOST:PORT or https://HOST"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong("write it as http://HOST:PORT or https://HOST"));
        }
        if url.username() != "" || url.password().is_some() {
            return Err(wrong("a key does not belong into it; use TOUCHSTONE_API_KEY"));
        }
        let key = self.api_key.clone().filter(|key| !key.is_empty()).or_else(|| variable(KEYSTONE_KEY));
        let key = key.map(|key| key.trim().to_owned());
        if key.as_ref().is_some_and(|key| !key.chars().all(|character| character.is_ascii_graphic())) {
            let problem = "the key has a character that no key has: was it copied whole, and alone?";
            return Err(CommandError::Usage(problem.to_owned()));
        }
        Server::new(url, key)
    }
}

impl MaybeServer {
    /// The server, unless this machine is meant.
    pub(crate) fn named(&self) -> Result<Option<Server>, CommandError> {
        if self.local { Ok(None) } else { self.server.named() }
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::ServerOptions;

    fn problem(url: &str) -> String {
        let options = ServerOptions { url: Some(url.to_owned()), api_key: None };
        options.named().map(drop).expect_err("refused").to_string()
    }

    #[test]
    fn addresses_are_read_and_others_are_refused_with_a_reason() {
        let options = ServerOptions { url: Some("http://127.0.0.1:8012/".to_owned()), api_key: None };
        assert_eq!(options.named().expect("a server").expect("one").place(), "http://127.0.0.1:8012");
        assert!(problem("127.0.0.1:8012").contains("write it as http://HOST:PORT"));
        assert!(problem("ftp://x").contains("write it as http://HOST:PORT"));
        assert!(problem("http://key@x").contains("TOUCHSTONE_API_KEY"));
        assert!(problem("").contains("`--url` is empty"));
        let key = Some("ts_live_1\r\nts_live_2".to_owned());
        let options = ServerOptions { url: Some("http://127.0.0.1:8012".to_owned()), api_key: key };
        assert!(options.named().expect_err("refused").to_string().contains("a character that no key has"));
        assert!(ServerOptions::default().named().expect("nothing is wrong").is_none());
    }
}
