//! Requests as matchers and templates see them.

use std::cell::OnceCell;

use http::Method;
use http::request::Parts;
use scenario::evidence::{Body, Exchange};
use serde_json::Value as Json;

use crate::body::IncomingBody;

/// The longest method that is recorded; the rest of a longer one is cut off. Methods of specs have at most 20 letters.
pub const LONGEST_METHOD: usize = 64;

/// A request that came, with the part of its body that is kept.
pub(super) struct Received<'a> {
    /// Its head.
    pub(super) head: &'a Exchange,
    body: &'a IncomingBody,
    json: OnceCell<Option<Json>>,
}

impl<'a> Received<'a> {
    pub(super) fn new(head: &'a Exchange, body: &'a IncomingBody) -> Self {
        Self { head, body, json: OnceCell::new() }
    }

    /// The beginning of the body, as much as is kept.
    pub(super) fn body(&self) -> &[u8] {
        self.body.kept()
    }

    /// The body as JSON; `None` when it is none, or when a part of it was not kept.
    pub(super) fn json(&self) -> Option<&Json> {
        let parse = || {
            let text = self.body().trim_ascii();
            let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
            self.body.is_whole().then(|| serde_json::from_slice(text).ok()).flatten()
        };
        self.json.get_or_init(parse).as_ref()
    }
}

/// The head of a request as it is recorded, without body, status and time.
///
/// The path is the one on the wire, with its `%` escapes. `CONNECT` has no path, and the name and port that it asks for
/// stand in its place; so does the `*` of `OPTIONS *`. HTTP/2 has the host in `:authority`, which is recorded as the
/// header `host`.
pub(super) fn head(parts: &Parts) -> Exchange {
    let uri = &parts.uri;
    let path = match (&parts.method, uri.authority()) {
        (&Method::CONNECT, Some(authority)) => authority.as_str(),
        _ => uri.path(),
    };
    Exchange {
        method: parts.method.as_str().chars().take(LONGEST_METHOD).collect(),
        path: path.to_owned(),
        query: form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect(),
        headers: headers(parts),
        body: Body::default(),
        status: 0,
        at_ms: 0,
        fault: None,
        answer: None,
    }
}

fn headers(parts: &Parts) -> Vec<(String, String)> {
    let given = parts.headers.iter();
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let mut headers: Vec<_> = given.map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
    if !parts.headers.contains_key(http::header::HOST)
        && let Some(authority) = parts.uri.authority()
    {
        headers.insert(0, ("host".to_owned(), authority.as_str().to_owned()));
    }
    headers
}

/// The name in a `Host` header: in lower case, and without the port.
pub(super) fn host_name(header: &str) -> String {
    let name = match header.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => header.split(':').next().unwrap_or_default(),
    };
    name.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::{head, host_name};

    fn check(method: &str, uri: &str, path: &str, query: &[(&str, &str)]) {
        let (parts, ()) = Request::builder().method(method).uri(uri).body(()).expect("a request").into_parts();
        let head = head(&parts);
        let found: Vec<_> = head.query.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!((head.path.as_str(), found.as_slice()), (path, query), "{method} {uri}");
    }

    #[test]
    fn every_form_of_target_has_a_path() {
        check("GET", "/a/%20b?x=1&x=2+3&y=%26&z", "/a/%20b", &[("x", "1"), ("x", "2 3"), ("y", "&"), ("z", "")]);
        check("GET", "http://mail:80/a?b=c", "/a", &[("b", "c")]);
        check("GET", "http://mail", "/", &[]);
        check("OPTIONS", "*", "*", &[]);
        check("CONNECT", "mail:443", "mail:443", &[]);
    }

    #[test]
    fn a_long_method_is_cut() {
        let (parts, ()) = Request::builder().method("X".repeat(70).as_str()).body(()).expect("a request").into_parts();
        assert_eq!(head(&parts).method.len(), 64);
    }

    #[test]
    fn the_host_is_a_name_without_its_port() {
        assert_eq!(host_name("Mail.services.internal:8025"), "mail.services.internal");
        assert_eq!(host_name("[::1]:80"), "::1");
        assert_eq!(host_name(""), "");
    }
}
