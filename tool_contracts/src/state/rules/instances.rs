//! The instances of a rule that a call belongs to.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::canonical::{canonical, hash_text};
use crate::json_path::JsonPath;

/// Up to this length an instance is known by its value, above it by its hash.
const MOST_BYTES: usize = 128;

/// The instances that a call belongs to: one for all calls without a path, else one for each value there. None when
/// the value is missing.
pub(crate) fn instances(path: Option<&JsonPath>, arguments: &Json) -> BTreeSet<String> {
    match path {
        None => BTreeSet::from([String::new()]),
        Some(path) => path.nodes(arguments).into_iter().map(instance).collect(),
    }
}

fn instance(value: &Json) -> String {
    let text = canonical(value);
    if text.len() > MOST_BYTES { hash_text(&text) } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::instances;
    use crate::json_path::JsonPath;

    #[test]
    fn equal_values_are_one_instance_and_missing_ones_are_none() {
        let path = JsonPath::parse("$.id[*]").expect("a path");
        assert_eq!(instances(Some(&path), &json!({"id": [1, 1.0, "1"]})).len(), 2);
        assert!(instances(Some(&path), &json!({})).is_empty());
        assert_eq!(instances(None, &json!({})).len(), 1);
        let long = instances(Some(&path), &json!({"id": ["x".repeat(1000)]}));
        assert!(long.iter().all(|instance| instance.len() < 100));
    }
}
