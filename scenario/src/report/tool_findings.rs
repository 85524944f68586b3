//! Findings of `tool_contract` checks as lines of reports: weight, code, rule with its place, and a sentence.

use super::Row;
use crate::count_noun;
use crate::result::InvariantResult;
use crate::tool_session::LaneFinding;
use crate::untrusted;

/// Maximum number of findings of an invariant that are listed.
const MOST: usize = 20;
/// The longest name of an invariant.
const MOST_NAME: usize = 100;

/// A line for each finding of each `tool_contract` check, the first violation marked; nothing without such a check.
pub(super) fn lines(row: &Row) -> Vec<String> {
    row.result.invariants.iter().flat_map(of_invariant).collect()
}

fn of_invariant(invariant: &InvariantResult) -> Vec<String> {
    let findings = LaneFinding::of_details(&invariant.verdict.details);
    let name = untrusted::line(&invariant.name, MOST_NAME);
    let line = |finding: &LaneFinding| format!("{name}: {} {}", finding.severity.word(), finding.words());
    let mut lines: Vec<_> = findings.iter().take(MOST).map(line).collect();
    if findings.len() > MOST {
        lines.push(format!("{name}: {}", count_noun(findings.len() - MOST, "more finding")));
    }
    lines
}
