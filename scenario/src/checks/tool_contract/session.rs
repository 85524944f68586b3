//! The calls of a judged trace with their decisions, as the details of the verdict keep them.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use tool_contracts::{Compiled, Finding, JudgedCall, Reason, TraceReport, Verdict};

use crate::evidence::{CallTrace, MergedCall};
use crate::tool_session::{CallDecision, CallOutcome, LaneCall, RuleSource, Violation};
use crate::untrusted;

/// How many calls the details keep.
const MOST_CALLS: usize = 200;
/// How long a name may be.
const MOST_NAME: usize = 100;
/// How long the reasons of a decision may be.
const MOST_SENTENCE: usize = 400;

/// A trace that was judged by a set.
pub(super) struct JudgedSession<'a> {
    pub(super) set: &'a Compiled,
    /// The folder of the set, beside the spec.
    pub(super) folder: &'a str,
    pub(super) report: &'a TraceReport,
    pub(super) trace: &'a CallTrace,
}

/// A violation, and whether it is the first one.
pub(super) struct Marked<'a> {
    pub(super) finding: &'a Finding,
    pub(super) is_first: bool,
}

impl JudgedSession<'_> {
    /// A rule with its file and line.
    pub(super) fn source_of(&self, tool: &str, rule: &str) -> RuleSource {
        let place = self.set.rule_place(tool, rule);
        RuleSource {
            rule: untrusted::line(rule, MOST_NAME),
            file: place.as_ref().map(|place| format!("{}/{}", self.folder, place.file)),
            line: place.map(|place| place.span.line as u64),
        }
    }

    /// The calls with their decisions, from which a lane is drawn.
    pub(super) fn details<'f>(&self, violations: impl Iterator<Item = Marked<'f>>) -> Json {
        let mut marks: BTreeMap<&str, Violation> = BTreeMap::new();
        for Marked { finding, is_first } in violations {
            let mark = if is_first { Violation::First } else { Violation::PossibleConsequence };
            marks.entry(finding.call.as_str()).or_insert(mark);
        }
        let sightings = self.trace.sightings();
        let calls = self.report.calls.iter().take(MOST_CALLS);
        let calls: Vec<_> = calls.map(|judged| self.call(judged, seen(&sightings, judged.seq), &marks)).collect();
        json!({ "calls": calls, "left_out": self.report.calls.len() - calls.len() })
    }

    fn call(&self, judged: &JudgedCall, seen: Option<&MergedCall<'_>>, marks: &BTreeMap<&str, Violation>) -> LaneCall {
        let JudgedCall { step, phase, call, decision, .. } = judged;
        let reasons: Vec<_> = decision.reasons.iter().map(Reason::explain).collect();
        let first = decision.reasons.first();
        LaneCall {
            at_ms: seen.map(MergedCall::at_ms),
            step: Some(*step),
            call: untrusted::line(&call.id, MOST_NAME),
            tool: untrusted::line(&call.tool, MOST_NAME),
            phase: phase.clone(),
            decision: match decision.verdict {
                Verdict::Allow => CallDecision::Allowed,
                Verdict::Block => CallDecision::WouldHaveBeenBlocked,
                Verdict::Hold => CallDecision::WouldHaveBeenHeld,
            },
            sentence: untrusted::line(&reasons.join("; "), MOST_SENTENCE),
            rule: first.map(|reason| self.source_of(&call.tool, &reason.rule)),
            outcome: seen.and_then(outcome),
            self_reported: seen.is_some_and(|seen| seen.execution.is_none() && seen.report.is_some()),
            violation: marks.get(call.id.as_str()).copied(),
            ..LaneCall::default()
        }
    }
}

/// The call that an entry of the trace belongs to.
fn seen<'s, 't>(sightings: &'s [MergedCall<'t>], seq: u64) -> Option<&'s MergedCall<'t>> {
    let is_it = |call: &&MergedCall<'t>| {
        [Some(call.seen), call.proposal, call.execution].into_iter().flatten().any(|entry| entry.seq == seq)
    };
    sightings.iter().find(is_it)
}

fn outcome(seen: &MergedCall<'_>) -> Option<CallOutcome> {
    let told = seen.execution.or(seen.report)?;
    Some(match told.result.as_deref() {
        _ if told.is_error => CallOutcome::Error,
        None | Some("") => CallOutcome::OkEmpty,
        Some(_) => CallOutcome::Ok,
    })
}
