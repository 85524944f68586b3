//! The verdict on a call trace.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};
use tool_contracts::{Class, Code, Compiled, Finding, JudgedCall, Sighting, TraceEntry, TraceFinding, judge_trace};

use super::session::{JudgedSession, Marked};
use super::{FindingSeverity, ToolContract, ViolationScore};
use crate::count_noun;
use crate::evidence::{CallTrace, ToolCall, ToolCallSource};
use crate::untrusted;
use crate::verdict::{Outcome, Verdict};

/// Maximum number of findings in the details.
const MOST_KEPT: usize = 200;

/// A finding with its weight.
struct Weighed<'a> {
    found: &'a TraceFinding,
    severity: FindingSeverity,
    /// True for a violation that was refused.
    is_attempt: bool,
}

/// The basis of a verdict, from a recorded trace or from live decisions.
#[derive(Debug, Default)]
pub(super) struct Judged<'a> {
    /// The number of calls.
    pub(super) calls: usize,
    /// The calls of a recorded trace with their decisions; those of live sessions are in their records.
    pub(super) judged: Vec<JudgedCall>,
    /// The recorded trace.
    pub(super) trace: Option<&'a CallTrace>,
    /// The findings, and their weight where it is not the usual one.
    pub(super) findings: Vec<(TraceFinding, Option<FindingSeverity>)>,
    /// The last phase.
    pub(super) final_phase: Option<String>,
    /// Violations that were not carried out.
    pub(super) attempted: u64,
    /// Refused calls that were carried out.
    pub(super) bypassed: u64,
    /// The places of calls that were carried out; `None` where decisions say it.
    pub(super) executed: Option<BTreeSet<u64>>,
}

/// Judges a recorded trace by a compiled set.
pub(super) fn of_trace<'a>(set: &Compiled, trace: &'a CallTrace) -> Judged<'a> {
    let report = judge_trace(set, &trace.0.iter().map(entry).collect::<Vec<_>>());
    let tampered = trace.tampered().into_iter().map(|(reported, _)| {
        let (id, code) = (reported.id.as_deref().unwrap_or_default(), Code::ResultTampered);
        let finding = Finding::of_call(code, &reported.tool, id, code.explanation());
        TraceFinding { seq: Some(reported.seq), finding }
    });
    let findings = report.findings.into_iter().chain(tampered);
    let done = trace.0.iter().flat_map(|call| {
        let itself = (call.source == ToolCallSource::Executed).then_some(call.seq);
        call.proposal.into_iter().chain(itself)
    });
    Judged {
        calls: report.calls.len(),
        judged: report.calls,
        trace: Some(trace),
        findings: findings.map(|found| (found, None)).collect(),
        final_phase: report.final_phase,
        attempted: 0,
        bypassed: 0,
        executed: Some(done.collect()),
    }
}

/// The verdict.
pub(super) fn verdict(check: &ToolContract, set: &Compiled, judged: &Judged<'_>) -> Verdict {
    let weighed = |(found, own): &'_ (TraceFinding, Option<FindingSeverity>)| {
        let severity = own.unwrap_or_else(|| severity(check, found.finding.code));
        (severity, found.clone(), own.is_some())
    };
    let weighed: Vec<_> = judged.findings.iter().map(weighed).collect();
    let findings: Vec<_> = weighed
        .iter()
        .map(|(severity, found, is_attempt)| Weighed { found, severity: *severity, is_attempt: *is_attempt })
        .collect();
    let violations: Vec<_> = findings.iter().filter(|one| one.severity == FindingSeverity::Fail).collect();
    let session = JudgedSession { set, folder: check.contracts.path(), calls: &judged.judged, trace: judged.trace };
    let details = details(&session, judged, &findings);
    let most = usize::try_from(check.max_violations.get()).unwrap_or(usize::MAX);
    let passes = violations.len() <= most;
    let score = match check.score {
        ViolationScore::Binary => f64::from(u8::from(passes)),
        ViolationScore::Ratio => share_without(&violations, judged.calls),
    };
    let verdict = match violations.first() {
        Some(first) if !passes => Verdict::failed(message(first, &violations, check)),
        _ => Verdict::passed(),
    };
    let outcome = if passes { Outcome::Passed } else { Outcome::Failed };
    Verdict { outcome, score, details, ..verdict }
}

fn message(first: &Weighed<'_>, violations: &[&Weighed<'_>], check: &ToolContract) -> String {
    let found = &first.found.finding;
    let at =
        first.found.seq.map_or_else(|| "the end of the session".to_owned(), |seq| format!("call {seq} of the trace"));
    let tool = if found.tool.is_empty() { String::new() } else { format!(" (`{}`)", untrusted::line(&found.tool, 60)) };
    let more = match violations.len() - 1 {
        0 => String::new(),
        more => format!("; {}, perhaps as a consequence", count_noun(more, "more violation")),
    };
    let allowed = match check.max_violations.get() {
        0 => "no violation".to_owned(),
        most => format!("at most {}", count_noun(most, "violation")),
    };
    let sentence = untrusted::line(&found.message, 400);
    format!("expected {allowed} of the tool contracts, found `{}` at {at}{tool}: {sentence}{more}", found.code)
}

pub(super) fn severity(check: &ToolContract, code: Code) -> FindingSeverity {
    if code == Code::SessionNotTerminal && !check.require_terminal_phase {
        return FindingSeverity::Ignore;
    }
    let usual = match code.class() {
        Class::Fail | Class::Error | Class::Fault => FindingSeverity::Fail,
        Class::Warn | Class::Warning => FindingSeverity::Warn,
        Class::Info => FindingSeverity::Info,
    };
    check.severity.get(code.name()).copied().unwrap_or(usual)
}

/// The share of calls that have no violation.
#[expect(clippy::cast_precision_loss, reason = "a trace has far fewer calls than a float counts")]
fn share_without(violations: &[&Weighed<'_>], calls: usize) -> f64 {
    let violating: BTreeSet<_> =
        violations.iter().map(|one| (one.found.finding.call.as_str(), one.found.seq.is_some())).collect();
    (1.0 - violating.len() as f64 / calls.max(1) as f64).max(0.0)
}

fn details(session: &JudgedSession<'_>, judged: &Judged<'_>, findings: &[Weighed<'_>]) -> Json {
    let of = |severity| findings.iter().filter(move |one| one.severity == severity);
    let mut by_code: BTreeMap<&str, u64> = BTreeMap::new();
    for one in findings.iter().filter(|one| one.severity != FindingSeverity::Ignore) {
        *by_code.entry(one.found.finding.code.name()).or_default() += 1;
    }
    let first = findings.iter().position(|one| one.severity == FindingSeverity::Fail);
    let seqs: BTreeSet<u64> = of(FindingSeverity::Fail).filter_map(|one| one.found.seq).collect();
    let (attempted, executed) = match &judged.executed {
        Some(done) => {
            let executed = seqs.iter().filter(|seq| done.contains(seq)).count() as u64;
            (seqs.len() as u64 - executed, executed)
        }
        None => (judged.attempted, judged.bypassed),
    };
    let shown = findings.iter().enumerate().filter(|(_, one)| one.severity != FindingSeverity::Ignore).take(MOST_KEPT);
    let violations = findings.iter().enumerate().filter(|(_, one)| one.severity == FindingSeverity::Fail);
    let marked = violations.map(|(place, one)| Marked { finding: &one.found.finding, is_first: first == Some(place) });
    json!({
        "calls": judged.calls,
        "violations": of(FindingSeverity::Fail).count(),
        "warnings": of(FindingSeverity::Warn).count(),
        "by_code": by_code,
        "first_violation_seq": first.and_then(|place| findings[place].found.seq),
        "final_phase": judged.final_phase,
        "attempted_violations": attempted,
        "executed_violations": executed,
        "contract": session.set.hash,
        "findings": shown.map(|(place, one)| written(session, one, first == Some(place))).collect::<Vec<_>>(),
        "session": session.details(marked),
    })
}

fn written(session: &JudgedSession<'_>, one: &Weighed<'_>, is_first: bool) -> Json {
    let finding = &one.found.finding;
    let mut written = json!({
        "seq": one.found.seq,
        "severity": one.severity,
        "code": finding.code,
        "call": untrusted::line(&finding.call, 100),
        "tool": untrusted::line(&finding.tool, 100),
        "path": finding.path,
        "message": untrusted::line(&finding.message, 400),
        "fingerprint": finding.fingerprint(),
    });
    for (key, value) in session.source_of(&finding.tool, &finding.rule) {
        written[key] = value;
    }
    if one.is_attempt {
        written["attempt"] = true.into();
    }
    match one.severity {
        FindingSeverity::Fail if is_first => written["first"] = true.into(),
        FindingSeverity::Fail => written["possible_consequence"] = true.into(),
        FindingSeverity::Warn | FindingSeverity::Info | FindingSeverity::Ignore => {}
    }
    written
}

fn entry(call: &ToolCall) -> TraceEntry {
    TraceEntry {
        seq: call.seq,
        id: call.id.clone(),
        tool: call.tool.clone(),
        source: match call.source {
            ToolCallSource::Proposed => Sighting::Proposed,
            ToolCallSource::Executed => Sighting::Executed,
            ToolCallSource::Reported => Sighting::Reported,
        },
        arguments: call.arguments.clone(),
        model_call: call.model_call.map(|call| call as u64),
        proposal: call.proposal,
        result: call.result.clone(),
        is_error: call.is_error,
    }
}
