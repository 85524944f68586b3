//! An OpenAPI document: its operations, and what its references name.

use serde_json::{Map, Value as Json};
use serde_yaml::Value as Yaml;

use super::operation::Operation;
use super::{ImportError, Notes};

/// The methods that become tools, in the order in which a path's operations are taken.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];
/// The methods that have no answer which would be a result.
const OTHER_METHODS: [&str; 3] = ["head", "options", "trace"];
/// Maximum length of a chain of references.
const MOST_STEPS: usize = 20;

/// A document.
pub(super) struct Document {
    root: Json,
}

impl Document {
    /// Reads a document of a version that is known.
    pub(super) fn read(text: &str) -> Result<Self, ImportError> {
        let yaml: Yaml = serde_yaml::from_str(text).map_err(ImportError::Yaml)?;
        let root = json_of(yaml);
        let version = |key: &str| {
            root.get(key).map(|version| version.as_str().map_or_else(|| version.to_string(), ToOwned::to_owned))
        };
        match (version("openapi"), version("swagger")) {
            (Some(known), _) if known.starts_with("3.0") || known.starts_with("3.1") => Ok(Self { root }),
            (Some(version), _) => Err(ImportError::Version { version: format!("OpenAPI {version}") }),
            (None, Some(version)) => Err(ImportError::Version { version: format!("Swagger {version}") }),
            (None, None) => Err(ImportError::NoOpenApi),
        }
    }

    pub(super) fn title(&self) -> &str {
        self.root.pointer("/info/title").and_then(Json::as_str).unwrap_or_default()
    }

    /// The path of the first server, which stands before all others.
    pub(super) fn path_prefix(&self, notes: &mut Notes) -> String {
        let server = self.root.pointer("/servers/0");
        let url = server.and_then(|server| server.get("url")).and_then(Json::as_str).unwrap_or_default();
        let mut url = url.to_owned();
        let variables = server.and_then(|server| server.get("variables")).and_then(Json::as_object);
        for (name, variable) in variables.into_iter().flatten() {
            let value = variable.get("default").and_then(Json::as_str).unwrap_or_default();
            url = url.replace(&format!("{{{name}}}"), value);
        }
        let path = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest.find('/').map_or("", |at| &rest[at..]));
        let path = path.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        let is_usable = path.starts_with('/') && !path.contains(['{', '}']) && !path.contains(char::is_whitespace);
        if !is_usable {
            return String::new();
        }
        notes.add("servers", format!("paths begin with `{path}`, as the first server says; its host is the service"));
        path.to_owned()
    }

    /// Notes what no tool makes use of.
    pub(super) fn note_unused(&self, notes: &mut Notes) {
        if let Some(schemes) = self.root.pointer("/components/securitySchemes").and_then(Json::as_object) {
            let names: Vec<_> = schemes.keys().map(|name| format!("`{name}`")).collect();
            let advice =
                "add `headers` to tools that need one, such as `Authorization: \"Bearer {{ secrets.API_KEY }}\"`";
            notes.add("components.securitySchemes", format!("left out: {}; {advice}", names.join(", ")));
        }
        if self.root.get("webhooks").is_some() {
            notes.add("webhooks", "left out: the service would call the agent");
        }
    }

    /// Its operations.
    pub(super) fn operations(&self, notes: &mut Notes) -> Vec<Operation<'_>> {
        let mut operations = Vec::new();
        let paths = self.root.get("paths").and_then(Json::as_object);
        for (path, item) in paths.into_iter().flatten().filter(|(path, _)| !path.starts_with("x-")) {
            let item = match self.resolved(item) {
                Ok(item) => item,
                Err(problem) => {
                    notes.add(path, format!("left out: {problem}"));
                    continue;
                }
            };
            for method in OTHER_METHODS.iter().filter(|method| item.get(*method).is_some()) {
                notes.add(
                    &format!("{} {path}", method.to_uppercase()),
                    "left out: it has no answer to give to an agent",
                );
            }
            let operation = |method: &&str| Some(Operation::new(method, path, item, item.get(*method)?.as_object()?));
            operations.extend(METHODS.iter().filter_map(operation));
        }
        operations
    }

    /// Returns the value itself, or the target of its chain of references.
    pub(super) fn resolved<'a>(&'a self, value: &'a Json) -> Result<&'a Json, String> {
        let mut value = value;
        for _ in 0..MOST_STEPS {
            let Some(name) = value.get("$ref").and_then(Json::as_str) else { return Ok(value) };
            value = self.target(name)?;
        }
        Err("its references lead to each other".to_owned())
    }

    /// Returns the target of a reference.
    pub(super) fn target(&self, name: &str) -> Result<&Json, String> {
        let pointer = name.strip_prefix('#').ok_or_else(|| format!("`{name}` is in another document"))?;
        // References are parts of URLs.
        let pointer = percent_decoded(pointer);
        self.root.pointer(&pointer).ok_or_else(|| format!("`{name}` leads nowhere"))
    }
}

fn percent_decoded(pointer: &str) -> String {
    // A pointer is decoded like the name of a form's field that has no plus sign.
    let escaped = pointer.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
    form_urlencoded::parse(escaped.as_bytes()).map(|(name, _)| name.into_owned()).next().unwrap_or_default()
}

/// A value of YAML as JSON. Keys that are numbers, such as statuses, become texts.
fn json_of(yaml: Yaml) -> Json {
    match yaml {
        Yaml::Null => Json::Null,
        Yaml::Bool(value) => value.into(),
        Yaml::Number(number) => serde_json::to_value(number).unwrap_or_default(),
        Yaml::String(text) => text.into(),
        Yaml::Sequence(items) => items.into_iter().map(json_of).collect(),
        Yaml::Tagged(tagged) => json_of(tagged.value),
        Yaml::Mapping(entries) => {
            let entry = |(key, value): (Yaml, Yaml)| Some((key_of(&key)?, json_of(value)));
            Json::Object(entries.into_iter().filter_map(entry).collect::<Map<_, _>>())
        }
    }
}

fn key_of(key: &Yaml) -> Option<String> {
    match key {
        Yaml::String(text) => Some(text.clone()),
        Yaml::Number(number) => Some(number.to_string()),
        Yaml::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}
