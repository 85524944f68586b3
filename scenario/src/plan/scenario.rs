//! One scenario of a plan.

use std::borrow::Cow;
use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use super::breakage::Breakage;
use super::cell_key::CellKey;
use super::purpose::Purpose;
use crate::seed::Seed;

use crate::hex;

/// A spec's scenarios.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The spec's id.
    pub spec_id: String,
    /// The seed from which every scenario's seed derives.
    pub seed: Seed,
    /// The scenarios: cell by cell, replica by replica.
    pub scenarios: Vec<Scenario>,
}

/// One run of the agent in one sandbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Its name: stable, and fit for a URL.
    pub id: ScenarioId,
    /// The cell that it repeats.
    pub cell: CellId,
    /// Index of the repetition of the cell, from 0.
    pub replica: u32,
    /// The seed of all random decisions.
    pub seed: Seed,
    /// The cell's parameters.
    pub parameters: IndexMap<String, Json>,
    /// The name of the cell's chaos cell; empty when nothing is injected.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub chaos: String,
    /// The purpose of the scenario.
    #[serde(default, skip_serializing_if = "Purpose::is_everything")]
    pub purpose: Purpose,
    /// Index of the agent's prompt when there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<u32>,
    /// Index of the variant of each turn of a scripted model: first those of `turns`, then those of `match`. It is
    /// empty when no turn has variants, and a turn without an entry has its first one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<usize>,
    /// The id of the uploaded agent that acts, as it was found when the run was submitted: a newer version changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// What is broken after the agent has ended, to see if anybody notices. No plan has it: `touchstone certify` adds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breakage: Option<Box<Breakage>>,
}

impl Scenario {
    /// The key of its cell.
    #[must_use]
    pub fn key(&self) -> CellKey {
        CellKey {
            parameters: self.parameters.clone(),
            chaos: self.chaos.clone(),
            purpose: self.purpose.clone(),
            prompt: self.prompt,
        }
    }
}

macro_rules! id {
    ($(#[doc = $doc:literal])+ $name:ident) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The id as text: letters, digits, `-` and `_` only.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(&self.0)
            }
        }
    };
}

id! {
    /// The name of a scenario within its experiment.
    ScenarioId
}

id! {
    /// The name of a cell: the scenarios that differ only in their replica.
    CellId
}

impl CellId {
    /// The name of the cell with this key: readable, and unlike that of any other.
    #[must_use]
    pub fn of(key: &CellKey) -> Self {
        // Neither parameters nor rules have two dashes in a row, so whatever the chaos cell is called, no two keys of a plan share
        // a name.
        let chaos = Some(key.chaos.as_str()).filter(|chaos| !chaos.is_empty()).map(Cow::from);
        let parameters = Self::of_parameters(key).0;
        let segments = [chaos, key.purpose.segment(), Some(parameters.into())];
        let prompt = key.prompt.map(|index| format!("-p{index}")).unwrap_or_default();
        Self(format!("{}{prompt}", segments.into_iter().flatten().collect::<Vec<_>>().join("--")))
    }

    /// The name of a cell in which nothing is injected.
    fn of_parameters(key: &CellKey) -> Self {
        if key.parameters.is_empty() {
            return Self("default".to_owned());
        }
        let sorted = key.sorted_parameters();
        let canonical: Json = sorted.iter().map(|(name, value)| ((*name).clone(), (*value).clone())).collect();
        let words: Vec<_> = sorted.iter().map(|(_, value)| word(value)).collect();
        let digest = Sha256::digest(canonical.to_string());
        let hash = hex(&digest[..6]);
        let readable = slug(&words.join("-"));
        Self(if readable.is_empty() { hash } else { format!("{readable}-{hash}") })
    }
}

impl ScenarioId {
    /// The name of one repetition of a cell.
    #[must_use]
    pub fn of(cell: &CellId, replica: u32) -> Self {
        Self(format!("{cell}-r{replica}"))
    }
}

/// A value as text: strings without quotes.
pub(super) fn word(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// The first characters of a text that may stand in a URL.
fn slug(text: &str) -> String {
    const MOST: usize = 32;
    let mut slug = String::new();
    for character in text.chars().take(200) {
        if character.is_ascii_alphanumeric() {
            slug.push(character.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= MOST {
            break;
        }
    }
    slug.trim_matches('-').to_owned()
}

#[cfg(test)]
impl Scenario {
    /// The only scenario of a spec, with parameters, for tests.
    pub(crate) fn only<'a>(_: &crate::spec::Spec, parameters: impl IntoIterator<Item = (&'a str, Json)>) -> Self {
        let parameters: IndexMap<_, _> = parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let key = CellKey::from(parameters);
        let cell = CellId::of(&key);
        let CellKey { parameters, chaos, purpose, prompt } = key;
        Self {
            id: ScenarioId::of(&cell, 0),
            cell,
            replica: 0,
            seed: Seed::new(7),
            parameters,
            chaos,
            purpose,
            prompt,
            variants: Vec::new(),
            snapshot: None,
            breakage: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    use super::{CellId, CellKey, ScenarioId};

    fn cell(parameters: Json) -> String {
        let parameters: IndexMap<String, Json> = serde_json::from_value(parameters).expect("a map");
        ScenarioId::of(&CellId::of(&CellKey::from(parameters)), 2).to_string()
    }

    #[test]
    fn ids_read_well_and_differ() {
        assert_eq!(cell(json!({})), "default-r2");
        let faulted = CellKey { chaos: "search-tool-down".to_owned(), ..CellKey::default() };
        assert_eq!(ScenarioId::of(&CellId::of(&faulted), 0).to_string(), "search-tool-down--default-r0");
        insta::assert_snapshot!(cell(json!({"language": "Python", "strict": true})), @"python-true-6e5bdc80b341-r2");
        assert_ne!(cell(json!({"a": "x-y", "b": "z"})), cell(json!({"a": "x", "b": "y-z"})));
        assert_ne!(cell(json!({"a": 1})), cell(json!({"a": "1"})));
        assert_eq!(cell(json!({"b": 1, "a": 2})), cell(json!({"a": 2, "b": 1})), "the order of keys does not matter");
    }

    proptest! {
        #[test]
        fn ids_are_fit_for_a_url(name in "\\PC{1,8}", value in "\\PC{0,50}") {
            let id = cell(json!({name: value}));
            prop_assert!(id.len() < 64 && id.chars().all(|character| character.is_ascii_alphanumeric() || character == '-'), "{id}");
        }
    }
}
