//! The purpose of a scenario: all that the spec says about its cell, one rule of its contract, a mutation, or a replay.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::scenario::Scenario;
use crate::spec::Sections;
use crate::spec::sections::{Chaos, ContractInvariant, MutationKind, ReplayEntry, ReplayMatching, ReplayModel};
use crate::spec::types::Filled;

/// The purpose of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// All that the spec says about its cell.
    #[default]
    Everything,
    /// One rule of the contract, by its id.
    Invariant(String),
    /// One mutation of the prompt.
    Mutation(Mutation),
    /// One recorded session.
    Replay(Replay),
    /// The run without faults whose output `behavior_unchanged` compares with, by the id of the rule whose probes the prompt is one
    /// of. No plan has it: it is made for the first scenario that needs it.
    Baseline(Option<String>),
}

/// One of the other ways to write a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mutation {
    /// Its kind.
    pub kind: MutationKind,
    /// Its number among those of its kind, from 0.
    pub index: u32,
}

/// A recorded session that the agent goes through again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Replay {
    /// Its name.
    pub id: String,
    /// The file of the session, in the spec's folder.
    pub session: String,
    /// The way to find the answer to a call.
    pub matching: ReplayMatching,
    /// The source of the model's answers.
    pub model: ReplayModel,
}

impl From<&ReplayEntry> for Replay {
    fn from(entry: &ReplayEntry) -> Self {
        let ReplayEntry { session, matching, model, .. } = entry;
        Self { id: entry.name(), session: session.as_str().to_owned(), matching: *matching, model: *model }
    }
}

impl Purpose {
    /// Returns true for the purpose of a scenario without a contract.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        *self == Self::Everything
    }

    /// Its part of ids; `None` where it has none.
    pub(super) fn segment(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Everything => None,
            Self::Invariant(id) => Some(id.into()),
            Self::Mutation(Mutation { kind, index }) => Some(format!("mutation-{kind}-{index}").into()),
            Self::Replay(replay) => Some(format!("replay-{}", replay.id).into()),
            Self::Baseline(_) => Some("baseline".into()),
        }
    }

    /// The part of a scenario's description that tells what it is run for; `None` where that is everything.
    #[must_use]
    pub fn label(&self) -> Option<String> {
        match self {
            Self::Everything | Self::Baseline(_) => None,
            Self::Invariant(id) => Some(format!("rule={id}")),
            Self::Mutation(Mutation { kind, index }) => Some(format!("mutation={kind} {index}")),
            Self::Replay(replay) => Some(format!("replay={}", replay.id)),
        }
    }

    /// True for a purpose in which no fault is injected, whatever the spec says about its world.
    fn is_without_faults(&self) -> bool {
        match self {
            Self::Everything | Self::Invariant(_) => false,
            Self::Mutation(_) | Self::Replay(_) | Self::Baseline(_) => true,
        }
    }

    /// The mutation that it is.
    #[must_use]
    pub fn mutation(&self) -> Option<Mutation> {
        if let Self::Mutation(mutation) = self { Some(*mutation) } else { None }
    }

    /// The session that it replays.
    #[must_use]
    pub fn replay(&self) -> Option<&Replay> {
        if let Self::Replay(replay) = self { Some(replay) } else { None }
    }
}

impl Scenario {
    /// The faults that are injected in it.
    #[must_use]
    pub fn faults(&self, spec: &Sections) -> Chaos {
        if self.purpose.is_without_faults() { Chaos::none() } else { spec.chaos_of(&self.chaos) }
    }

    /// The request that its agent gets: the task's own, or a probe of the rule that it is run for.
    #[must_use]
    pub fn prompt_of<'a>(&self, spec: &'a Sections) -> Option<&'a Filled> {
        let probes = self.rule_of(spec).and_then(|invariant| invariant.rule.probes.as_ref());
        match (probes, self.prompt) {
            (Some(probes), Some(index)) => probes.get(usize::try_from(index).ok()?),
            _ => spec.task.prompt_at(self.prompt),
        }
    }

    /// The id of the rule that it is run for; `None` when it is run for all that the spec says.
    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        match &self.purpose {
            Purpose::Invariant(id) => Some(id),
            Purpose::Everything | Purpose::Mutation(_) | Purpose::Replay(_) | Purpose::Baseline(_) => None,
        }
    }

    /// The rule of the contract that it is run for, or that its prompt is of.
    fn rule_of<'a>(&self, spec: &'a Sections) -> Option<&'a ContractInvariant> {
        let (Purpose::Invariant(id) | Purpose::Baseline(Some(id))) = &self.purpose else { return None };
        spec.contract.as_ref()?.invariants.iter().find(|invariant| invariant.rule.id.as_str() == id)
    }
}
