//! A recorded call trace, judged afterwards: the decisions that would have been made, and the outcomes.
//!
//! Every decision is computed and none applied: the state follows what happened. A violating call still happened, so
//! its counters and values count, and later findings may be consequences of the first.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::apply::{Event, apply};
use crate::call::{Batch, Call, Outcome, Provenance};
use crate::canonical::canonical;
use crate::code::{Class, Code};
use crate::compile::Compiled;
use crate::decide::{Decision, Verdict, decide};
use crate::finding::Finding;
use crate::options::Mode;
use crate::state::SessionState;
use crate::step::{judge_step, release_step};

/// The place at which a use of a tool was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sighting {
    /// A model's response proposes it.
    Proposed,
    /// A gateway carried it out.
    Executed,
    /// The agent reported the outcome to the model.
    Reported,
}

/// One entry of a call trace.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct TraceEntry {
    /// The place in the trace.
    pub seq: u64,
    /// The call's id, when it has one.
    #[serde(default)]
    pub id: Option<String>,
    /// The tool.
    pub tool: String,
    /// The place at which it was seen.
    pub source: Sighting,
    /// The arguments; a text when they are no object.
    #[serde(default)]
    pub arguments: Json,
    /// The model call that it belongs to.
    #[serde(default)]
    pub model_call: Option<u64>,
    /// The `seq` of its proposal.
    #[serde(default)]
    pub proposal: Option<u64>,
    /// The text of the result.
    #[serde(default)]
    pub result: Option<String>,
    /// True when the result is marked as an error.
    #[serde(default)]
    pub is_error: bool,
}

/// A call, and what would have been decided.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedCall {
    /// The place of the call in the trace.
    pub seq: u64,
    /// The step, from 1.
    pub step: u64,
    /// The phase before it.
    pub phase: Option<String>,
    /// The call.
    pub call: Call,
    /// The decision.
    pub decision: Decision,
}

/// A finding, and the entry of the trace that it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceFinding {
    /// The place in the trace; `None` for the end of the session.
    pub seq: Option<u64>,
    /// The finding.
    pub finding: Finding,
}

/// The result of judging a trace.
#[derive(Debug, Clone, Default)]
pub struct TraceReport {
    /// Every call, in the order of the trace.
    pub calls: Vec<JudgedCall>,
    /// Every finding: the reasons of decisions, and the findings about the session.
    pub findings: Vec<TraceFinding>,
    /// The last phase.
    pub final_phase: Option<String>,
}

struct Fold<'a> {
    set: Compiled,
    state: SessionState,
    report: TraceReport,
    /// The id under which each proposal is open, by its place.
    open: BTreeMap<u64, Call>,
    trace: &'a [TraceEntry],
}

/// Judges a trace.
#[must_use]
pub fn judge_trace(set: &Compiled, trace: &[TraceEntry]) -> TraceReport {
    let mut set = set.clone();
    set.run.mode = Mode::Observe;
    let state = SessionState::new(&set);
    let mut fold = Fold { set, state, report: TraceReport::default(), open: BTreeMap::new(), trace };
    let mut place = 0;
    while let Some(entry) = trace.get(place) {
        place += match entry.source {
            Sighting::Proposed => fold.step(place),
            Sighting::Executed => fold.execution(entry),
            Sighting::Reported => fold.result(entry),
        };
    }
    fold.finish()
}

impl Fold<'_> {
    /// The proposals of one response are one step; returns how many they are.
    fn step(&mut self, place: usize) -> usize {
        let first = &self.trace[place];
        let is_same = |entry: &&TraceEntry| {
            entry.source == Sighting::Proposed && (entry.model_call.is_some() && entry.model_call == first.model_call)
        };
        let count = self.trace[place..].iter().take_while(is_same).count().max(1);
        let entries = &self.trace[place..place + count];
        let calls: Vec<Call> = entries.iter().map(call_of).collect();
        let decisions = judge_step(&self.set, &self.state, &calls, None);
        for (entry, (call, decision)) in entries.iter().zip(calls.iter().zip(decisions.clone())) {
            self.open.insert(entry.seq, call.clone());
            self.note(entry.seq, call, decision);
        }
        let judged = calls.into_iter().zip(decisions).map(|(call, decision)| (call, decision.verdict)).collect();
        self.decided(first.seq, judged);
        count
    }

    fn decided(&mut self, seq: u64, judged: Vec<(Call, Verdict)>) {
        let (calls, is_step) = release_step(&self.set, &self.state, &judged);
        self.apply(Some(seq), &Event::StepDecided { calls, is_step });
    }

    fn note(&mut self, seq: u64, call: &Call, decision: Decision) {
        let step = self.state.attempt_steps + 1;
        for reason in &decision.reasons {
            let finding = Finding::of_reason(reason, &call.tool, &call.id);
            self.report.findings.push(TraceFinding { seq: Some(seq), finding });
        }
        for code in &decision.notes {
            let finding = Finding::of_call(*code, &call.tool, &call.id, code.explanation());
            self.report.findings.push(TraceFinding { seq: Some(seq), finding });
        }
        let phase = self.state.phase.clone();
        self.report.calls.push(JudgedCall { seq, step, phase, call: call.clone(), decision });
    }

    /// An execution completes its proposal; one without a proposal is a step of its own.
    fn execution(&mut self, entry: &TraceEntry) -> usize {
        let proposal = entry.proposal.and_then(|seq| self.open.remove(&seq));
        let executed = call_of(entry);
        let call = match proposal {
            Some(proposed) if canonical(&proposed.arguments) == canonical(&executed.arguments) => proposed,
            Some(proposed) => self.drifted(entry, Call { arguments: executed.arguments, ..proposed }),
            None => {
                self.find(entry, Code::UnproposedCall, &executed);
                let decisions = judge_step(&self.set, &self.state, std::slice::from_ref(&executed), None);
                for decision in decisions {
                    self.note(entry.seq, &executed, decision.clone());
                    self.decided(entry.seq, vec![(executed.clone(), decision.verdict)]);
                }
                executed
            }
        };
        self.complete(entry, &call, Provenance::Gateway);
        1
    }

    /// The executed arguments are the truth, so they are judged.
    fn drifted(&mut self, entry: &TraceEntry, call: Call) -> Call {
        self.find(entry, Code::ArgumentDrift, &call);
        let batch = Batch { step: self.state.attempt_steps, ..Batch::default() };
        // The proposal was counted when it was let out: the call is judged as if it were not there.
        let decision = decide(&self.set, &self.state.without_call(&call.id), &batch, &call);
        self.apply(None, &Event::ArgumentsExecuted { call: call.id.clone(), arguments: call.arguments.clone() });
        self.note(entry.seq, &call, decision);
        call
    }

    /// A result completes the call that it names, unless an execution did.
    fn result(&mut self, entry: &TraceEntry) -> usize {
        let known = entry.proposal.filter(|seq| self.trace.iter().any(|other| other.seq == *seq));
        match (known, entry.proposal.and_then(|seq| self.open.remove(&seq))) {
            (_, Some(call)) => self.complete(entry, &call, Provenance::SelfReported),
            (None, None) => self.find(entry, Code::OrphanResult, &call_of(entry)),
            // The call was executed, or its result was reported before.
            (Some(_), None) => {}
        }
        1
    }

    fn complete(&mut self, entry: &TraceEntry, call: &Call, provenance: Provenance) {
        let outcome = outcome_of(entry);
        self.apply(Some(entry.seq), &Event::CallCompleted { call: call.id.clone(), outcome, provenance });
    }

    fn find(&mut self, entry: &TraceEntry, code: Code, call: &Call) {
        let finding = Finding::of_call(code, &call.tool, &call.id, code.explanation());
        self.report.findings.push(TraceFinding { seq: Some(entry.seq), finding });
    }

    fn apply(&mut self, seq: Option<u64>, event: &Event) {
        let found = apply(&self.set, &mut self.state, event);
        self.report.findings.extend(found.into_iter().map(|finding| TraceFinding { seq, finding }));
    }

    fn finish(mut self) -> TraceReport {
        self.apply(None, &Event::Closed);
        self.report.final_phase = self.state.phase;
        self.report
    }
}

impl TraceFinding {
    /// The weight of the finding before a check says otherwise.
    #[must_use]
    pub fn class(&self) -> Class {
        self.finding.code.class()
    }
}

/// The call of an entry. Its id is made unique by its place: models repeat ids.
pub(crate) fn call_of(entry: &TraceEntry) -> Call {
    let id = match &entry.id {
        Some(id) => format!("{id}#{}", entry.seq),
        None => format!("#{}", entry.seq),
    };
    // Arguments that were too large to be kept as a tree are kept as their text.
    let arguments = match &entry.arguments {
        Json::String(text) => serde_json::from_str(text).unwrap_or_else(|_| entry.arguments.clone()),
        Json::Null => json!({}),
        other => other.clone(),
    };
    Call { id, tool: entry.tool.clone(), arguments }
}

fn outcome_of(entry: &TraceEntry) -> Outcome {
    let text = entry.result.as_deref().unwrap_or_default();
    let value = || match serde_json::from_str::<Json>(text) {
        Ok(value @ (Json::Object(_) | Json::Array(_))) => value,
        _ => json!({ "_text": text }),
    };
    match text {
        _ if entry.is_error => match value() {
            Json::Object(error) => Outcome::Error(Json::Object(error)),
            other => Outcome::Error(json!({ "message": canonical(&other) })),
        },
        "" => Outcome::OkEmpty,
        _ => Outcome::Ok(value()),
    }
}
