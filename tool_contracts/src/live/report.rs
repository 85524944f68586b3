//! The log of a session read: its calls, what was found, and what was carried out although it was refused.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use crate::code::Code;
use crate::finding::Finding;

/// The calls and findings of a session's log.
#[derive(Debug, Clone, Default)]
pub struct LogReport {
    /// The ids of all calls that were decided on.
    pub calls: BTreeSet<String>,
    /// All findings, in their order.
    pub findings: Vec<LoggedFinding>,
    /// The ids of calls that went out although the last decision on them was to refuse them.
    pub bypasses: BTreeSet<String>,
    /// The last phase.
    pub final_phase: Option<String>,
}

/// A finding of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedFinding {
    /// The place of its record.
    pub seq: u64,
    /// The finding.
    pub finding: Finding,
    /// True for a reason against a call that was not carried out.
    pub is_attempt: bool,
}

/// Reads the log of a session.
#[must_use]
pub fn report_of_log(records: &[Json]) -> LogReport {
    let mut report = LogReport::default();
    // The last verdict on each call.
    let mut refused: BTreeMap<&str, bool> = BTreeMap::new();
    for record in records {
        let call = record["call"].as_str().unwrap_or_default();
        match record["kind"].as_str().unwrap_or_default() {
            "decision" => {
                report.calls.insert(call.to_owned());
                let is_refused = record["verdict"] != "allow" && record["applied"] == true;
                refused.insert(call, is_refused && record["verdict"] == "block");
                report.findings.extend(reasons(record, call, record["applied"] == true));
            }
            "workflow_decision" => {
                if !call.is_empty() {
                    report.calls.insert(call.to_owned());
                }
                report.findings.extend(reasons(record, call, record["applied"] == true));
            }
            "precheck" => report.findings.extend(reasons(record, "", record["verdict"] == "block")),
            "dispatched" if refused.get(call) == Some(&true) => {
                report.bypasses.insert(call.to_owned());
            }
            "finding" => report.findings.extend(finding(record, call)),
            _ => {}
        }
        if let Some(phase) = record["phase"].as_str() {
            report.final_phase = Some(phase.to_owned());
        }
    }
    report
}

/// Returns the reasons of a decision. A hold is no reason where an approver could decide.
fn reasons<'a>(record: &'a Json, call: &'a str, is_applied: bool) -> impl Iterator<Item = LoggedFinding> + 'a {
    let all = record["reasons"].as_array().into_iter().flatten();
    let counted = all.filter(move |_| !(is_applied && record["verdict"] == "hold"));
    counted.filter_map(move |reason| {
        let finding = Finding {
            code: Code::find(reason["code"].as_str()?)?,
            tool: text(&record["tool"]),
            rule: text(&reason["rule"]),
            path: text(&reason["path"]),
            call: call.to_owned(),
            message: text(&reason["message"]),
        };
        Some(LoggedFinding { seq: seq(record), finding, is_attempt: is_applied })
    })
}

fn finding(record: &Json, call: &str) -> Option<LoggedFinding> {
    let finding = Finding {
        code: Code::find(record["code"].as_str()?)?,
        tool: text(&record["tool"]),
        rule: text(&record["rule"]),
        path: text(&record["path"]),
        call: call.to_owned(),
        message: text(&record["message"]),
    };
    Some(LoggedFinding { seq: seq(record), finding, is_attempt: false })
}

fn seq(record: &Json) -> u64 {
    record["seq"].as_u64().unwrap_or(0)
}

fn text(value: &Json) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
