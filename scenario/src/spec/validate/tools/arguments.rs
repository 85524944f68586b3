//! The arguments of a tool, as far as its `input_schema` says them.

use serde_json::{Map, Value as Json};

use crate::spec::types::{JsonSchema, SchemaValidator};

/// Keys of a schema that hold for each argument by itself, and not for all of them together.
const SINGLE: [&str; 8] =
    ["$schema", "$id", "$defs", "definitions", "type", "properties", "patternProperties", "additionalProperties"];
/// Keys by which a schema may have arguments that `properties` does not list.
const COMPOSED: [&str; 7] = ["$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas"];

/// The arguments of a tool.
pub(super) struct Arguments<'a> {
    schema: &'a Json,
    properties: Option<&'a Map<String, Json>>,
    /// True when there may be arguments that are not listed here.
    is_composed: bool,
}

impl<'a> Arguments<'a> {
    /// The arguments that a schema describes.
    pub(super) fn of(schema: &'a JsonSchema) -> Self {
        let schema = schema.as_json();
        Self {
            schema,
            properties: schema.get("properties").and_then(Json::as_object),
            is_composed: COMPOSED.iter().any(|key| schema.get(key).is_some()),
        }
    }

    /// The names that are listed.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.properties.into_iter().flat_map(Map::keys).map(String::as_str)
    }

    /// Returns true if there is no argument of this name.
    pub(super) fn lacks(&self, name: &str) -> bool {
        !self.is_composed && self.properties.is_none_or(|properties| !properties.contains_key(name))
    }

    /// Returns true if a call may leave this argument out.
    pub(super) fn is_optional(&self, name: &str) -> bool {
        let required = self.schema.get("required").and_then(Json::as_array);
        !self.is_composed && required.is_none_or(|names| names.iter().all(|one| one != name))
    }

    /// The rules for single arguments, to try some of them without the others.
    pub(super) fn validator(&self) -> Option<SchemaValidator> {
        if self.is_composed {
            return None;
        }
        let single = self.schema.as_object()?.iter().filter(|(key, _)| SINGLE.contains(&key.as_str()));
        let schema = single.map(|(key, value)| (key.clone(), value.clone())).collect();
        JsonSchema::new(Json::Object(schema)).ok()?.validator().ok()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Arguments, JsonSchema};

    #[test]
    fn arguments_of_a_composed_schema_are_not_known() {
        let schema = |json| JsonSchema::new(json).expect("a schema");
        let plain = schema(json!({"type": "object", "properties": {"id": {}, "note": {}}, "required": ["id"]}));
        let arguments = Arguments::of(&plain);
        assert!(arguments.lacks("ids") && !arguments.lacks("id"));
        assert!(arguments.is_optional("note") && !arguments.is_optional("id"));
        let composed = schema(json!({"type": "object", "allOf": [{"properties": {"ids": {}}}]}));
        let arguments = Arguments::of(&composed);
        assert!(!arguments.lacks("ids") && !arguments.is_optional("ids") && arguments.validator().is_none());
    }

    #[test]
    fn single_arguments_are_tried_without_the_others() {
        let schema = json!({"type": "object", "properties": {"id": {"type": "string"}, "note": {}}, "required": ["note"], "additionalProperties": false});
        let schema = JsonSchema::new(schema).expect("a schema");
        let validator = Arguments::of(&schema).validator().expect("a validator");
        assert_eq!(validator.problem_of(&json!({"id": "7"})), None);
        assert!(validator.problem_of(&json!({"id": 7})).is_some());
        assert!(validator.problem_of(&json!({"ids": "7"})).is_some());
    }
}
