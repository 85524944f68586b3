//! Rules over the whole session: order, quotas, obligations, flows of data, and the state of the world.
//!
//! To add a kind: a variant of [`RuleKind`], its keys in `shape`, its automaton in `state/rules`, and a file in
//! `decide/session/rules`.

mod shape;
mod world_state;

use crate::json_path::JsonPath;
use crate::reader::Named;
pub(crate) use shape::read_rules;
pub(crate) use world_state::{Expected, FileCondition, QuestionTemplate, WorldState};

/// A rule over the whole session.
#[derive(Debug, Clone)]
pub(crate) struct SessionRule {
    pub(crate) id: Named,
    pub(crate) kind: RuleKind,
    /// The words of its author; empty when there are none.
    pub(crate) reason: String,
    /// The name of the rule in reasons.
    pub(crate) rule: String,
}

/// The kinds of rules.
#[derive(Debug, Clone)]
pub(crate) enum RuleKind {
    /// `every A, after B`: each call of one tool needs an earlier one of another.
    Precedence(Precedence),
    /// `at_most N, of A`: a tool is called at most N times.
    Quota(Quota),
    /// `every A, then B`: each call of one tool is followed by one of another.
    Obligation(Obligation),
    /// `never A, with`: arguments of one tool do not contain what another one gave.
    DataFlow(DataFlow),
    /// `every A, when_state`: the world is in some state when a tool is called.
    WorldState(WorldState),
}

/// `every`, `after` and `same`.
#[derive(Debug, Clone)]
pub(crate) struct Precedence {
    pub(crate) tool: Named,
    pub(crate) prior: Named,
    pub(crate) same: Option<JsonPath>,
}

/// `at_most`, `of` and `per`.
#[derive(Debug, Clone)]
pub(crate) struct Quota {
    pub(crate) tool: Named,
    pub(crate) most: u64,
    pub(crate) per: Option<JsonPath>,
}

/// `every`, `then`, `within` and `same`.
#[derive(Debug, Clone)]
pub(crate) struct Obligation {
    pub(crate) tool: Named,
    pub(crate) then: Named,
    /// The window; without one, the session.
    pub(crate) within: Option<Window>,
    pub(crate) same: Option<JsonPath>,
}

/// The window in which an obligation is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Window {
    /// Within this number of released calls.
    Calls(u64),
    /// Within this number of steps.
    Steps(u64),
}

/// `never` and `with`.
#[derive(Debug, Clone)]
pub(crate) struct DataFlow {
    pub(crate) tool: Named,
    pub(crate) flows: Vec<Flow>,
}

/// An argument, and the tool whose output may not be in it.
#[derive(Debug, Clone)]
pub(crate) struct Flow {
    pub(crate) argument: JsonPath,
    pub(crate) from: Named,
}

impl SessionRule {
    /// The tool whose calls the rule is about.
    pub(crate) fn subject(&self) -> &Named {
        match &self.kind {
            RuleKind::Precedence(rule) => &rule.tool,
            RuleKind::Quota(rule) => &rule.tool,
            RuleKind::Obligation(rule) => &rule.tool,
            RuleKind::DataFlow(rule) => &rule.tool,
            RuleKind::WorldState(rule) => &rule.tool,
        }
    }

    /// Every tool that the rule names.
    pub(crate) fn tools(&self) -> Vec<&Named> {
        let mut tools = vec![self.subject()];
        match &self.kind {
            RuleKind::Precedence(rule) => tools.push(&rule.prior),
            RuleKind::Obligation(rule) => tools.push(&rule.then),
            RuleKind::DataFlow(rule) => tools.extend(rule.flows.iter().map(|flow| &flow.from)),
            RuleKind::Quota(_) | RuleKind::WorldState(_) => {}
        }
        tools
    }
}

impl Window {
    /// The window in words.
    pub(crate) fn words(self) -> String {
        match self {
            Self::Calls(count) => format!("within {count} calls"),
            Self::Steps(count) => format!("within {count} steps"),
        }
    }
}
