//! YAML documents that are no specs and are written in the same way: suites and matrices of capabilities.

use super::diagnostic::{Diagnostic, Severity};
use super::reader::{Readable, Reader};
use super::yaml::{Limits, Node, parse_noun};

/// A document that was read, or everything that is wrong with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Document<T> {
    /// What it says, when there is no error.
    pub value: Option<T>,
    /// What was found, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a document, which messages call `noun`.
pub(crate) fn read_document<T: Readable>(text: &str, noun: &str) -> Document<T> {
    let (root, mut diagnostics) = parse_noun(text, noun, Limits::default());
    let mut reader = Reader::default();
    let value = root.and_then(|root| T::read(&root, &mut reader));
    diagnostics.extend(reader.finish().0);
    diagnostics.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.code));
    diagnostics.dedup();
    let failed = diagnostics.iter().any(|diagnostic| diagnostic.severity() == Severity::Error);
    Document { value: value.filter(|_| !failed), diagnostics }
}

/// The tree of a text, as far as it can be read.
pub(crate) fn tree(text: &str) -> Option<Node> {
    parse_noun(text, "document", Limits::default()).0
}
