//! Regular expressions and globs that are known to compile.

use globset::{GlobBuilder, GlobMatcher};
use regex::bytes::{Regex, RegexBuilder};
use serde::{Serialize, Serializer};

use crate::spec::code::Code;
use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::Shape;
use crate::spec::template::{Bindings, Text};
use crate::spec::yaml::Node;

/// How large a compiled expression may become, so that `(a{1000}){1000}` is refused.
const COMPILED_LIMIT: usize = 1 << 20;

/// A regular expression over bytes. Without templates it is known to compile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Pattern(Text);

impl Pattern {
    /// The expression with templates replaced, ready to match; the message when that does not compile.
    pub fn compile(&self, bindings: &dyn Bindings) -> Result<Regex, String> {
        compile(&self.0.render(bindings))
    }

    /// The expression as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        self.0.source()
    }
}

fn compile(expression: &str) -> Result<Regex, String> {
    RegexBuilder::new(expression).size_limit(COMPILED_LIMIT).build().map_err(|error| match error {
        regex::Error::Syntax(syntax) => {
            syntax.lines().last().unwrap_or("syntax error").trim_start_matches("error: ").to_owned()
        }
        regex::Error::CompiledTooBig(_) => "it would become too large".to_owned(),
        other => other.to_string(),
    })
}

impl Readable for Pattern {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let text = Text::read(node, reader)?;
        if let Some(Err(problem)) = text.as_literal().map(compile) {
            reader.report(
                Code::InvalidRegex,
                node.span,
                format!("{} is not a regular expression: {problem}", node.describe()),
                None,
            );
            return None;
        }
        Some(Self(text))
    }

    fn shape() -> Shape {
        Shape::Text
    }
}

/// A glob over paths: `*` stays within a folder, `**` crosses them.
#[derive(Debug, Clone)]
pub struct Glob {
    source: String,
    matcher: GlobMatcher,
}

impl Glob {
    /// `source`, when it is a glob; otherwise what is wrong with it.
    pub fn new(source: &str) -> Result<Self, String> {
        let glob =
            GlobBuilder::new(source).literal_separator(true).build().map_err(|error| error.kind().to_string())?;
        Ok(Self { source: source.to_owned(), matcher: glob.compile_matcher() })
    }

    /// Whether `path` is one of those meant.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        self.matcher.is_match(path)
    }

    /// Whether `text` has any of the characters that make it a glob.
    #[must_use]
    pub fn is_glob(text: &str) -> bool {
        text.contains(['*', '?', '[', '{'])
    }
}

impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Serialize for Glob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.source)
    }
}

impl Readable for Glob {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Some(source) = node.scalar() else {
            return reader.wrong_type(node, "a path or a glob");
        };
        match Self::new(source) {
            Ok(glob) => Some(glob),
            Err(problem) => {
                reader.report(
                    Code::InvalidPath,
                    node.span,
                    format!("{} is not a glob: {problem}", node.describe()),
                    None,
                );
                None
            }
        }
    }

    fn shape() -> Shape {
        Shape::Text
    }
}
