//! Regular expressions and globs that are known to compile.

use globset::GlobBuilder;
use regex::bytes::{Regex, RegexBuilder};
use serde::{Serialize, Serializer};

use super::error::{GlobError, PatternError};
use super::filled::Filled;
use crate::spec::code::Code;
use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::Shape;
use crate::spec::template::{Bindings, Reference, Text};
use crate::spec::yaml::Node;

/// Maximum size of a compiled expression, so that `(a{1000}){1000}` is refused.
const COMPILED_LIMIT: usize = 32 << 20;

/// A regular expression over bytes. Without templates it is compiled when the spec is read.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: Text,
    compiled: Option<Regex>,
}

impl Pattern {
    /// The expression with templates replaced, ready to match, unless it does not compile then.
    pub fn compile(&self, bindings: &dyn Bindings) -> Result<Regex, PatternError> {
        self.compiled.clone().map_or_else(|| compile(&self.text.render(&Escaped(bindings))), Ok)
    }

    /// The expression as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        self.text.source()
    }
}

/// Values for a regular expression: parameters may be expressions themselves, anything else stands for its text.
struct Escaped<'a>(&'a dyn Bindings);

impl Bindings for Escaped<'_> {
    fn value(&self, reference: &Reference) -> Option<serde_json::Value> {
        match (reference, self.0.value(reference)?) {
            (Reference::Param(_), value) => Some(value),
            (_, serde_json::Value::String(text)) => Some(regex::escape(&text).into()),
            (_, value) => Some(value),
        }
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

fn compile(expression: &str) -> Result<Regex, PatternError> {
    compile_as(expression, Matching::default())
}

fn compile_as(expression: &str, matching: Matching) -> Result<Regex, PatternError> {
    let build = |expression: &str| {
        let mut builder = RegexBuilder::new(expression);
        builder.case_insensitive(matching.ignores_case).dot_matches_new_line(matching.dot_matches_line_break);
        builder.size_limit(COMPILED_LIMIT).build()
    };
    let compiled = build(expression)?;
    Ok(if matching.is_whole { build(&format!(r"\A(?:{expression})\z"))? } else { compiled })
}

/// The flags of an expression before its own inline flags.
#[derive(Debug, Clone, Copy, Default)]
pub struct Matching {
    /// Upper and lower case are the same.
    pub ignores_case: bool,
    /// `.` matches a line break too.
    pub dot_matches_line_break: bool,
    /// It must match all of a text, not a part of it.
    pub is_whole: bool,
}

/// An expression that is not compiled when it is read, because other keys say how it matches, or that it is only a text.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct PatternSource(Filled);

impl PatternSource {
    /// The expression with templates replaced, ready to match, unless it does not compile then.
    pub fn compile(&self, bindings: &dyn Bindings, matching: Matching) -> Result<Regex, PatternError> {
        compile_as(&self.0.render(&Escaped(bindings)), matching)
    }

    /// The reason why it does not compile, as far as that is known without the values of templates.
    #[must_use]
    pub fn problem(&self, matching: Matching) -> Option<PatternError> {
        compile_as(self.0.as_literal()?, matching).err()
    }

    /// Returns it as a text, with templates replaced.
    #[must_use]
    pub fn text(&self, bindings: &dyn Bindings) -> String {
        self.0.render(bindings)
    }

    /// Returns it as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        self.0.source()
    }
}

impl Readable for PatternSource {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let text = Filled::read(node, reader)?;
        count(node, reader).then_some(Self(text))
    }

    fn shape() -> Shape {
        Filled::shape()
    }
}

/// Counts one more expression; false after reporting that there are too many.
fn count(node: &Node, reader: &mut Reader) -> bool {
    let may_be_compiled = reader.one_more_pattern();
    if !may_be_compiled {
        let message = "there are more regular expressions than one spec may have";
        reader.report(Code::InvalidRegex, node.span, message, None);
    }
    may_be_compiled
}

impl Readable for Pattern {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let text = Text::read(node, reader)?;
        if !count(node, reader) {
            return None;
        }
        let compiled = match text.as_literal().map(compile).transpose() {
            Ok(compiled) => compiled,
            Err(problem) => {
                let message = format!("{} cannot be used as a regular expression: {problem}", node.describe());
                reader.report(Code::InvalidRegex, node.span, message, None);
                return None;
            }
        };
        Some(Self { text, compiled })
    }

    fn shape() -> Shape {
        Shape::Text
    }
}

/// Maximum length of a glob, and the maximum nesting of its braces.
pub(super) const MOST_GLOB: usize = 1000;
pub(super) const MOST_BRACES: usize = 8;

/// A glob over paths: `*` stays within a folder, `**` crosses them.
#[derive(Debug, Clone)]
pub struct Glob {
    source: String,
    matcher: Regex,
}

impl Glob {
    /// `source`, when it is a glob.
    pub fn new(source: &str) -> Result<Self, GlobError> {
        let braces = source.bytes().filter(|byte| *byte == b'{').count();
        if source.len() > MOST_GLOB || braces > MOST_BRACES {
            return Err(GlobError::TooLong);
        }
        let glob = GlobBuilder::new(source).literal_separator(true).build().map_err(GlobError::Syntax)?;
        // The matcher of the crate panics on a glob that is too large, so its expression is compiled here.
        Ok(Self { source: source.to_owned(), matcher: compile(&format!("(?s){}", glob.regex()))? })
    }

    /// Returns true if the pattern matches `path`.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        self.matcher.is_match(path.as_bytes())
    }

    /// Returns true if `text` has any of the characters that make it a glob.
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
