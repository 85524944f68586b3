//! Tools that are HTTP operations of services.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::spec::reader::{Readable, Reader};
use crate::spec::section::section;
use crate::spec::shape::Shape;
use crate::spec::template::Text;
use crate::spec::types::{ArgumentName, HeaderName, Method, ServiceName, Table, Whole};
use crate::spec::yaml::{Kind, Node};

section! {
    /// An HTTP operation of a service. The gateway sends the request, and its answer is the tool's result: JSON as structured
    /// content, anything else as text. A status of 400 and above is an error of the tool.
    ///
    /// Arguments that neither the path, `query` nor `body` names go into the body when neither list is given and the method is
    /// `POST`, `PUT` or `PATCH`, and into the query when neither list is given and it is another method.
    pub struct HttpTool {
        /// The service: an `http_mock` or a container that speaks HTTP.
        service: ServiceName,
        /// Its port; the first one of the service without it.
        port: Option<Whole<1, 65535>>,
        /// The method.
        method: Method = Method::get(),
        /// The path, with arguments in braces: `/orders/{order_id}`.
        path: ToolPath,
        /// The arguments that go into the query.
        query: Option<Vec<ArgumentName>>,
        /// The arguments that go into the body, which is a JSON object of them.
        body: Option<Vec<ArgumentName>>,
        /// Headers of the request. The agent does not see them, so they may have `{{ secrets.NAME }}`.
        headers: Table<HeaderName, Text> = Table::default(),
    }
}

/// The part of a request that an argument goes into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentPlace {
    /// A piece of the path.
    Path,
    /// A parameter of the query.
    Query,
    /// A field of the body.
    Body,
}

impl HttpTool {
    /// The part of the request that an argument goes into; `None` for one that goes nowhere.
    #[must_use]
    pub fn place_of(&self, argument: &str) -> Option<ArgumentPlace> {
        let names = |list: &Option<Vec<ArgumentName>>| list.iter().flatten().any(|name| name.as_str() == argument);
        if self.path.arguments().any(|name| name == argument) {
            return Some(ArgumentPlace::Path);
        }
        match (&self.query, &self.body) {
            (None, None) if self.has_body() => Some(ArgumentPlace::Body),
            (None, None) => Some(ArgumentPlace::Query),
            _ if names(&self.query) => Some(ArgumentPlace::Query),
            _ if names(&self.body) => Some(ArgumentPlace::Body),
            _ => None,
        }
    }

    /// True when requests of its method usually have a body.
    #[must_use]
    pub fn has_body(&self) -> bool {
        matches!(self.method.as_str(), "POST" | "PUT" | "PATCH")
    }
}

/// The path of an HTTP tool, with arguments in braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPath {
    source: String,
    pieces: Vec<PathPiece>,
}

/// A piece of the path of an HTTP tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathPiece {
    /// A text.
    Literal(String),
    /// The value of an argument, percent-encoded.
    Argument(String),
}

/// The reason why a text is no path of an HTTP tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum PathError {
    #[error("the path does not begin with `/`")]
    NoSlash,
    #[error("a path has no blanks, `?` and `#`; arguments of the query are listed under `query`")]
    Character,
    #[error("a brace is not closed, or encloses no name of an argument")]
    Brace,
}

impl ToolPath {
    /// A path; `None` when the text is none.
    #[must_use]
    pub fn new(source: &str) -> Option<Self> {
        Self::parse(source).ok()
    }

    /// The pieces of the path.
    #[must_use]
    pub fn pieces(&self) -> &[PathPiece] {
        &self.pieces
    }

    /// The arguments that it names.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            PathPiece::Argument(name) => Some(name.as_str()),
            PathPiece::Literal(_) => None,
        })
    }

    fn parse(source: &str) -> Result<Self, PathError> {
        if !source.starts_with('/') {
            return Err(PathError::NoSlash);
        }
        if source.contains(['?', '#']) || source.chars().any(|character| character <= ' ') {
            return Err(PathError::Character);
        }
        let mut pieces = Vec::new();
        let mut rest = source;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, behind) = after.split_once('}').ok_or(PathError::Brace)?;
            if ArgumentName::new(name).is_none() || before.contains('}') {
                return Err(PathError::Brace);
            }
            pieces.extend([PathPiece::Literal(before.to_owned()), PathPiece::Argument(name.to_owned())]);
            rest = behind;
        }
        if rest.contains('}') {
            return Err(PathError::Brace);
        }
        pieces.push(PathPiece::Literal(rest.to_owned()));
        pieces.retain(|piece| *piece != PathPiece::Literal(String::new()));
        Ok(Self { source: source.to_owned(), pieces })
    }
}

impl fmt::Display for ToolPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.source)
    }
}

impl Serialize for ToolPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.source)
    }
}

impl Readable for ToolPath {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Kind::String(source) = &node.kind else {
            return reader.wrong_type(node, "a path that begins with `/`");
        };
        let help = || Some("write it like `/orders/{order_id}`".to_owned());
        Self::parse(source).map_or_else(|problem| reader.invalid(node, problem.to_string(), help()), Some)
    }

    fn shape() -> Shape {
        Shape::Word { name: "path of a tool", pattern: "^/[^?#]*$", example: "/orders/{order_id}" }
    }
}

#[cfg(test)]
mod tests {
    use super::{ArgumentPlace, HttpTool, PathError, ToolPath};
    use crate::checks::testing::read;

    #[test]
    fn arguments_of_a_path_stand_in_braces() {
        let path = ToolPath::parse("/v1/orders/{id}.json/items/{item_id}").expect("a path");
        assert_eq!(path.arguments().collect::<Vec<_>>(), ["id", "item_id"]);
        assert_eq!(path.pieces().len(), 4);
        for (source, problem) in [
            ("orders", PathError::NoSlash),
            ("/a?b={c}", PathError::Character),
            ("/a b", PathError::Character),
            ("/{a", PathError::Brace),
            ("/a}", PathError::Brace),
            ("/{}", PathError::Brace),
            ("/{a b}", PathError::Character),
        ] {
            assert_eq!(ToolPath::parse(source), Err(problem), "{source}");
        }
    }

    #[test]
    fn every_argument_has_one_place() {
        let place = |yaml: &str, argument| read::<HttpTool>(yaml).place_of(argument);
        let refund = "{service: shop, method: POST, path: '/refunds/{id}', body: [amount], query: [dry]}";
        assert_eq!(place(refund, "id"), Some(ArgumentPlace::Path));
        assert_eq!(place(refund, "amount"), Some(ArgumentPlace::Body));
        assert_eq!(place(refund, "dry"), Some(ArgumentPlace::Query));
        assert_eq!(place(refund, "note"), None);
        assert_eq!(place("{service: shop, method: POST, path: /a}", "x"), Some(ArgumentPlace::Body));
        assert_eq!(place("{service: shop, path: /a}", "x"), Some(ArgumentPlace::Query));
        assert_eq!(place("{service: shop, method: DELETE, path: /a, query: []}", "x"), None);
    }
}
