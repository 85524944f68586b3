//! A JSON Schema that can be used, and that takes time in proportion to what it validates.

use std::collections::HashMap;

use jsonschema::{PatternOptions, Validator};
use serde::Serialize;
use serde_json::Value as Json;

use crate::spec::code::Code;
use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::Shape;
use crate::spec::yaml::Node;
use crate::untrusted;

/// Number of characters of a problem that a message shows.
const SHOWN: usize = 300;
/// Maximum size of a compiled expression of a schema.
const MOST_PATTERN: usize = 1 << 20;
/// Maximum number of values of a schema once each `$ref` is replaced by its target.
const MOST_VALUES: u64 = 20_000;
/// Maximum length of a chain of references.
const MOST_STEPS: usize = 50;

/// A JSON Schema that is known to compile. No `$ref` leads out of it or back to itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct JsonSchema(Json);

impl JsonSchema {
    /// The schema, when it can be used.
    pub fn new(schema: Json) -> Result<Self, SchemaError> {
        // Names that lead back to themselves, or that double with each step, make an agent's output take years to validate.
        let values = References { root: &schema, sizes: HashMap::new(), open: Vec::new() }
            .expanded_size(&schema)
            .map_err(SchemaError)?;
        if values > MOST_VALUES {
            let problem = format!("it has more than {MOST_VALUES} values once each `$ref` is replaced");
            return Err(SchemaError(problem));
        }
        let schema = Self(schema);
        schema.validator().map(|_| schema)
    }

    /// The schema of any object.
    #[must_use]
    pub fn any_object() -> Self {
        Self(serde_json::json!({"type": "object"}))
    }

    /// The schema as it is written.
    #[must_use]
    pub fn as_json(&self) -> &Json {
        &self.0
    }

    /// Compiles the schema.
    pub fn validator(&self) -> Result<SchemaValidator, SchemaError> {
        let options = jsonschema::options()
            .offline()
            .should_validate_formats(true)
            .should_ignore_unknown_formats(false)
            .with_pattern_options(PatternOptions::regex().size_limit(MOST_PATTERN));
        let validator = options.build(&self.0).map_err(|error| {
            let place = error.instance_path().to_string();
            let problem = untrusted::line(&error.to_string(), SHOWN);
            let located = || format!("at `{}`: {problem}", untrusted::line(&place, SHOWN));
            SchemaError(if place.is_empty() { problem.clone() } else { located() })
        })?;
        Ok(SchemaValidator(validator))
    }
}

/// A JSON Schema that is ready to use.
#[derive(Debug, Clone)]
pub struct SchemaValidator(Validator);

impl SchemaValidator {
    /// The first thing that is wrong with a value, and where: ``at `/amount`: …``.
    #[must_use]
    pub fn problem_of(&self, value: &Json) -> Option<String> {
        let error = self.0.validate(value).err()?;
        let path = error.instance_path().to_string();
        let place =
            if path.is_empty() { "at the top".to_owned() } else { format!("at `{}`", untrusted::line(&path, SHOWN)) };
        Some(format!("{place}: {}", untrusted::line(&error.to_string(), SHOWN)))
    }
}

/// The reason why a JSON Schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(String);

/// The references of a schema, with their sizes.
struct References<'a> {
    root: &'a Json,
    /// Number of values behind the references that were followed.
    sizes: HashMap<&'a str, u64>,
    /// The names that are being followed.
    open: Vec<&'a str>,
}

impl<'a> References<'a> {
    /// Counts the values with each `$ref` replaced; the error says which reference cannot be followed.
    fn expanded_size(&mut self, schema: &'a Json) -> Result<u64, String> {
        let mut size = 1_u64;
        match schema {
            Json::Array(items) => {
                for item in items {
                    size = size.saturating_add(self.expanded_size(item)?);
                }
            }
            Json::Object(entries) => {
                for (key, value) in entries {
                    let inside = match (key.as_str(), value.as_str()) {
                        ("$ref", Some(name)) => self.size_behind(name)?,
                        ("$dynamicRef" | "$recursiveRef", Some(_)) => return Err(format!("`{key}` is not supported")),
                        ("$id", Some(_)) if !std::ptr::eq(schema, self.root) => {
                            return Err("`$id` is supported at the top only".to_owned());
                        }
                        _ => self.expanded_size(value)?,
                    };
                    size = size.saturating_add(inside);
                }
            }
            _ => {}
        }
        Ok(size)
    }

    fn size_behind(&mut self, name: &'a str) -> Result<u64, String> {
        if let Some(size) = self.sizes.get(name) {
            return Ok(*size);
        }
        let shown = untrusted::line(name, SHOWN);
        if self.open.contains(&name) {
            return Err(format!("`$ref: {shown}` leads back to itself"));
        }
        if self.open.len() >= MOST_STEPS {
            return Err(format!("more than {MOST_STEPS} names lead to each other"));
        }
        let root = self.root;
        let target = name.strip_prefix('#').filter(|pointer| pointer.is_empty() || pointer.starts_with('/'));
        let target = target.ok_or_else(|| format!("`$ref: {shown}` must begin with `#/`, and stay in the schema"))?;
        let target = root.pointer(target).ok_or_else(|| format!("`$ref: {shown}` leads nowhere"))?;
        self.open.push(name);
        let size = self.expanded_size(target)?;
        self.open.pop();
        self.sizes.insert(name, size);
        Ok(size)
    }
}

/// Counts the regular expressions of a schema.
fn count_patterns(schema: &Json) -> usize {
    match schema {
        Json::Array(items) => items.iter().map(count_patterns).sum(),
        Json::Object(entries) => entries
            .iter()
            .map(|(key, value)| {
                let own = match (key.as_str(), value) {
                    ("pattern", Json::String(_)) => 1,
                    ("patternProperties", Json::Object(patterns)) => patterns.len(),
                    _ => 0,
                };
                own + count_patterns(value)
            })
            .sum(),
        _ => 0,
    }
}

impl Readable for JsonSchema {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let schema = Json::read(node, reader)?;
        if !(0..count_patterns(&schema)).all(|_| reader.one_more_pattern()) {
            let message = "there are more regular expressions than one spec may have";
            reader.report(Code::InvalidRegex, node.span, message, None);
            return None;
        }
        Self::new(schema)
            .map_err(|problem| format!("this is not a JSON Schema that can be used: {problem}"))
            .map_or_else(|message| reader.invalid(node, message, None), Some)
    }

    fn shape() -> Shape {
        Json::shape()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{JsonSchema, count_patterns};

    #[test]
    fn names_may_be_used_often_but_not_endlessly() {
        let usable = json!({"$defs": {"a/b": {"type": "string"}}, "properties": {"x": {"$ref": "#/$defs/a~1b"}, "y": {"$ref": "#/$defs/a~1b"}}});
        assert!(JsonSchema::new(usable).is_ok());
        let refused = [
            json!({"items": {"$ref": "#"}}),
            json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
            json!({"$dynamicRef": "#x"}),
            json!({"$defs": {"a": {"$id": "https://example.com/a"}}}),
            json!({"$defs": {"a": {"$anchor": "a"}}, "$ref": "#a"}),
            long_chain(),
        ];
        let problems = refused.map(|schema| JsonSchema::new(schema).expect_err("refused").to_string());
        insta::assert_snapshot!(problems.join("\n"));
    }

    fn long_chain() -> serde_json::Value {
        let definitions: serde_json::Map<_, _> =
            (0..20_000).map(|step| (step.to_string(), json!({"$ref": format!("#/$defs/{}", step + 1)}))).collect();
        json!({"$defs": definitions})
    }

    #[test]
    fn names_that_double_with_each_step_are_refused() {
        let schema = |steps: usize| {
            let step = |step: usize| json!({"allOf": [{"$ref": format!("#/$defs/{}", step + 1)}, {"$ref": format!("#/$defs/{}", step + 1)}]});
            let mut definitions: serde_json::Map<_, _> =
                (0..steps).map(|number| (number.to_string(), step(number))).collect();
            definitions.insert(steps.to_string(), json!({"type": "integer"}));
            json!({"$ref": "#/$defs/0", "$defs": definitions})
        };
        assert!(JsonSchema::new(schema(5)).is_ok());
        let problem = JsonSchema::new(schema(40)).expect_err("refused");
        insta::assert_snapshot!(problem, @"it has more than 20000 values once each `$ref` is replaced");
    }

    #[test]
    fn patterns_are_counted_wherever_they_are() {
        let schema = json!({"properties": {"pattern": {"pattern": "a"}}, "anyOf": [{"patternProperties": {"b": {}, "c": {"pattern": "d"}}}]});
        assert_eq!(count_patterns(&schema), 4);
    }
}
