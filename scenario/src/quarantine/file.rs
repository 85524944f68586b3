//! The file with the entries: `quarantine.yaml`.

use serde::Serialize;

use super::{LastDay, ScenarioPattern};
use crate::spec::diagnostic::{Diagnostic, Severity};
use crate::spec::reader::{Readable, Reader};
use crate::spec::section::section;
use crate::spec::yaml::{Limits, Node, parse};

/// The result of reading a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The entries, when there is no error.
    pub list: Option<QuarantineList>,
    /// The findings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

section! {
    /// The scenarios that cannot fail a gate for some time.
    pub struct QuarantineList {
        /// The entries. The first one that is about a scenario counts.
        quarantine: Vec<QuarantineEntry>,
    }
}

section! {
    /// Something that cannot fail a gate for some time.
    pub struct QuarantineEntry {
        /// A spec, or cells of it: `refund`, `refund/large-*`.
        scenario: ScenarioPattern,
        /// Only this invariant. A scenario that fails by anything else counts.
        invariant: Option<String>,
        /// The reason, for whoever reads a report.
        reason: Remark,
        /// The last day. On the next one, the scenarios count again.
        until: LastDay,
        /// The person or team that looks after it.
        owner: Remark,
    }
}

/// A text with something in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Remark(String);

impl std::fmt::Display for Remark {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Readable for Remark {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let text = String::read(node, reader)?;
        if text.trim().is_empty() {
            return reader.invalid(node, "the text is empty", None);
        }
        Some(Self(text.trim().to_owned()))
    }

    fn shape() -> crate::spec::shape::Shape {
        crate::spec::shape::Shape::Filled
    }
}

/// Reads a list of entries. An empty text has none.
#[must_use]
pub fn load(text: &str) -> Loaded {
    if text.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#')) {
        return Loaded { list: Some(QuarantineList { quarantine: Vec::new() }), diagnostics: Vec::new() };
    }
    let (root, mut diagnostics) = parse(text, Limits::default());
    let mut reader = Reader::default();
    let list = root.and_then(|root| QuarantineList::read(&root, &mut reader));
    diagnostics.extend(reader.finish().0);
    diagnostics.sort_by_key(|found| (found.span.start, found.code));
    let failed = diagnostics.iter().any(|found| found.severity() == Severity::Error);
    Loaded { list: list.filter(|_| !failed), diagnostics }
}
