//! `services[].type: http_mock`: a recording HTTP server, and how it answers.

use serde::{Serialize, Serializer};
use serde_json::Value as Json;

use crate::spec::reader::{Readable, Reader};
use crate::spec::section::{read_word, section};
use crate::spec::shape::{Choice, Shape};
use crate::spec::types::{HeaderName, Method, Table, Timespan, Whole};
use crate::spec::yaml::{Kind, Node};

section! {
    /// An HTTP server of ours that answers as told and records every request before it answers.
    ///
    /// ```yaml
    /// services:
    ///   - name: mail
    ///     type: http_mock
    ///     record: true
    ///     routes:
    ///       - { method: POST, path: /api/messages, status: 202, response: '{"id": "m-1"}' }
    /// ```
    pub struct HttpMock {
        /// Keeps every request, so that `http_mock_assertions` and `input_from` can ask for them.
        record: bool = false,
        /// The status of the answer to a request that no route takes.
        default_response: Whole<100, 599> = Whole::new(404),
        /// How requests are answered; the first route that takes a request answers it.
        routes: Vec<Route> = Vec::new(),
    }
}

section! {
    /// One way to answer: what a request must look like, and what comes back. A list under `sequence` answers the
    /// first, second, … request differently.
    pub struct Route {
        /// The method; any without it.
        method: Option<Method>,
        /// The path: literal (`/v1/charge`), with parameters (`/orders/{id}`), or with a `*` at the end that takes
        /// everything that begins like it (`/static/*`, `/v1*`).
        path: RoutePath,
        /// Query parameters that the request must have. A text must be equal, and `true` only asks that it is there.
        query: Table<HeaderName, Json> = Table::default(),
        /// Headers that the request must have. A text must be equal, and `true` only asks that it is there.
        headers: Table<HeaderName, Json> = Table::default(),
        /// What the body must look like.
        body: Option<BodyMatcher>,
        /// The status of the answer.
        status: Whole<100, 599> = Whole::new(200),
        /// The body of the answer: a text as it is, anything else as JSON.
        response: Option<Json>,
        /// Headers of the answer. `Content-Type` is guessed from `response` without it.
        response_headers: Table<HeaderName, Json> = Table::default(),
        /// How long to wait before answering.
        delay: Option<Timespan>,
        /// Answers for the first, second, … request, instead of `status`, `response`, `response_headers` and `delay`.
        sequence: Option<Vec<MockResponse>>,
        /// What happens when the sequence is used up: `repeat` without it.
        then: Option<SequenceEnd>,
        /// Replaces `{{ request.method }}`, `{{ request.path }}`, `{{ request.params.NAME }}`, `{{ request.query.NAME }}`,
        /// `{{ request.headers.NAME }}`, `{{ request.body }}`, `{{ request.json.PATH }}`, `{{ seed }}`, `{{ replica }}` and
        /// `{{ params.NAME }}` in the answer. A text inside a JSON answer that is exactly one of these keeps the type of its
        /// value; a name that has no value stays as it is.
        template: bool = false,
    }
}

section! {
    /// One answer of a sequence.
    pub struct MockResponse {
        /// The status of the answer.
        status: Whole<100, 599> = Whole::new(200),
        /// The body of the answer: a text as it is, anything else as JSON.
        response: Option<Json>,
        /// Headers of the answer.
        response_headers: Table<HeaderName, Json> = Table::default(),
        /// How long to wait before answering.
        delay: Option<Timespan>,
    }
}

section! {
    /// What the body of a request must look like; everything given must hold.
    pub struct BodyMatcher {
        /// A text that the body must contain.
        contains: Option<String>,
        /// Fields that a JSON body must have with these values; other fields are free.
        json: Option<Json>,
    }
}

/// The behaviour after the last answer of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SequenceEnd {
    /// The last answer is given again.
    Repeat,
    /// An empty answer with this status.
    Status(Whole<100, 599>),
}

impl Serialize for SequenceEnd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Repeat => serializer.serialize_str("repeat"),
            Self::Status(status) => status.serialize(serializer),
        }
    }
}

impl Readable for SequenceEnd {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match &node.kind {
            Kind::Number(_) => Whole::read(node, reader).map(Self::Status),
            _ => read_word(node, reader, &[("repeat", Self::Repeat)]),
        }
    }

    fn shape() -> Shape {
        let repeat = Choice { word: "repeat", doc: "The last answer is given again.".to_owned() };
        Shape::Either(vec![Shape::Choice(vec![repeat]), Whole::<100, 599>::shape()])
    }
}

/// The path of a route, split at its slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutePath {
    source: String,
    steps: Vec<Step>,
}

/// One step of a route's path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Literal(String),
    Param(String),
    /// All further steps that begin with this text.
    Rest(String),
}

impl RoutePath {
    /// The path as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The parameters of `path`, when this route takes it.
    #[must_use]
    pub fn matches(&self, path: &str) -> Option<Vec<(String, String)>> {
        let mut params = Vec::new();
        let mut given = split(path);
        for step in &self.steps {
            match (step, given.next()) {
                (Step::Rest(prefix), Some(word)) => return word.starts_with(prefix.as_str()).then_some(params),
                (Step::Literal(literal), Some(word)) if literal == word => {}
                (Step::Param(name), Some(word)) if !word.is_empty() => params.push((name.clone(), word.to_owned())),
                _ => return None,
            }
        }
        given.next().is_none().then_some(params)
    }

    /// Returns true if this path matches every path that `other` matches.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let mut others = other.steps.iter();
        for step in &self.steps {
            match (step, others.next()) {
                (Step::Rest(mine), Some(Step::Rest(theirs) | Step::Literal(theirs))) => {
                    return theirs.starts_with(mine);
                }
                (Step::Rest(mine), Some(Step::Param(_))) => return mine.is_empty(),
                (Step::Literal(mine), Some(Step::Literal(theirs))) if mine == theirs => {}
                (Step::Param(_), Some(Step::Param(_))) => {}
                (Step::Param(_), Some(Step::Literal(theirs))) if !theirs.is_empty() => {}
                _ => return false,
            }
        }
        others.next().is_none()
    }

    pub(crate) fn parse(source: &str) -> Result<Self, String> {
        if !source.starts_with('/') {
            return Err(format!("the path `{source}` does not begin with `/`"));
        }
        let words: Vec<_> = split(source).collect();
        let last = words.len() - 1;
        let steps: Result<Vec<_>, String> =
            words.iter().enumerate().map(|(index, word)| step(word, index == last)).collect();
        Ok(Self { source: source.to_owned(), steps: steps? })
    }
}

fn split(path: &str) -> impl Iterator<Item = &str> {
    path.strip_prefix('/').unwrap_or(path).split('/')
}

fn step(word: &str, last: bool) -> Result<Step, String> {
    let param = word.strip_prefix('{').and_then(|word| word.strip_suffix('}'));
    match param {
        Some(name)
            if !name.is_empty() && name.chars().all(|character| character.is_alphanumeric() || character == '_') =>
        {
            Ok(Step::Param(name.to_owned()))
        }
        _ if last && word.ends_with('*') && !word[..word.len() - 1].contains(['{', '}', '*', '?', '#']) => {
            Ok(Step::Rest(word[..word.len() - 1].to_owned()))
        }
        _ if word.contains(['{', '}', '*', '?', '#']) => {
            Err(format!("`{word}` is neither literal, nor `{{name}}`, nor a `*` at the end"))
        }
        _ => Ok(Step::Literal(word.to_owned())),
    }
}

impl Serialize for RoutePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.source)
    }
}

impl Readable for RoutePath {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Kind::String(source) = &node.kind else {
            return reader.wrong_type(node, "a path that begins with `/`");
        };
        match Self::parse(source) {
            Ok(path) => Some(path),
            Err(problem) => {
                reader.invalid(node, problem, Some("write `/orders`, `/orders/{id}` or `/static/*`".to_owned()))
            }
        }
    }

    fn shape() -> Shape {
        Shape::Word { name: "route path", pattern: "^/[^?#]*$", example: "/orders/{id}" }
    }
}

#[cfg(test)]
mod tests {
    use super::RoutePath;

    fn path(source: &str) -> RoutePath {
        RoutePath::parse(source).expect("a route path")
    }

    #[test]
    fn routes_take_literal_parameter_and_prefix_paths() {
        assert!(path("/v1/charge").matches("/v1/charge").is_some());
        assert!(path("/v1/charge").matches("/v1/charge/").is_none());
        assert_eq!(path("/orders/{id}").matches("/orders/7"), Some(vec![("id".to_owned(), "7".to_owned())]));
        assert!(path("/orders/{id}").matches("/orders/").is_none());
        assert!(path("/orders/{id}").matches("/orders/7/items").is_none());
        assert!(path("/static/*").matches("/static/a/b").is_some());
        assert!(path("/static/*").matches("/static").is_none());
        assert!(
            path("/b*").matches("/bc/d").is_some()
                && path("/b*").matches("/b").is_some()
                && path("/b*").matches("/a").is_none()
        );
        assert!(path("/").matches("/").is_some());
        assert!(path("/*").matches("/anything").is_some());
    }

    #[test]
    fn a_route_covers_what_it_always_takes_first() {
        for (wide, narrow) in [
            ("/a", "/a"),
            ("/{x}", "/a"),
            ("/{x}", "/{y}"),
            ("/*", "/a/b"),
            ("/a/*", "/a/{x}"),
            ("/a*", "/ab/*"),
            ("/a*", "/ab/c"),
        ] {
            assert!(path(wide).covers(&path(narrow)), "{wide} covers {narrow}");
        }
        for (wide, narrow) in
            [("/a", "/{x}"), ("/{x}", "/a/b"), ("/a/*", "/*"), ("/a", "/b"), ("/a*", "/{x}"), ("/ab*", "/a*")]
        {
            assert!(!path(wide).covers(&path(narrow)), "{wide} does not cover {narrow}");
        }
    }

    #[test]
    fn odd_paths_are_refused() {
        for source in ["", "a", "/a*b", "/*/b", "/{}", "/{a", "/a?x=1"] {
            assert!(RoutePath::parse(source).is_err(), "{source}");
        }
    }
}
