//! Findings about a spec, with their places.

use std::fmt;

use serde::Serialize;

use super::code::Code;
use super::path::Path;
use super::yaml::Span;
pub(crate) use yaml_tree::nearest::alternatives;
pub use yaml_tree::nearest::{closest, did_you_mean};

/// The severity of a finding.
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

/// Maximum number of findings that are kept of one text. A text with more is hostile or generated, and looking further
/// costs time.
pub(crate) const MOST_KEPT: usize = 1000;

/// One finding: what, where, and what next.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// The stable name of this kind of finding.
    pub code: Code,
    /// The problem.
    pub message: String,
    /// The recommended fix.
    pub help: Option<String>,
    /// Its path in the spec; empty for the document as a whole.
    pub path: Path,
    /// Its place in the text.
    pub span: Span,
}

impl Diagnostic {
    /// Returns the severity.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}
