//! The state of a session: everything that later decisions depend on, in ordered maps.

pub(crate) mod aggregate;
pub(crate) mod envelope;
pub(crate) mod rules;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value as Json;

use crate::canonical::hash;
use crate::compile::Compiled;
use crate::invariant::Invariant;
use aggregate::AggregateState;
use envelope::EnvelopeState;
use rules::RuleState;

/// The life of a session. Killed and closed are final.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Status {
    /// It goes on.
    #[default]
    Active,
    /// A call is held, and others wait.
    Paused,
    /// It was asked to end.
    CancelRequested,
    /// It was ended, for this cause.
    Killed(String),
    /// It ended.
    Closed,
}

/// The stage of a call that is not over.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OpenCall {
    pub(crate) tool: String,
    pub(crate) arguments: Json,
    pub(crate) step: u64,
    /// The step among those that were released to the agent.
    pub(crate) committed_step: u64,
    /// The number of the call among the released ones, from 1.
    pub(crate) index: u64,
}

/// An earlier call that committed, with what preconditions read of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Prior {
    pub(crate) step: u64,
    pub(crate) call: String,
    pub(crate) arguments: Json,
    pub(crate) output: Json,
}

/// The schema of a tool as it was first seen.
#[derive(Debug, Clone)]
pub(crate) struct PinnedSchema {
    pub(crate) hash: String,
    pub(crate) derived: Vec<Invariant>,
}

/// The state of one session under one compiled set.
#[derive(Debug, Clone, Default)]
pub struct SessionState {
    /// Number of events that were applied.
    pub version: u64,
    /// Its life.
    pub status: Status,
    /// The phase; `None` when the set declares none.
    pub phase: Option<String>,
    /// The steps that were released to the agent.
    pub total_steps: u64,
    /// The steps that the model attempted.
    pub attempt_steps: u64,
    /// The calls that were released.
    pub released_calls: u64,
    /// The same, for each tool.
    pub per_tool: BTreeMap<String, u64>,
    /// The cost so far, in millionths of a dollar.
    pub cost_micros: u64,
    /// Steps in a row in which something was blocked and nothing released.
    pub consecutive_blocks: u64,
    /// Unexpected errors in a row.
    pub consecutive_errors: u64,
    /// The values in slots, each with the call that bound it.
    pub bindings: BTreeMap<String, (Json, String)>,
    /// The labels, each with its origin.
    pub labels: BTreeMap<String, String>,
    /// The tools that are forbidden, each with the call that forbade it.
    pub forbidden: BTreeMap<String, String>,
    /// The tools that a filter from outside leaves; `None` when there is no filter.
    pub filter: Option<BTreeSet<String>>,
    /// The calls that passed without being judged.
    pub unguarded_calls: u64,
    /// The fingerprints of the last steps' attempts, oldest first.
    pub(crate) attempts: VecDeque<Vec<String>>,
    pub(crate) history: BTreeMap<String, Vec<Prior>>,
    pub(crate) aggregates: Vec<AggregateState>,
    pub(crate) envelopes: Vec<EnvelopeState>,
    /// The automata of the rules over the whole session, in the order of the rules.
    pub(crate) rules: Vec<RuleState>,
    pub(crate) open: BTreeMap<String, OpenCall>,
    pub(crate) schemas: BTreeMap<String, PinnedSchema>,
}

impl SessionState {
    /// The state of a session that begins.
    #[must_use]
    pub fn new(set: &Compiled) -> Self {
        Self {
            phase: set.session.phases.initial().map(ToOwned::to_owned),
            aggregates: vec![AggregateState::default(); set.session.aggregates.len()],
            envelopes: vec![EnvelopeState::default(); set.session.envelopes.len()],
            rules: set.session.rules.iter().map(RuleState::new).collect(),
            ..Self::default()
        }
    }

    /// True when the session was killed.
    #[must_use]
    pub fn is_killed(&self) -> bool {
        matches!(self.status, Status::Killed(_))
    }

    /// True when nothing changes the status any more.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self.status, Status::Killed(_) | Status::Closed)
    }

    /// Kills the session, unless it is over.
    pub(crate) fn kill(&mut self, cause: &str) {
        if !self.is_final() {
            self.status = Status::Killed(cause.to_owned());
        }
    }

    /// True when all of the session's calls are used up.
    /// True when a call is under way.
    pub(crate) fn is_open(&self, call: &str) -> bool {
        self.open.contains_key(call)
    }

    /// The tool of a call that is under way.
    pub(crate) fn open_tool(&self, call: &str) -> Option<&str> {
        self.open.get(call).map(|open| open.tool.as_str())
    }

    /// True when this schema of a tool, or another, was seen and need not be looked at again.
    pub(crate) fn has_schema(&self, tool: &str, schema: &Json) -> bool {
        self.schemas.get(tool).is_some_and(|pinned| pinned.hash == hash(schema))
    }

    /// Forgets the possible outcome of a call under way. It stays counted.
    pub(crate) fn withdraw(&mut self, call: &str) {
        self.open.remove(call);
        self.aggregates.iter_mut().for_each(|aggregate| aggregate.release(call));
        self.rules.iter_mut().for_each(|rule| rule.withdraw(call));
    }

    /// The state as if a call that is under way had never been let out.
    pub(crate) fn without_call(&self, call: &str) -> Self {
        let mut state = self.clone();
        if let Some(tool) = self.open_tool(call) {
            state.released_calls = state.released_calls.saturating_sub(1);
            state.per_tool.entry(tool.to_owned()).and_modify(|calls| *calls = calls.saturating_sub(1));
        }
        state.withdraw(call);
        state
    }

    pub(crate) fn has_used_calls(&self, set: &Compiled) -> bool {
        set.session.limits.max_tool_calls.is_some_and(|most| self.released_calls >= most)
    }
}

impl Status {
    /// The word for it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::CancelRequested => "cancel_requested",
            Self::Killed(_) => "killed",
            Self::Closed => "closed",
        }
    }
}
