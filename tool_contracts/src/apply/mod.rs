//! The one mutation: an event brings the state on, and findings to light.
//!
//! To add an event: a variant of [`Event`], and its effect in a file of its own or below.

mod completion;
mod end;
mod rules;
mod step;

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::call::{Call, Outcome, Provenance};
use crate::canonical::hash;
use crate::code::Code;
use crate::compile::{Compiled, schema};
use crate::decide::Verdict;
use crate::finding::Finding;
use crate::state::{PinnedSchema, SessionState, Status};
use crate::state_question::{StateAnswer, StateQuestion};

/// A call of a step, with what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct StepCall {
    /// The call.
    pub call: Call,
    /// The decision, after approvals.
    pub verdict: Verdict,
    /// True when the agent received it, or ran it.
    pub is_released: bool,
}

/// An event of a session. Time arrives in events and nowhere else.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A response of a model was judged and gated: one attempt step.
    StepDecided {
        /// Its calls, in their order.
        calls: Vec<StepCall>,
        /// True when something of the response was released, which makes it a step.
        is_step: bool,
    },
    /// A request was refused before it was sent.
    PrecheckBlocked,
    /// A call that was released is over.
    CallCompleted {
        /// Its id.
        call: String,
        /// Its outcome.
        outcome: Outcome,
        /// The source of the outcome.
        provenance: Provenance,
    },
    /// A call was executed with other arguments than those proposed; they are the truth.
    ArgumentsExecuted {
        /// Its id.
        call: String,
        /// The executed arguments.
        arguments: Json,
    },
    /// A call that was released is not carried out after all, because its executed arguments were refused.
    Withdrawn {
        /// Its id.
        call: String,
    },
    /// The world answered a question that a rule asks before a call.
    StateRead {
        /// The id of the call.
        call: String,
        /// The question with its rule, so that an answer never counts for other arguments than it was read for.
        question: StateQuestion,
        /// The answer.
        answer: StateAnswer,
    },
    /// A call passed without being judged, because our own evaluation failed.
    CallUnguarded,
    /// A model's answer was paid for, in millionths of a dollar.
    CostAdded(u64),
    /// A label was added from outside.
    LabelAdded {
        /// The label.
        label: String,
        /// Its origin.
        origin: String,
    },
    /// A filter was set, or removed.
    FilterSet(Option<BTreeSet<String>>),
    /// A tool's schema was seen.
    SchemaSeen {
        /// The tool.
        tool: String,
        /// The JSON Schema of its arguments.
        schema: Json,
    },
    /// A call is held; others wait.
    Paused,
    /// No call is held any more.
    Resumed,
    /// The session was asked to end.
    CancelRequested,
    /// The session was killed, for this cause.
    Killed(String),
    /// The session ended.
    Closed,
}

/// Applies an event.
pub fn apply(set: &Compiled, state: &mut SessionState, event: &Event) -> Vec<Finding> {
    state.version += 1;
    match event {
        Event::StepDecided { calls, is_step } => return step::apply(set, state, calls, *is_step),
        Event::PrecheckBlocked => step::count_block(set, state),
        Event::CallCompleted { call, outcome, provenance } => {
            return completion::apply(set, state, call, outcome, *provenance);
        }
        Event::ArgumentsExecuted { call, arguments } => step::replace_arguments(set, state, call, arguments),
        Event::Withdrawn { call } => state.withdraw(call),
        Event::StateRead { call, question, answer } => rules::answer(set, state, call, question, answer),
        Event::CallUnguarded => count_unguarded(set, state),
        Event::CostAdded(micros) => state.cost_micros = state.cost_micros.saturating_add(*micros),
        Event::LabelAdded { label, origin } => {
            state.labels.entry(label.clone()).or_insert_with(|| origin.clone());
        }
        Event::FilterSet(filter) => state.filter.clone_from(filter),
        Event::SchemaSeen { tool, schema } => return pin_schema(set, state, tool, schema),
        Event::Paused => change(state, &Status::Active, Status::Paused),
        Event::Resumed => change(state, &Status::Paused, Status::Active),
        Event::CancelRequested => {
            if !state.is_final() {
                state.status = Status::CancelRequested;
            }
        }
        Event::Killed(cause) => state.kill(cause),
        Event::Closed => return end::apply(set, state),
    }
    Vec::new()
}

fn change(state: &mut SessionState, from: &Status, to: Status) {
    if state.status == *from {
        state.status = to;
    }
}

fn count_unguarded(set: &Compiled, state: &mut SessionState) {
    state.unguarded_calls += 1;
    if state.unguarded_calls > set.run.max_unguarded_calls {
        state.kill("unguarded_calls");
    }
}

/// The first schema of a tool stays; a later one that differs is a finding.
fn pin_schema(set: &Compiled, state: &mut SessionState, tool: &str, schema: &Json) -> Vec<Finding> {
    let seen = hash(schema);
    match state.schemas.get(tool) {
        Some(pinned) if pinned.hash == seen => Vec::new(),
        Some(_) => vec![Finding::of_call(
            Code::ToolSchemaChanged,
            tool,
            "",
            "the schema differs from the first one that was seen",
        )],
        None => {
            let contract = set.tools.get(tool);
            let derived = contract.map(|tool| schema::derive(tool, &set.session, schema)).unwrap_or_default();
            state.schemas.insert(tool.to_owned(), PinnedSchema { hash: seen, derived });
            Vec::new()
        }
    }
}
