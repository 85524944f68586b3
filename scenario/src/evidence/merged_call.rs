//! Calls of tools, each once, however often the call trace has seen them.

use std::collections::HashMap;

use super::Evidence;
use super::call_trace::CallTrace;
use super::journal::Body;
use super::model::ModelCall;
use super::tool_call::{ToolCall, ToolCallSource};
use super::tool_execution::ToolExecution;

/// A call of a tool: its proposal, its execution and its report as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergedCall<'a> {
    /// The entry that counts: the execution, or the proposal of a call that no gateway carried out.
    pub seen: &'a ToolCall,
    /// The proposal, in the last of several answers to the same request; `None` for a call that the agent made by itself.
    pub proposal: Option<&'a ToolCall>,
    /// The execution; `None` when no gateway carried it out.
    pub execution: Option<&'a ToolCall>,
    /// The report; `None` when the agent sent nothing back.
    pub report: Option<&'a ToolCall>,
}

impl Evidence {
    /// Returns every call once, in the order of the executions, and of the proposals without execution.
    ///
    /// - An execution belongs to the proposal that it names. A second execution of the same proposal is a call of its own, because
    ///   it took effect a second time, and so is one that names no proposal.
    /// - The same proposal in two answers to the same request, byte for byte, with no result reported in between, is one call: a
    ///   client that repeats its request gets the same answer again.
    /// - A report of a call that was neither proposed nor executed is none: an agent can tell anything.
    #[must_use]
    pub fn calls(&self) -> Vec<MergedCall<'_>> {
        let models = self.model.as_ref().map_or(&[][..], |model| &model.calls);
        self.call_trace.calls(models)
    }
}

impl CallTrace {
    /// Every proposal and every execution without one, each with what belongs to it. A proposal that stands in two answers to the
    /// same request stands here twice: this is what was seen, and [`Evidence::calls`] what was called.
    #[must_use]
    pub fn sightings(&self) -> Vec<MergedCall<'_>> {
        self.calls(&[])
    }

    /// Every call once; `models` are the calls of the model, whose requests tell a repeated answer from another one.
    fn calls(&self, models: &[ModelCall]) -> Vec<MergedCall<'_>> {
        let mut merger = Merger { requests: first_requests(models), ..Merger::default() };
        self.0.iter().for_each(|call| merger.add_told(call));
        let is_executed = |call: &&ToolCall| call.source == ToolCallSource::Executed;
        self.0.iter().filter(is_executed).for_each(|call| merger.add_execution(call));
        merger.calls.sort_by_key(|call| call.seen.seq);
        merger.calls
    }
}

impl<'a> MergedCall<'a> {
    /// Returns the text of the result: the one that the tool gateway gave, else the one that the agent sent back;
    /// `None` when there is none.
    #[must_use]
    pub fn result(&self) -> Option<&'a str> {
        let of = |call: Option<&'a ToolCall>| call.and_then(|call| call.result.as_deref());
        of(self.execution).or_else(|| of(self.report))
    }

    /// True when the result is marked as an error, by the tool gateway or by the agent.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.execution.or(self.report).is_some_and(|call| call.is_error)
    }

    /// The beginning: the end of the answer that proposed it, or the request of a call that the agent made by itself.
    #[must_use]
    pub fn at_ms(&self) -> u64 {
        self.proposal.unwrap_or(self.seen).at_ms
    }

    /// The time until its result was there: for a call that was carried out, that of the tool gateway; else the time until the
    /// request that brought the result, and 0 when none did.
    #[must_use]
    pub fn took_ms(&self) -> u64 {
        let of_gateway = self.execution.and_then(|call| call.execution.as_ref()).map(|execution| execution.duration_ms);
        let of_agent = || self.report.map_or(0, |report| report.at_ms.saturating_sub(self.at_ms()));
        of_gateway.unwrap_or_else(of_agent)
    }

    /// Returns the data that only the tool gateway has; `None` for a call that did not reach it.
    #[must_use]
    pub fn at_gateway(&self) -> Option<&'a ToolExecution> {
        self.execution.and_then(|call| call.execution.as_deref())
    }

    /// True when the tool gateway carried it out: it refused it for no reason, and no fault stood in the way.
    #[must_use]
    pub fn was_carried_out(&self) -> bool {
        let is_prevented = |known: &ToolExecution| known.fault.as_ref().is_some_and(|fault| !fault.reached);
        self.execution.is_some()
            && self.at_gateway().is_none_or(|known| known.refused.is_none() && !is_prevented(known))
    }

    /// The model's id of the call.
    #[must_use]
    pub fn id(&self) -> Option<&'a str> {
        self.proposal.and_then(|call| call.id.as_deref()).or(self.seen.id.as_deref())
    }
}

/// For each call of the model, the first one with the same request. A request that was not kept is like no other.
fn first_requests(models: &[ModelCall]) -> Vec<usize> {
    let mut first = HashMap::new();
    let known = models.iter().enumerate().map(|(index, call)| match &call.request {
        Body::Kept(request) if !request.0.is_empty() => *first.entry((call.dialect, &request.0)).or_insert(index),
        _ => index,
    });
    known.collect()
}

/// Puts the entries of a trace together.
#[derive(Default)]
struct Merger<'a> {
    calls: Vec<MergedCall<'a>>,
    /// The place in `calls` of every proposal, by its `seq`.
    places: HashMap<u64, usize>,
    /// For each call of the model, the first one with the same request.
    requests: Vec<usize>,
    /// The places of proposals by the first call of the model with their request, each with the last answer that it was in.
    proposed: HashMap<usize, Vec<(usize, usize)>>,
}

impl<'a> Merger<'a> {
    /// Adds a proposal or a report.
    fn add_told(&mut self, call: &'a ToolCall) {
        match call.source {
            ToolCallSource::Proposed => self.add_proposal(call),
            ToolCallSource::Reported => self.add_report(call),
            ToolCallSource::Executed => {}
        }
    }

    fn add_proposal(&mut self, call: &'a ToolCall) {
        let answer = call.model_call.and_then(|answer| Some((answer, *self.requests.get(answer)?)));
        let repeated = answer.and_then(|(answer, request)| self.find_repeated(call, answer, request));
        let place = repeated.unwrap_or(self.calls.len());
        let merged = MergedCall { seen: call, proposal: Some(call), execution: None, report: None };
        if repeated.is_some() {
            // The agent goes on from the last answer.
            self.calls[place] = merged;
        } else {
            self.calls.push(merged);
            if let Some((answer, request)) = answer {
                self.proposed.entry(request).or_default().push((place, answer));
            }
        }
        self.places.insert(call.seq, place);
    }

    /// The place of a proposal in an earlier answer to the same request that this one repeats.
    fn find_repeated(&mut self, call: &ToolCall, answer: usize, request: usize) -> Option<usize> {
        let calls = &self.calls;
        let is_same = |place: usize| {
            let earlier = &calls[place];
            earlier.report.is_none() && earlier.seen.tool == call.tool && earlier.seen.arguments == call.arguments
        };
        let proposed = self.proposed.get_mut(&request)?;
        let (place, last) = proposed.iter_mut().find(|(place, last)| *last != answer && is_same(*place))?;
        *last = answer;
        Some(*place)
    }

    fn add_report(&mut self, call: &'a ToolCall) {
        let place = call.proposal.and_then(|proposal| self.places.get(&proposal));
        if let Some(merged) = place.and_then(|place| self.calls.get_mut(*place)) {
            merged.report.get_or_insert(call);
        }
    }

    fn add_execution(&mut self, call: &'a ToolCall) {
        let place = call.proposal.and_then(|proposal| self.places.get(&proposal));
        let proposed = place.and_then(|place| self.calls.get_mut(*place));
        match proposed.filter(|merged| merged.execution.is_none()) {
            Some(merged) => *merged = MergedCall { seen: call, execution: Some(call), ..*merged },
            None => self.calls.push(MergedCall { seen: call, proposal: None, execution: Some(call), report: None }),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::evidence::{Blob, Body, CallTrace, Evidence, ModelCall, ModelRecord, ToolCall};

    /// A trace of these entries, each as `source tool` with more keys.
    fn trace(entries: &[(&str, serde_json::Value)]) -> CallTrace {
        let entry = |(seq, (words, more)): (usize, &(&str, serde_json::Value))| {
            let (source, tool) = words.split_once(' ').expect("a source and a tool");
            let mut entry = json!({"seq": seq, "at_ms": seq * 10, "source": source, "tool": tool});
            entry.as_object_mut().expect("an object").extend(more.as_object().expect("keys").clone());
            serde_json::from_value::<ToolCall>(entry).expect("an entry")
        };
        CallTrace(entries.iter().enumerate().map(entry).collect())
    }

    /// The calls in words: the tool, and the places of its proposal, its execution and its report.
    fn calls(entries: &[(&str, serde_json::Value)]) -> String {
        calls_of(&["a", "b", "c", "d"], entries)
    }

    /// The same with the requests to the model.
    fn calls_of(requests: &[&str], entries: &[(&str, serde_json::Value)]) -> String {
        let request = |text: &&str| ModelCall { request: Body::Kept(Blob::from(*text)), ..ModelCall::default() };
        let model = ModelRecord { calls: requests.iter().map(request).collect(), ..ModelRecord::default() };
        let trace = Evidence { call_trace: trace(entries), model: Some(model), ..Evidence::default() };
        let place = |call: Option<&ToolCall>| call.map_or_else(|| "-".to_owned(), |call| call.seq.to_string());
        let words = trace.calls().into_iter().map(|call| {
            let places = [call.proposal, call.execution, call.report].map(place).join(" ");
            format!("{} {places}", call.seen.tool)
        });
        words.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn a_call_counts_once_however_often_it_was_seen() {
        let entries = [
            ("proposed read", json!({"id": "a", "model_call": 0})),
            ("proposed send", json!({"id": "b", "model_call": 0})),
            ("executed send", json!({"proposal": 1})),
            ("executed read", json!({"proposal": 0})),
            ("reported read", json!({"id": "a", "proposal": 0, "model_call": 1})),
            ("proposed end", json!({"id": "c", "model_call": 1})),
        ];
        assert_eq!(calls(&entries), "send 1 2 -, read 0 3 4, end 5 - -", "executions say the order");
    }

    #[test]
    fn every_execution_is_a_call() {
        let entries = [
            ("executed read", json!({})),
            ("proposed pay", json!({"id": "a", "model_call": 0})),
            ("executed pay", json!({"proposal": 1})),
            ("executed pay", json!({"proposal": 1})),
            ("executed pay", json!({"proposal": 99})),
        ];
        assert_eq!(calls(&entries), "read - 0 -, pay 1 2 -, pay - 3 -, pay - 4 -");
    }

    #[test]
    fn an_answer_that_a_client_asks_for_twice_proposes_once() {
        let proposal =
            |call: usize, amount: u64| ("proposed pay", json!({"model_call": call, "arguments": {"x": amount}}));
        let report = |proposal: u64| ("reported pay", json!({"proposal": proposal, "model_call": 2}));
        let executed = |proposal: u64| ("executed pay", json!({"proposal": proposal}));
        let repeated = |entries: &[(&str, serde_json::Value)]| calls_of(&["a", "a", "b", "a"], entries);
        let twice = [proposal(0, 1), proposal(1, 1), report(1)];
        assert_eq!(repeated(&twice), "pay 1 - 2");
        assert_eq!(calls(&twice), "pay 0 - -, pay 1 - 2", "another request is another call");
        assert_eq!(repeated(&[proposal(0, 1), proposal(1, 2)]), "pay 0 - -, pay 1 - -");
        let two_each = [proposal(0, 1), proposal(0, 1), proposal(1, 1), proposal(1, 1)];
        assert_eq!(repeated(&two_each), "pay 2 - -, pay 3 - -", "an answer that proposes twice means it");
        assert_eq!(repeated(&[proposal(0, 1), report(0), proposal(3, 1)]), "pay 0 - 1, pay 2 - -");
        let executed_twice = [proposal(0, 1), executed(0), proposal(1, 1), executed(2)];
        assert_eq!(repeated(&executed_twice), "pay 2 1 -, pay - 3 -");
        assert_eq!(repeated(&[proposal(0, 1), proposal(1, 1), executed(1)]), "pay 1 2 -");
    }

    #[test]
    fn what_is_only_reported_is_no_call() {
        assert_eq!(calls(&[("reported pay", json!({"model_call": 0}))]), "");
        assert_eq!(calls(&[("reported pay", json!({"proposal": 7}))]), "");
    }
}
