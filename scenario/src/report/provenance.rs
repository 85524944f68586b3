//! The versions of everything that made a report: the spec, the agent, the models, and how results are scored.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use super::Header;
use crate::hex;
use crate::result::ScenarioResult;
use crate::spec::Spec;

/// The versions of everything that made a report. Reports of earlier versions do not say them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Provenance {
    /// The SHA-256 of what the spec says.
    pub spec_digest: Option<String>,
    /// Who acted.
    pub agent: Option<AgentIdentity>,
    /// The models that were asked.
    pub models: BTreeSet<String>,
    /// The version of the rules by which results were judged and scored; of several, the oldest.
    pub scoring_version: Option<u32>,
}

/// An agent as it was defined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentIdentity {
    /// Its type, such as `cli`; one that acted instead of the spec's own by its word.
    pub kind: String,
    /// The SHA-256 of its definition, with the uploaded agents that acted.
    pub digest: String,
}

impl Provenance {
    /// The versions of a report of these results.
    pub(super) fn of(header: &Header, spec: &Spec, results: &[ScenarioResult]) -> Self {
        let models = results.iter().map(|result| &result.usage.model).filter(|model| !model.is_empty());
        Self {
            spec_digest: Some(spec.digest.clone()).filter(|digest| !digest.is_empty()),
            agent: Some(AgentIdentity::of(header, spec, results)),
            models: models.cloned().collect(),
            scoring_version: results.iter().filter_map(|result| result.ran_in.as_ref()?.scoring_version).min(),
        }
    }
}

impl AgentIdentity {
    fn of(header: &Header, spec: &Spec, results: &[ScenarioResult]) -> Self {
        if let Some(word) = &header.agent {
            return Self { kind: word.clone(), digest: hex(Sha256::digest(word)) };
        }
        let definition = without_nothing(serde_json::to_value(&spec.agent).unwrap_or_default());
        let kind = definition["kind"]["type"].as_str().unwrap_or_default().to_owned();
        let uploaded: BTreeSet<_> = results.iter().filter_map(|result| result.scenario.snapshot.as_deref()).collect();
        let mut digest = Sha256::new_with_prefix(definition.to_string());
        uploaded.iter().for_each(|id| digest.update(id));
        Self { kind, digest: hex(digest.finalize()) }
    }
}

/// A definition without what it does not say, so that a setting that a later version adds changes no digest.
fn without_nothing(value: Json) -> Json {
    match value {
        Json::Object(fields) => {
            let said = fields.into_iter().filter(|(_, value)| !value.is_null() && *value != false);
            Json::Object(said.map(|(key, value)| (key, without_nothing(value))).collect())
        }
        other => other,
    }
}
