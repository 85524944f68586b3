//! The key of a cell: everything that its replicas have in common.

use std::hash::{Hash, Hasher};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::purpose::Purpose;

/// The key of a cell. Two scenarios are replicas of one cell exactly when their keys are equal; the order of parameters does not
/// matter.
///
/// Reports carry the key, so that a reader compares cells by what they are and never derives them from the parameters alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CellKey {
    /// The parameters.
    pub parameters: IndexMap<String, Json>,
    /// The name of the chaos cell; empty when nothing is injected. It is left out when empty, as in reports that were written
    /// before there was any chaos.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub chaos: String,
    /// The purpose of its scenarios.
    #[serde(default, skip_serializing_if = "Purpose::is_everything")]
    pub purpose: Purpose,
    /// Index of the agent's prompt when there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<u32>,
}

impl From<IndexMap<String, Json>> for CellKey {
    /// The key of the cell with these parameters, in which nothing is injected.
    fn from(parameters: IndexMap<String, Json>) -> Self {
        Self { parameters, ..Self::default() }
    }
}

impl Hash for CellKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Equal maps may have different orders, and must have one hash.
        self.sorted_parameters().hash(state);
        (&self.chaos, &self.purpose, self.prompt).hash(state);
    }
}

impl CellKey {
    /// The parameters by name.
    pub(super) fn sorted_parameters(&self) -> Vec<(&String, &Json)> {
        let mut sorted: Vec<_> = self.parameters.iter().collect();
        sorted.sort_by_key(|(name, _)| *name);
        sorted
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;

    use super::CellKey;
    use crate::plan::CellId;

    fn key(text: &str) -> CellKey {
        serde_json::from_str(text).expect("a key")
    }

    #[test]
    fn a_key_without_chaos_is_written_as_its_parameters_alone() {
        let plain = key(r#"{"parameters": {"b": 1, "a": "x"}}"#);
        assert_eq!(json!(plain).to_string(), r#"{"parameters":{"b":1,"a":"x"}}"#);
        assert_eq!(plain, CellKey::from(plain.parameters.clone()));
        let faulted = key(r#"{"parameters": {}, "chaos": "slow"}"#);
        assert_eq!(key(&json!(faulted).to_string()), faulted);
    }

    #[test]
    fn keys_and_ids_differ_with_the_chaos_and_not_with_the_order() {
        let texts = [
            r#"{"parameters": {"a": 1, "b": 2}}"#,
            r#"{"parameters": {"b": 2, "a": 1}, "chaos": ""}"#,
            r#"{"parameters": {"a": 1, "b": 2}, "chaos": "slow"}"#,
            r#"{"parameters": {"a": 1, "b": 2}, "chaos": "lossy"}"#,
            r#"{"parameters": {}, "chaos": "slow"}"#,
            r#"{"parameters": {"chaos": "slow"}}"#,
            r#"{"parameters": {}}"#,
        ];
        let keys: HashSet<_> = texts.into_iter().map(key).collect();
        let ids: HashSet<_> = keys.iter().map(CellId::of).collect();
        assert_eq!((keys.len(), ids.len()), (6, 6), "{ids:?}");
    }
}
