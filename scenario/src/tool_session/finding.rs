//! Findings of a session: the rule, its place in the contracts, and whether it was the first one that was broken.

use serde::{Deserialize, Serialize};

use super::record::Record;

/// A rule that was broken, or a remark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LaneFinding {
    /// The weight.
    pub severity: FindingWeight,
    /// The kind of rule.
    pub code: String,
    /// The tool; empty for a finding about the session.
    pub tool: String,
    /// The id of the call; empty for a finding about the session.
    pub call: String,
    /// The rule and its place.
    #[serde(flatten)]
    pub rule: RuleSource,
    /// The path that the rule reads; empty when it reads none.
    pub path: String,
    /// The finding as a sentence.
    pub message: String,
    /// The hash by which the same finding is recognised in other runs.
    pub fingerprint: String,
    /// Set for violations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violation: Option<Violation>,
}

/// A rule by its name, and its place in the files of the contracts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RuleSource {
    /// The name of the rule: its place in a contract.
    pub rule: String,
    /// The file; `None` for a rule that no file has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// The weight of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingWeight {
    /// A violation.
    Fail,
    /// A violation that was refused, so that it had no effect.
    Attempt,
    /// It deserves a look.
    Warn,
    /// A remark.
    Info,
}

/// The place of a violation among the others of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Violation {
    /// The first one.
    First,
    /// A later one, which may be a consequence of the first.
    PossibleConsequence,
}

impl RuleSource {
    /// Reads `rule`, `file` and `line` of a record.
    pub(super) fn read(record: Record<'_>) -> Self {
        let file = record.text("file").map(ToOwned::to_owned);
        Self { rule: record.owned("rule"), file, line: record.number("line") }
    }

    /// The file and the line: `rules/refund.yaml:4`; `None` when the file is not known.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        let file = self.file.as_ref()?;
        Some(self.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}")))
    }
}

impl FindingWeight {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Attempt => "refused attempt",
            Self::Warn => "warn",
            Self::Info => "info",
        }
    }

    /// The weight of a finding. A refused attempt has its own, unless attempts are violations.
    fn read(record: Record<'_>) -> Self {
        match record.text("severity").unwrap_or_default() {
            "warn" | "info" | "ignore" if record.flag("attempt") == Some(true) => Self::Attempt,
            "warn" => Self::Warn,
            "info" => Self::Info,
            _ => Self::Fail,
        }
    }
}

impl LaneFinding {
    /// Reads a finding, of a record or of the details of a verdict.
    pub(super) fn read(record: Record<'_>) -> Self {
        Self {
            severity: FindingWeight::read(record),
            code: record.owned("code"),
            tool: record.owned("tool"),
            call: record.owned("call"),
            rule: RuleSource::read(record),
            path: record.owned("path"),
            message: record.owned("message"),
            fingerprint: record.owned("fingerprint"),
            violation: None,
        }
    }

    /// Marks the first violation of a list, and those after it.
    pub(super) fn mark_violations(findings: &mut [Self]) {
        let violations = findings.iter_mut().filter(|finding| finding.severity == FindingWeight::Fail);
        for (place, finding) in violations.enumerate() {
            finding.violation = Some(if place == 0 { Violation::First } else { Violation::PossibleConsequence });
        }
    }
}
