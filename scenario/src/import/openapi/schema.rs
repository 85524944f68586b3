//! Schemas of OpenAPI as JSON Schemas that stand alone.

use serde_json::{Map, Value as Json, json};

use super::Notes;
use super::document::Document;

/// Maximum depth of a schema.
const DEEPEST: usize = 16;
/// Maximum number of values in the schema of one argument or body.
const MOST_VALUES: usize = 4000;
/// Keys that say nothing about a value, or say it in a way that JSON Schema does not know.
const UNKNOWN: [&str; 8] =
    ["discriminator", "xml", "externalDocs", "example", "nullable", "readOnly", "writeOnly", "$schema"];
/// Formats that JSON Schema knows. The others, such as `int64`, say how a value is kept.
const FORMATS: [&str; 16] = [
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "idn-email",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "iri",
    "json-pointer",
    "regex",
    "time",
    "uri",
    "uri-reference",
    "uuid",
];
/// Keys whose maps have schemas under names of their own.
const MAPS: [&str; 2] = ["properties", "patternProperties"];
/// Keys whose values are data, and no schemas.
const DATA: [&str; 4] = ["enum", "const", "default", "examples"];

/// Replaces references by what they name.
pub(super) struct Inlined<'a> {
    document: &'a Document,
    place: &'a str,
    notes: &'a mut Notes,
    /// The references that are being replaced.
    open: Vec<String>,
    values: usize,
}

impl<'a> Inlined<'a> {
    pub(super) fn new(document: &'a Document, place: &'a str, notes: &'a mut Notes) -> Self {
        Self { document, place, notes, open: Vec::new(), values: 0 }
    }

    /// The schema, without references and with the keys that JSON Schema knows.
    pub(super) fn schema(&mut self, schema: &Json) -> Json {
        self.nested(schema, 0)
    }

    fn nested(&mut self, schema: &Json, depth: usize) -> Json {
        self.values += 1;
        if depth > DEEPEST || self.values > MOST_VALUES {
            return self.cut("its schema is too large; a part of it takes any value");
        }
        match schema {
            Json::Object(fields) => match fields.get("$ref").and_then(Json::as_str) {
                Some(name) => self.behind(name, fields, depth),
                None => self.fields(fields, depth),
            },
            other => other.clone(),
        }
    }

    /// Returns the target of a reference, merged with the keys beside the reference.
    fn behind(&mut self, name: &str, beside: &Map<String, Json>, depth: usize) -> Json {
        if self.open.iter().any(|open| open == name) {
            return self.cut(&format!("`{name}` contains itself; inside of itself it takes any value"));
        }
        let target = match self.document.target(name) {
            Ok(target) => target.clone(),
            Err(problem) => return self.cut(&format!("{problem}; it takes any value")),
        };
        self.open.push(name.to_owned());
        let mut schema = self.nested(&target, depth + 1);
        self.open.pop();
        if let (Some(fields), Some(description)) = (schema.as_object_mut(), beside.get("description")) {
            fields.insert("description".to_owned(), description.clone());
        }
        schema
    }

    fn cut(&mut self, why: &str) -> Json {
        self.notes.add(self.place, why);
        json!({})
    }

    fn fields(&mut self, fields: &Map<String, Json>, depth: usize) -> Json {
        let mut schema = Map::new();
        let hidden = hidden_fields(fields);
        for (key, value) in fields.iter().filter(|(key, _)| !UNKNOWN.contains(&key.as_str()) && !key.starts_with("x-"))
        {
            let value = match (key.as_str(), value) {
                ("format", Json::String(format)) if !FORMATS.contains(&format.as_str()) => continue,
                ("exclusiveMinimum" | "exclusiveMaximum", Json::Bool(_)) => continue,
                ("required", Json::Array(names)) => {
                    names.iter().filter(|name| !hidden.contains(name)).cloned().collect()
                }
                (key, value) if DATA.contains(&key) => value.clone(),
                (key, Json::Object(named)) if MAPS.contains(&key) => {
                    let is_shown = |name: &str| !hidden.iter().any(|one| *one == name);
                    let shown = named.iter().filter(|(name, _)| is_shown(name));
                    Json::Object(shown.map(|(name, one)| (name.clone(), self.nested(one, depth + 1))).collect())
                }
                (_, Json::Array(items)) => items.iter().map(|one| self.nested(one, depth + 1)).collect(),
                (_, value @ Json::Object(_)) => self.nested(value, depth + 1),
                (_, value) => value.clone(),
            };
            schema.insert(key.clone(), value);
        }
        set_bounds(fields, &mut schema);
        allow_null(fields, &mut schema);
        Json::Object(schema)
    }
}

/// Lists the fields that the service sets itself, so that clients do not send them.
fn hidden_fields(fields: &Map<String, Json>) -> Vec<Json> {
    let properties = fields.get("properties").and_then(Json::as_object);
    let is_hidden = |schema: &Json| schema.get("readOnly") == Some(&Json::Bool(true));
    properties.into_iter().flatten().filter(|(_, schema)| is_hidden(schema)).map(|(name, _)| json!(name)).collect()
}

/// OpenAPI 3.0 says with `true` that a bound itself is excluded.
fn set_bounds(fields: &Map<String, Json>, schema: &mut Map<String, Json>) {
    for (flag, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if fields.get(flag) == Some(&Json::Bool(true))
            && let Some(value) = schema.shift_remove(bound)
        {
            schema.insert(flag.to_owned(), value);
        }
    }
}

/// OpenAPI 3.0 says `nullable` where JSON Schema has one more type.
fn allow_null(fields: &Map<String, Json>, schema: &mut Map<String, Json>) {
    if fields.get("nullable") != Some(&Json::Bool(true)) {
        return;
    }
    if let Some(kind) = schema.get_mut("type").filter(|kind| kind.is_string()) {
        *kind = json!([kind.clone(), "null"]);
    }
    if let Some(values) = schema.get_mut("enum").and_then(Json::as_array_mut)
        && !values.contains(&Json::Null)
    {
        values.push(Json::Null);
    }
}

/// A schema without regular expressions.
pub(super) fn without_patterns(schema: &Json) -> Json {
    match schema {
        Json::Object(fields) => {
            let is_pattern =
                |key: &str, value: &Json| key == "pattern" && value.is_string() || key == "patternProperties";
            let kept = fields.iter().filter(|(key, value)| !is_pattern(key, value));
            Json::Object(kept.map(|(key, value)| (key.clone(), without_patterns(value))).collect())
        }
        Json::Array(items) => items.iter().map(without_patterns).collect(),
        other => other.clone(),
    }
}
