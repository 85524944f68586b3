//! What is wrong with a spec, and where.

use std::fmt;

use serde::Serialize;

use super::code::Code;
use super::path::Path;
use super::yaml::Span;

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

/// The closest of `known` to what was written, as a sentence: did you mean …?
#[must_use]
pub fn did_you_mean<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    closest(written, known).map(|name| format!("did you mean `{name}`?"))
}

/// The closest of `known` to what was written, when it is close enough to be a slip.
#[must_use]
pub fn closest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const CLOSE_ENOUGH: f64 = 0.8;
    let lower = written.to_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&lower, &name.to_lowercase()), name))
        .filter(|(likeness, _)| *likeness >= CLOSE_ENOUGH)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, name)| name)
}

/// `a`, `a or b`, `a, b or c`, each in backticks.
pub(crate) fn alternatives<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}
