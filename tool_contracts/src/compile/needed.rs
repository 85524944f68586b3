//! The parts of a call's arguments and output that are kept because a precondition reads them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use crate::json_path::JsonPath;
use crate::read::precondition::PriorCall;
use crate::read::tool::{Source, Tool};

/// The members that are read; everything when a path does not begin with a name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Members {
    names: BTreeSet<String>,
    is_whole: bool,
}

/// The values that are kept of a tool's calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct NeededValues {
    pub(crate) arguments: Members,
    pub(crate) output: Members,
}

/// Returns the values that are kept of calls, for each tool that some precondition names.
pub(super) fn needed_values(tools: &BTreeMap<String, Tool>) -> BTreeMap<String, NeededValues> {
    let mut needed: BTreeMap<String, NeededValues> = BTreeMap::new();
    for prior in tools.values().flat_map(|tool| &tool.preconditions).filter_map(|one| one.prior.as_ref()) {
        needed.entry(prior.tool.name.clone()).or_default().add(prior);
    }
    needed
}

impl NeededValues {
    fn add(&mut self, prior: &PriorCall) {
        prior.with_output.iter().for_each(|invariant| self.output.add(&invariant.path));
        match &prior.resource {
            Some(resource) if resource.bind_from == Source::Output => self.output.add(&resource.path),
            Some(resource) => self.arguments.add(&resource.path),
            None => {}
        }
    }
}

impl Members {
    fn add(&mut self, path: &JsonPath) {
        match path.first_name() {
            Some(name) => drop(self.names.insert(name.to_owned())),
            None => self.is_whole = true,
        }
    }

    /// The part of a value that is read.
    pub(crate) fn of(&self, value: &Json) -> Json {
        match value {
            Json::Object(map) if !self.is_whole => {
                let kept = map.iter().filter(|(key, _)| self.names.contains(*key));
                Json::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect())
            }
            _ if self.is_whole => value.clone(),
            _ => Json::Null,
        }
    }
}
