//! The arguments of a tool, and the places of a request that they go into.

use serde_json::{Map, Value as Json, json};

use super::Notes;
use super::document::Document;
use super::names::fit;
use super::schema::Inlined;
use crate::spec::types::ArgumentName;

/// The arguments of a tool.
pub(super) struct Arguments {
    place: String,
    /// The path, with the names of arguments in braces.
    path: String,
    /// The names of the path in the document, and those of their arguments.
    path_names: Vec<(String, String)>,
    properties: Map<String, Json>,
    required: Vec<String>,
    query: Vec<String>,
    body: Vec<String>,
    /// True when a call may have other arguments, which go into the body.
    is_open: bool,
}

impl Arguments {
    /// Creates the arguments of a path, none of which has a schema yet.
    pub(super) fn new(place: String, path: &str) -> Result<Self, String> {
        if !path.starts_with('/') || path.contains(['?', '#']) || path.contains(char::is_whitespace) {
            return Err("its path has characters that a path of a tool cannot have".to_owned());
        }
        let mut written = String::new();
        let mut path_names: Vec<(String, String)> = Vec::new();
        let mut rest = path;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, behind) = after.split_once('}').ok_or("a brace of its path is not closed")?;
            let argument = fit(name);
            let is_new = path_names.iter().all(|(_, one)| *one != argument);
            if argument.is_empty() || before.contains('}') || !is_new {
                return Err("the names in its path are not unique".to_owned());
            }
            written.push_str(&format!("{before}{{{argument}}}"));
            path_names.push((name.to_owned(), argument));
            rest = behind;
        }
        if rest.contains('}') {
            return Err("a brace of its path is not closed".to_owned());
        }
        written.push_str(rest);
        let (properties, required, query, body) = Default::default();
        Ok(Self { place, path: written, path_names, properties, required, query, body, is_open: false })
    }

    /// Adds a parameter of the path or query; others are noted.
    pub(super) fn add_parameter(
        &mut self,
        parameter: &Json,
        document: &Document,
        notes: &mut Notes,
    ) -> Result<(), String> {
        let text = |key: &str| parameter.get(key).and_then(Json::as_str).unwrap_or_default();
        let (name, kind) = (text("name"), text("in"));
        let is_required = parameter.get("required") == Some(&Json::Bool(true));
        match kind {
            "path" => {
                let argument =
                    self.path_names.iter().find(|(one, _)| one == name).map(|(_, argument)| argument.clone());
                let Some(argument) = argument else {
                    notes.add(&self.place, format!("the parameter `{name}` is left out: the path does not have it"));
                    return Ok(());
                };
                let schema = self.schema_of(parameter, document, notes);
                self.add(&argument, schema, true);
            }
            "query" => self.add_query(name, parameter, is_required, document, notes)?,
            _ => {
                let need = if is_required { ", and the operation asks for it" } else { "" };
                let advice = if kind == "header" { "; `headers` of the tool can have a fixed one" } else { "" };
                notes.add(&self.place, format!("the {kind} parameter `{name}` is left out{need}{advice}"));
            }
        }
        Ok(())
    }

    fn add_query(
        &mut self,
        name: &str,
        parameter: &Json,
        is_required: bool,
        document: &Document,
        notes: &mut Notes,
    ) -> Result<(), String> {
        if ArgumentName::new(name).is_none() {
            return self.leave_out("query parameter", name, "no argument can have this name", is_required, notes);
        }
        self.move_path_argument(name);
        let schema = self.schema_of(parameter, document, notes);
        self.add(name, schema, is_required);
        self.query.push(name.to_owned());
        Ok(())
    }

    /// Adds a field of the body.
    pub(super) fn add_field(
        &mut self,
        name: &str,
        schema: Json,
        is_required: bool,
        notes: &mut Notes,
    ) -> Result<(), String> {
        if ArgumentName::new(name).is_none() {
            return self.leave_out("field", name, "no argument can have this name", is_required, notes);
        }
        if self.query.iter().any(|one| one == name) {
            return self.leave_out("field", name, "the query has one of this name", is_required, notes);
        }
        self.move_path_argument(name);
        self.add(name, schema, is_required);
        self.body.push(name.to_owned());
        Ok(())
    }

    /// Allows any other argument, which goes into the body; returns `false` when it would not.
    pub(super) fn open(&mut self) -> bool {
        self.is_open = self.query.is_empty() && self.body.is_empty();
        self.is_open
    }

    /// Names of the path that no parameter describes are texts.
    pub(super) fn complete_path(&mut self, notes: &mut Notes) {
        for (name, argument) in self.path_names.clone() {
            if !self.properties.contains_key(&argument) {
                notes.add(&self.place, format!("the parameter `{name}` of the path is not described; it is a text"));
                self.add(&argument, json!({ "type": "string" }), true);
            }
        }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The lists of arguments that go into the query and the body.
    pub(super) fn lists(&self) -> Vec<(String, Json)> {
        let lists = [("query", &self.query), ("body", &self.body)];
        lists
            .into_iter()
            .filter(|(_, list)| !list.is_empty())
            .map(|(key, list)| (key.to_owned(), json!(list)))
            .collect()
    }

    /// The schema of all arguments together.
    pub(super) fn schema(&self) -> Json {
        let mut schema = json!({ "type": "object", "properties": self.properties });
        if !self.required.is_empty() {
            schema["required"] = json!(self.required);
        }
        if !self.is_open {
            schema["additionalProperties"] = json!(false);
        }
        schema
    }

    /// Notes an argument that cannot be used; returns an error when the operation requires it.
    fn leave_out(&self, what: &str, name: &str, why: &str, is_required: bool, notes: &mut Notes) -> Result<(), String> {
        if is_required {
            return Err(format!("it needs the {what} `{name}`, and {why}"));
        }
        notes.add(&self.place, format!("the {what} `{name}` is left out: {why}"));
        Ok(())
    }

    fn add(&mut self, name: &str, schema: Json, is_required: bool) {
        self.properties.insert(name.to_owned(), schema);
        if is_required && !self.required.iter().any(|one| one == name) {
            self.required.push(name.to_owned());
        }
    }

    /// Renames an argument of the path when its name is needed: the service never sees it.
    fn move_path_argument(&mut self, name: &str) {
        let taken: Vec<String> = self.properties.keys().cloned().collect();
        let Some((_, argument)) = self.path_names.iter_mut().find(|(_, argument)| argument == name) else { return };
        let mut other = format!("path_{name}");
        while taken.contains(&other) {
            other.push('_');
        }
        self.path = self.path.replace(&format!("{{{name}}}"), &format!("{{{other}}}"));
        argument.clone_from(&other);
        let schema = self.properties.shift_remove(name);
        self.required.retain(|one| one != name);
        if let Some(schema) = schema {
            self.add(&other, schema, true);
        }
    }

    /// The schema of a parameter, with its description.
    fn schema_of(&self, parameter: &Json, document: &Document, notes: &mut Notes) -> Json {
        let content = parameter.pointer("/content/application~1json/schema");
        let schema = parameter.get("schema").or(content).cloned().unwrap_or_else(|| json!({ "type": "string" }));
        let mut schema = Inlined::new(document, &self.place, notes).schema(&schema);
        let description = parameter.get("description").and_then(Json::as_str);
        if let (Some(fields), Some(description)) = (schema.as_object_mut(), description) {
            fields.entry("description").or_insert_with(|| json!(description));
        }
        schema
    }
}
