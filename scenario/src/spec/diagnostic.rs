//! What is wrong with a spec, and where.

use std::fmt;

use serde::Serialize;

use super::code::Code;
use super::path::Path;
use super::yaml::Span;
pub(crate) use yaml_tree::nearest::alternatives;
pub use yaml_tree::nearest::{closest, did_you_mean};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The spec cannot be used.
    Error,
    /// The spec works, but perhaps not as its author thinks.
    Warning,
    /// The spec is right, and could be better.
    Advice,
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Advice => "advice",
        })
    }
}

/// How many findings are kept of one text. A text with more is hostile or generated, and looking further costs time.
pub(crate) const MOST_KEPT: usize = 1000;

/// One finding: what, where, and what next.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// The stable name of this kind of finding.
    pub code: Code,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Where in the spec; empty for the document as a whole.
    pub path: Path,
    /// Where in the text.
    pub span: Span,
}

impl Diagnostic {
    /// How bad it is.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}
