//! Invariants derived from the JSON Schema of a tool's arguments.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value as Json;

use crate::diagnostic::Place;
use crate::invariant::{Invariant, Operator};
use crate::json_path::JsonPath;
use crate::options::CompileOptions;
use crate::read::session::Session;
use crate::read::tool::Tool;
use crate::reader::Reader;
use crate::value::Num;

/// Maximum depth to which schemas are followed.
const DEPTH: usize = 8;
/// Maximum number of entries from one schema.
const MOST: usize = 1000;

/// Derives the invariants of every tool whose schema was given.
pub(super) fn derive_all(
    tools: &BTreeMap<String, Tool>,
    session: &Session,
    options: &CompileOptions,
    _reader: &mut Reader,
) -> BTreeMap<String, Vec<Invariant>> {
    let given = options.tool_schemas.iter().filter_map(|(name, schema)| Some((tools.get(name)?, schema)));
    given.map(|(tool, schema)| (tool.name.clone(), derive(tool, session, schema))).collect()
}

/// Derives invariants from one schema; none where the tool or the session switches them off.
pub(crate) fn derive(tool: &Tool, session: &Session, schema: &Json) -> Vec<Invariant> {
    if !session.schema_derived || !tool.schema_derived {
        return Vec::new();
    }
    let mut walk = Walk { root: schema, found: Vec::new() };
    walk.schema(schema, "$", 0);
    let is_manual = |path: &JsonPath| {
        let manual = tool.argument_invariants.iter().map(|invariant| &invariant.path);
        manual.chain(&tool.schema_derived_exclude).any(|other| other.leads_where(path))
    };
    walk.found.retain(|invariant| !is_manual(&invariant.path));
    walk.found
}

struct Walk<'a> {
    root: &'a Json,
    found: Vec<Invariant>,
}

impl Walk<'_> {
    fn schema(&mut self, schema: &Json, path: &str, depth: usize) {
        if depth > DEPTH || self.found.len() >= MOST {
            return;
        }
        if let Some(target) = schema.get("$ref").and_then(Json::as_str).and_then(|text| self.resolve(text)) {
            self.schema(&target, path, depth + 1);
        }
        self.keywords(schema, path);
        for part in schema.get("allOf").and_then(Json::as_array).into_iter().flatten() {
            self.schema(part, path, depth + 1);
        }
        for (name, inner) in schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
            self.schema(inner, &format!("{path}{}", member(name)), depth + 1);
        }
        if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
            self.schema(items, &format!("{path}[*]"), depth + 1);
        }
    }

    /// The schema that a local reference names.
    fn resolve(&self, reference: &str) -> Option<Json> {
        self.root.pointer(reference.strip_prefix('#')?).cloned()
    }

    fn keywords(&mut self, schema: &Json, path: &str) {
        let number = |key: &str| schema.get(key).and_then(Num::of);
        let length = |key: &str| schema.get(key).and_then(Json::as_u64);
        let operators = [
            number("minimum").map(Operator::AtLeast),
            number("maximum").map(Operator::AtMost),
            // A pattern that our engine cannot compile is left out: the schema is not the contract's author's.
            schema.get("pattern").and_then(Json::as_str).and_then(|text| Regex::new(text).ok()).map(Operator::Regex),
            schema.get("enum").and_then(Json::as_array).map(|values| Operator::OneOf(values.clone())),
            length("minLength").map(Operator::LengthAtLeast),
            length("maxLength").map(Operator::LengthAtMost),
            schema.get("const").map(|value| Operator::Equals(value.clone())),
        ];
        let operators: Vec<_> = operators.into_iter().flatten().collect();
        let Some(path) = JsonPath::parse(path).ok().filter(|_| !operators.is_empty()) else { return };
        self.found.push(Invariant {
            rule: format!("schema/{path}"),
            path,
            operators,
            reference: None,
            is_optional: true,
            place: Place::default(),
        });
    }
}

/// A member of a path, quoted.
fn member(name: &str) -> String {
    let is_plain = name.starts_with(|sign: char| sign.is_ascii_alphabetic() || sign == '_')
        && name.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_');
    if is_plain { format!(".{name}") } else { format!("['{}']", name.replace('\\', "\\\\").replace('\'', "\\'")) }
}
