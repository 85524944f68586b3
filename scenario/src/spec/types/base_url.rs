//! Base URLs of providers: paths are appended to them, so they hold nothing that would change the meaning of the whole.

use std::ops::Deref;

use serde::Serialize;

use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::Shape;
use crate::spec::template::{Bindings, Reference, Text};
use crate::spec::yaml::Node;

/// An address such as `https://api.example.com/v1`.
const HELP: &str = "write it like `https://api.example.com/v1`";

/// The base URL of a provider: scheme, host, port and path, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct BaseUrl(Text);

/// The reason why a text is no base URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    /// Paths would become a part of the query.
    #[error("a base URL has no `?`: what follows it would swallow the path of a call")]
    Query,
    /// Paths would not be sent at all.
    #[error("a base URL has no `#`: what follows it is never sent")]
    Fragment,
    /// A user before the host hides which host it is.
    #[error("a base URL has no user or password before the host; name the key with `api_key`")]
    UserInfo,
    /// Parsers disagree about these.
    #[error("a base URL has no blanks, control characters or backslashes")]
    Character,
    /// Steps up lead out of the provider's API.
    #[error("the path of a base URL has no `.` or `..` steps")]
    Step,
    /// Only HTTP is spoken.
    #[error("a base URL begins with `https://` or `http://`")]
    Scheme,
    /// It has no host.
    #[error("a base URL names a host")]
    Host,
}

impl BaseUrl {
    /// Returns the URL with templates replaced, checked again: a parameter may add parts that the spec's own text must
    /// not have.
    pub fn render(&self, bindings: &dyn Bindings) -> Result<String, BaseUrlError> {
        let url = self.0.render(bindings);
        check(&url)?;
        Ok(url)
    }
}

impl Deref for BaseUrl {
    type Target = Text;

    fn deref(&self) -> &Text {
        &self.0
    }
}

impl Readable for BaseUrl {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let text = Text::read(node, reader)?;
        let checked = match text.as_literal() {
            Some(url) => check(url),
            // Where it begins may be in a parameter; what it may not have is known already.
            None => check_form(&text.render(&Placeholders)),
        };
        match checked {
            Ok(()) => Some(Self(text)),
            Err(problem) => reader.invalid(node, problem.to_string(), Some(HELP.to_owned())),
        }
    }

    fn shape() -> Shape {
        Shape::Filled
    }
}

/// Stands in for every value.
struct Placeholders;

impl Bindings for Placeholders {
    fn value(&self, _: &Reference) -> Option<serde_json::Value> {
        Some("x".into())
    }
}

fn check(url: &str) -> Result<(), BaseUrlError> {
    check_form(url)?;
    let lower = url.to_ascii_lowercase();
    let rest = lower.strip_prefix("https://").or_else(|| lower.strip_prefix("http://"));
    match rest.ok_or(BaseUrlError::Scheme)? {
        "" => Err(BaseUrlError::Host),
        rest if rest.starts_with(['/', ':']) => Err(BaseUrlError::Host),
        _ => Ok(()),
    }
}

/// Checks what holds wherever the URL begins.
fn check_form(url: &str) -> Result<(), BaseUrlError> {
    let odd = |letter: char| letter.is_whitespace() || letter.is_control() || letter == '\\';
    let (authority, path) = split(url);
    match () {
        () if url.contains(odd) => Err(BaseUrlError::Character),
        () if url.contains('?') => Err(BaseUrlError::Query),
        () if url.contains('#') => Err(BaseUrlError::Fragment),
        () if authority.contains('@') => Err(BaseUrlError::UserInfo),
        () if path.split('/').any(is_dots) => Err(BaseUrlError::Step),
        () => Ok(()),
    }
}

/// Splits a URL into the host with its surroundings, and the path.
fn split(url: &str) -> (&str, &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split_once('/').unwrap_or((rest, ""))
}

fn is_dots(step: &str) -> bool {
    matches!(step.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..")
}

#[cfg(test)]
mod tests {
    use super::{BaseUrlError, check, check_form};

    #[test]
    fn only_scheme_host_port_and_path_make_a_base_url() {
        for url in [
            "https://api.example.com",
            "https://api.example.com/v1/",
            "HTTP://localhost:11434/v1",
            "http://[::1]:8080/openai/v1",
            "https://example.com/accounts/me@example/v1",
        ] {
            assert_eq!(check(url), Ok(()), "{url}");
        }
        for (url, problem) in [
            ("http://127.0.0.1:8012/v1/keys?x=", BaseUrlError::Query),
            ("http://127.0.0.1:8012/v1/keys?", BaseUrlError::Query),
            ("http://127.0.0.1:8012/v1/keys#", BaseUrlError::Fragment),
            ("https://api.example.com@127.0.0.1/v1", BaseUrlError::UserInfo),
            ("https://a:b@127.0.0.1", BaseUrlError::UserInfo),
            ("https://api.example.com\\@127.0.0.1/", BaseUrlError::Character),
            ("https://api.example.com/v1\r\nx", BaseUrlError::Character),
            ("https://api.example.com/v1/../admin", BaseUrlError::Step),
            ("https://api.example.com/v1/%2E%2e/admin", BaseUrlError::Step),
            ("https://api.example.com/.%2e", BaseUrlError::Step),
            ("file:///etc/passwd", BaseUrlError::Scheme),
            ("gopher://example.com", BaseUrlError::Scheme),
            ("api.example.com/v1", BaseUrlError::Scheme),
            ("http://", BaseUrlError::Host),
            ("http:///etc", BaseUrlError::Host),
            ("http://:80/", BaseUrlError::Host),
        ] {
            assert_eq!(check(url), Err(problem), "{url}");
        }
    }

    #[test]
    fn a_url_that_begins_with_a_parameter_is_checked_as_far_as_it_is_known() {
        assert_eq!(check_form("x/v1"), Ok(()));
        assert_eq!(check_form("x/keys?x="), Err(BaseUrlError::Query));
        assert_eq!(check_form("http://x@x/v1"), Err(BaseUrlError::UserInfo));
    }
}
