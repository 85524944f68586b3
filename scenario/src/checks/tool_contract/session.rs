//! The calls of a judged trace with their decisions, as the details of the verdict keep them. Lanes
//! ([`LaneCall`](crate::tool_session::LaneCall)) are made from them.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};
use tool_contracts::{Compiled, Finding, JudgedCall, Reason, Verdict};

use crate::evidence::{CallTrace, MergedCall};
use crate::untrusted;

/// The most calls that the details keep.
const MOST_CALLS: usize = 200;
/// The longest name.
const MOST_NAME: usize = 100;
/// The longest text of a decision's reasons.
const MOST_SENTENCE: usize = 400;

/// A trace that was judged by a set.
pub(super) struct JudgedSession<'a> {
    pub(super) set: &'a Compiled,
    /// The folder of the set, beside the spec.
    pub(super) folder: &'a str,
    pub(super) calls: &'a [JudgedCall],
    /// The recorded trace; `None` for sessions that have records of their own.
    pub(super) trace: Option<&'a CallTrace>,
}

/// A violation, and whether it is the first one.
pub(super) struct Marked<'a> {
    pub(super) finding: &'a Finding,
    pub(super) is_first: bool,
}

impl JudgedSession<'_> {
    /// A rule with its file and line, where a file has it: `rule`, `file` and `line`.
    pub(super) fn source_of(&self, tool: &str, rule: &str) -> Map<String, Json> {
        let mut source = Map::from_iter([("rule".to_owned(), untrusted::line(rule, MOST_NAME).into())]);
        if let Some(place) = self.set.rule_place(tool, rule) {
            source.insert("file".to_owned(), path_in(self.folder, &place.file).into());
            source.insert("line".to_owned(), place.span.line.into());
        }
        source
    }

    /// The calls with their decisions, from which a lane is drawn; `null` where records have them.
    pub(super) fn details<'f>(&self, violations: impl Iterator<Item = Marked<'f>>) -> Json {
        let mut marks: BTreeMap<&str, &str> = BTreeMap::new();
        for Marked { finding, is_first } in violations {
            let mark = if is_first { "first" } else { "possible_consequence" };
            marks.entry(finding.call.as_str()).or_insert(mark);
        }
        let Some(trace) = self.trace else { return Json::Null };
        let sightings = trace.sightings();
        let calls = self.calls.iter().take(MOST_CALLS);
        let calls: Vec<_> = calls.map(|judged| self.call(judged, seen(&sightings, judged.seq), &marks)).collect();
        json!({ "calls": calls, "left_out": self.calls.len() - calls.len() })
    }

    fn call(&self, judged: &JudgedCall, seen: Option<&MergedCall<'_>>, marks: &BTreeMap<&str, &str>) -> Json {
        let JudgedCall { step, phase, call, decision, .. } = judged;
        let decided = match decision.verdict {
            Verdict::Allow => "allowed",
            Verdict::Block => "would_have_been_blocked",
            Verdict::Hold => "would_have_been_held",
        };
        let reasons: Vec<_> = decision.reasons.iter().map(Reason::explain).collect();
        let sentence = untrusted::line(&reasons.join("; "), MOST_SENTENCE);
        let fields = [
            ("at_ms", seen.map(MergedCall::at_ms).into()),
            ("step", (*step).into()),
            ("call", untrusted::line(&call.id, MOST_NAME).into()),
            ("tool", untrusted::line(&call.tool, MOST_NAME).into()),
            ("phase", phase.clone().into()),
            ("decision", decided.into()),
            ("sentence", Some(sentence).filter(|sentence| !sentence.is_empty()).into()),
            ("rule", decision.reasons.first().map(|reason| self.source_of(&call.tool, &reason.rule)).into()),
            ("outcome", seen.and_then(outcome).into()),
            ("self_reported", seen.filter(|seen| is_self_reported(seen)).map(|_| true).into()),
            ("violation", marks.get(call.id.as_str()).copied().into()),
        ];
        let known = fields.into_iter().filter(|(_, value): &(_, Json)| !value.is_null());
        known.map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// The path of a file; the file itself in a set that belongs to no spec.
fn path_in(folder: &str, file: &str) -> String {
    if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") }
}

/// The call that an entry of the trace belongs to.
fn seen<'s, 't>(sightings: &'s [MergedCall<'t>], seq: u64) -> Option<&'s MergedCall<'t>> {
    let is_it = |call: &&MergedCall<'t>| {
        [Some(call.seen), call.proposal, call.execution].into_iter().flatten().any(|entry| entry.seq == seq)
    };
    sightings.iter().find(is_it)
}

fn outcome(seen: &MergedCall<'_>) -> Option<&'static str> {
    let told = seen.execution.or(seen.report)?;
    Some(match told.result.as_deref() {
        _ if told.is_error => "error",
        None | Some("") => "ok_empty",
        Some(_) => "ok",
    })
}

fn is_self_reported(seen: &MergedCall<'_>) -> bool {
    seen.execution.is_none() && seen.report.is_some()
}
