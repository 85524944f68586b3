//! The uploaded agent that a scenario names.

use std::collections::BTreeMap;
use std::fmt;

use super::scenario::Scenario;
use super::values::Values;
use crate::spec::Spec;
use crate::spec::sections::{AgentKind, Snapshot};
use crate::spec::template::{Reference, Text};

/// The uploaded agent that a scenario names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SnapshotAgent {
    /// The name of the agent, or the id of one snapshot.
    pub snapshot: String,
    /// Its version; the newest without it.
    pub version: Option<i64>,
    /// Its tag, instead of a version.
    pub tag: Option<String>,
}

impl SnapshotAgent {
    /// The agent of a scenario, when it is an uploaded one: the one that its run was submitted with, or else the one that the
    /// spec names.
    #[must_use]
    pub fn of(spec: &Spec, scenario: &Scenario, secrets: &BTreeMap<String, String>) -> Option<Self> {
        let agent = uploaded(spec)?;
        if let Some(id) = &scenario.snapshot {
            return Some(Self { snapshot: id.clone(), version: None, tag: None });
        }
        let values = Values::with_secrets(spec, scenario, secrets);
        Some(Self {
            snapshot: agent.snapshot.render(&values),
            version: agent.version.map(|version| version.get()),
            tag: agent.tag.as_ref().map(|tag| tag.render(&values)),
        })
    }

    /// The agent that the spec names, as far as it can be told without the values of secrets.
    #[must_use]
    pub fn named(spec: &Spec, scenario: &Scenario) -> Option<Self> {
        let agent = uploaded(spec)?;
        let secret = |text: &Text| text.references().any(|name| matches!(name, Reference::Secret(_)));
        if secret(&agent.snapshot) || agent.tag.as_deref().is_some_and(secret) {
            return None;
        }
        Self::of(spec, &Scenario { snapshot: None, ..scenario.clone() }, &BTreeMap::new())
    }
}

fn uploaded(spec: &Spec) -> Option<&Snapshot> {
    match &spec.agent.as_ref()?.kind {
        AgentKind::Snapshot(agent) => Some(agent),
        _ => None,
    }
}

impl fmt::Display for SnapshotAgent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.snapshot;
        match (&self.tag, self.version) {
            (Some(tag), _) => write!(formatter, "the agent `{name}` with the tag `{tag}`"),
            (None, Some(version)) => write!(formatter, "version {version} of the agent `{name}`"),
            (None, None) => write!(formatter, "the agent `{name}`"),
        }
    }
}
