//! Findings of a live session, and the calls that they are about.

use std::collections::{BTreeMap, BTreeSet};

use tool_contracts::{Class, Code};

use crate::tool_session::call::{CallDecision, LaneCall};
use crate::tool_session::finding::{FindingWeight, LaneFinding, Violation};
use crate::tool_session::lane::{LaneRow, SessionLane};
use crate::tool_session::record::Record;

/// Findings and reasons of refusals, in their order.
#[derive(Default)]
pub(super) struct Found(Vec<Entry>);

struct Entry {
    finding: LaneFinding,
    /// True for the reason of a refusal, for which there may be a record of a finding too.
    is_refusal: bool,
}

/// The call, the code and the rule: the identity of a finding.
type Key<'a> = (&'a str, &'a str, &'a str);

impl Found {
    /// Adds the record of a finding.
    pub(super) fn add(&mut self, record: Record<'_>) {
        self.0.push(Entry { finding: LaneFinding::read(record), is_refusal: false });
    }

    /// Adds the reasons of a refusal. In govern mode a refusal is a violation that had no effect, and there need be no
    /// other record of it.
    pub(super) fn add_refusal(&mut self, record: Record<'_>) {
        let reasons = record.records("reasons").map(|reason| refusal(reason, record));
        self.0.extend(reasons.map(|finding| Entry { finding, is_refusal: true }));
    }

    /// Puts the findings into the lane, each once, and marks the violations.
    pub(super) fn put_into(self, lane: &mut SessionLane) {
        let recorded = self.0.iter().filter(|entry| !entry.is_refusal);
        let mut known: BTreeSet<Key<'_>> = recorded.map(|entry| entry.finding.key()).collect();
        let mut findings = Vec::new();
        for entry in &self.0 {
            if !entry.is_refusal || known.insert(entry.finding.key()) {
                findings.push(entry.finding.clone());
            }
        }
        LaneFinding::mark_violations(&mut findings);
        lane.violations = findings.iter().filter(|finding| finding.violation.is_some()).count() as u64;
        lane.attempts = findings.iter().filter(|finding| finding.severity == FindingWeight::Attempt).count() as u64;
        mark_calls(&mut lane.rows, &findings);
        lane.findings = findings;
    }
}

impl LaneFinding {
    fn key(&self) -> Key<'_> {
        (&self.call, &self.code, &self.rule.rule)
    }
}

/// Marks the calls that violations are about. Of a call with several rows, those that were refused or held are marked.
fn mark_calls(rows: &mut [LaneRow], findings: &[LaneFinding]) {
    let mut violations: BTreeMap<&str, Violation> = BTreeMap::new();
    for finding in findings {
        if let Some(violation) = finding.violation {
            violations.entry(finding.call.as_str()).or_insert(violation);
        }
    }
    let is_refused = |call: &LaneCall| call.decision != CallDecision::Allowed;
    let refused = rows.iter().filter_map(LaneRow::call).filter(|call| is_refused(call));
    let refused: BTreeSet<_> = refused.map(|call| call.call.clone()).collect();
    for row in rows {
        if let LaneRow::Call(call) = row
            && (is_refused(call) || !refused.contains(&call.call))
        {
            call.violation = violations.get(call.call.as_str()).copied();
        }
    }
}

/// True when the refusal took effect, so that what it is about never happened.
fn is_applied(record: Record<'_>) -> bool {
    record.flag("applied") == Some(true)
        || (record.text("kind") == Some("precheck") && record.text("verdict") == Some("block"))
}

/// A reason of a refusal as a finding.
fn refusal(reason: Record<'_>, record: Record<'_>) -> LaneFinding {
    let severity = match Code::find(reason.text("code").unwrap_or_default()).map(Code::class) {
        Some(Class::Warn | Class::Warning) => FindingWeight::Warn,
        Some(Class::Info) => FindingWeight::Info,
        _ if is_applied(record) => FindingWeight::Attempt,
        _ => FindingWeight::Fail,
    };
    let (tool, call) = (record.owned("tool"), record.owned("call"));
    LaneFinding { severity, tool, call, ..LaneFinding::read(reason) }
}
