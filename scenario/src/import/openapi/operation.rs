//! An operation of the document as a tool.

use serde_json::{Map, Value as Json, json};

use super::Notes;
use super::arguments::Arguments;
use super::body::add_body;
use super::document::Document;
use super::schema::without_patterns;
use crate::spec::types::JsonSchema;

/// An operation.
pub(super) struct Operation<'a> {
    method: String,
    path: &'a str,
    item: &'a Json,
    fields: &'a Map<String, Json>,
}

impl<'a> Operation<'a> {
    pub(super) fn new(method: &str, path: &'a str, item: &'a Json, fields: &'a Map<String, Json>) -> Self {
        Self { method: method.to_uppercase(), path, item, fields }
    }

    /// Its name in the document.
    pub(super) fn id(&self) -> Option<&'a str> {
        self.fields.get("operationId").and_then(Json::as_str)
    }

    /// Its method and path, as notes name it.
    pub(super) fn place(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The body that it takes.
    pub(super) fn body(&self) -> Option<&'a Json> {
        self.fields.get("requestBody")
    }

    /// True when arguments of its own go into a body by themselves.
    pub(super) fn has_usual_body(&self) -> bool {
        matches!(self.method.as_str(), "POST" | "PUT" | "PATCH")
    }

    /// The tool; `None` when it cannot be one, which is noted.
    pub(super) fn tool(
        &self,
        name: &str,
        service: &str,
        prefix: &str,
        document: &Document,
        notes: &mut Notes,
    ) -> Option<Json> {
        let place = self.place();
        let arguments = self.arguments(document, notes);
        let made = arguments.and_then(|arguments| Ok((self.schema(&arguments, notes)?, arguments)));
        let (schema, arguments) = match made {
            Ok(made) => made,
            Err(problem) => {
                notes.add(&place, format!("left out: {problem}"));
                return None;
            }
        };
        let mut tool = Map::from_iter([("name".to_owned(), json!(name))]);
        tool.extend(self.description());
        tool.insert("input_schema".to_owned(), schema);
        if let Some(annotations) = self.annotations() {
            tool.insert("annotations".to_owned(), annotations);
        }
        let mut http = Map::from_iter([("service".to_owned(), json!(service))]);
        http.insert("method".to_owned(), json!(self.method));
        http.insert("path".to_owned(), json!(format!("{prefix}{}", arguments.path())));
        http.extend(arguments.lists());
        tool.insert("http".to_owned(), Json::Object(http));
        Some(Json::Object(tool))
    }

    /// Its arguments: those of the path, of the query and of the body.
    fn arguments(&self, document: &Document, notes: &mut Notes) -> Result<Arguments, String> {
        let mut arguments = Arguments::new(self.place(), self.path)?;
        for parameter in self.parameters(document)? {
            arguments.add_parameter(parameter, document, notes)?;
        }
        arguments.complete_path(notes);
        add_body(&mut arguments, self, document, notes)?;
        Ok(arguments)
    }

    /// Its parameters. Those of the path hold unless it has some of the same name and place.
    fn parameters(&self, document: &'a Document) -> Result<Vec<&'a Json>, String> {
        let list = |value: Option<&'a Json>| value.and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        let resolved = |list: &'a [Json]| list.iter().map(|one| document.resolved(one)).collect::<Result<Vec<_>, _>>();
        let own = resolved(list(self.fields.get("parameters")))?;
        let mut parameters = resolved(list(self.item.get("parameters")))?;
        let is_same =
            |one: &Json, other: &Json| one.get("name") == other.get("name") && one.get("in") == other.get("in");
        parameters.retain(|shared| !own.iter().any(|one| is_same(one, shared)));
        parameters.extend(own);
        Ok(parameters)
    }

    /// The schema of its arguments, which the language takes.
    fn schema(&self, arguments: &Arguments, notes: &mut Notes) -> Result<Json, String> {
        let schema = arguments.schema();
        if JsonSchema::new(schema.clone()).is_ok() {
            return Ok(schema);
        }
        let plain = without_patterns(&schema);
        JsonSchema::new(plain.clone()).map_err(|problem| format!("its schema cannot be used: {problem}"))?;
        notes.add(&self.place(), "`pattern` is left out: its regular expressions cannot be used here");
        Ok(plain)
    }

    /// Returns the description that the agent reads, and a title when the operation has both.
    fn description(&self) -> Vec<(String, Json)> {
        let text = |key: &str| {
            let text = self.fields.get(key).or_else(|| self.item.get(key)).and_then(Json::as_str).unwrap_or_default();
            Some(text.trim()).filter(|text| !text.is_empty())
        };
        match (text("summary"), text("description")) {
            (Some(title), Some(long)) => {
                vec![("title".to_owned(), json!(title)), ("description".to_owned(), json!(long))]
            }
            (Some(short), None) | (None, Some(short)) => vec![("description".to_owned(), json!(short))],
            (None, None) => vec![("description".to_owned(), json!(self.place()))],
        }
    }

    /// Returns the annotations that the method implies.
    fn annotations(&self) -> Option<Json> {
        match self.method.as_str() {
            "GET" => Some(json!({ "read_only": true })),
            "PUT" => Some(json!({ "idempotent": true })),
            "DELETE" => Some(json!({ "destructive": true, "idempotent": true })),
            _ => None,
        }
    }
}
