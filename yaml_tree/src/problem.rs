//! A problem of a YAML text that can be seen without knowing the meaning of the text.

use crate::node::Span;
use crate::path::Path;

/// A problem: its kind, the words for people, and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The kind of problem.
    pub kind: ProblemKind,
    /// The problem in words.
    pub message: String,
    /// The way to fix it.
    pub help: Option<String>,
    /// The value that it is about; empty for the document as a whole.
    pub path: Path,
    /// Its place in the text.
    pub span: Span,
}

/// The kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProblemKind {
    /// The text is not YAML; reading stops here.
    Syntax,
    /// The text has too many bytes.
    TooLarge,
    /// Values nest too deep.
    TooDeep,
    /// Too many values or keys, aliases expanded.
    TooMany,
    /// A tag that is not understood.
    Tag,
    /// Several documents, or none.
    Documents,
    /// A key that is not a word.
    Key,
    /// A key that stands twice in one map.
    DuplicateKey,
}
