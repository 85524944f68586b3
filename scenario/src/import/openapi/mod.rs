//! Tools for the operations of an OpenAPI document, with a note about everything that has no counterpart.
//!
//! OpenAPI 3.0 and 3.1, as YAML or JSON. Path and query parameters and the fields of a JSON body become the arguments of a tool.
//! References are replaced by what they name, because the schema of a tool stands alone.

mod arguments;
mod body;
mod document;
mod error;
mod names;
mod operation;
mod schema;
#[cfg(test)]
mod tests;

use serde_json::{Value as Json, json};

pub use error::ImportError;

use crate::spec::shape::MOST_ENTRIES;
use crate::spec::types::ServiceName;
use document::Document;
use names::Names;
use operation::Operation;

/// The name of the service when neither the caller nor the document gives one.
const SERVICE: &str = "api";

/// The options for everything that the document does not say.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// The service that has the operations; without it, one that is named after the title of the document.
    pub service: Option<String>,
    /// The operations to take, by `operationId`, by the name of the tool, or as `GET /orders`; all of them when it is empty.
    pub only: Vec<String>,
}

/// Tools that were made from a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedTools {
    /// The service that has the operations.
    pub service: String,
    /// Number of tools.
    pub count: usize,
    /// The tools, as entries of the section `tools` of a spec.
    pub tools: Vec<Json>,
    /// The section `tools` of a spec.
    pub yaml: String,
    /// Notes about everything that was changed or left out.
    pub notes: Vec<String>,
}

/// Notes about the document, each with its place.
#[derive(Debug, Default)]
struct Notes(Vec<String>);

impl Notes {
    fn add(&mut self, place: &str, text: impl AsRef<str>) {
        let note = format!("`{place}`: {}", text.as_ref());
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }
}

/// Builds tools from the text of an OpenAPI document.
///
/// # Errors
///
/// It is no such document, or has no operation that can be a tool.
pub fn import(text: &str, options: &ImportOptions) -> Result<ImportedTools, ImportError> {
    let document = Document::read(text)?;
    let service = service_name(options, &document)?;
    let mut notes = Notes::default();
    let prefix = document.path_prefix(&mut notes);
    document.note_unused(&mut notes);
    let mut names = Names::with(&service);
    let mut operations = Vec::new();
    for operation in document.operations(&mut notes) {
        operations.push((names.name(&operation, &mut notes), operation));
    }
    let operations = chosen(operations, &options.only)?;
    let tool =
        |(name, operation): &(String, Operation<'_>)| operation.tool(name, &service, &prefix, &document, &mut notes);
    let tools: Vec<Json> = operations.iter().filter_map(tool).collect();
    match tools.len() {
        0 => return Err(ImportError::NoTools(notes.0)),
        count if count > MOST_ENTRIES => return Err(ImportError::TooMany { count, most: MOST_ENTRIES }),
        _ => {}
    }
    let yaml = serde_yaml::to_string(&json!({ "tools": tools })).map_err(ImportError::Write)?;
    let yaml = format!("# Made from an OpenAPI document by `touchstone tools from-openapi`.\n{yaml}");
    Ok(ImportedTools { service, count: tools.len(), tools, yaml, notes: notes.0 })
}

/// The service: the one that was named, else the title of the document as a name.
fn service_name(options: &ImportOptions, document: &Document) -> Result<String, ImportError> {
    if let Some(name) = &options.service {
        return ServiceName::new(name)
            .map(|name| name.to_string())
            .ok_or_else(|| ImportError::Service { name: name.clone() });
    }
    let words = document.title().to_lowercase();
    let words: Vec<_> = words.split(|character: char| !character.is_ascii_alphanumeric()).collect();
    let name = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    Ok(ServiceName::new(&name).map_or_else(|| SERVICE.to_owned(), |name| name.to_string()))
}

/// The operations that were asked for, with the names of their tools.
fn chosen<'a>(
    operations: Vec<(String, Operation<'a>)>,
    only: &[String],
) -> Result<Vec<(String, Operation<'a>)>, ImportError> {
    let is_called = |(name, operation): &(String, Operation<'_>), wanted: &str| {
        name == wanted || operation.id() == Some(wanted) || operation.place() == wanted
    };
    if let Some(unknown) = only.iter().find(|wanted| !operations.iter().any(|one| is_called(one, wanted))) {
        let known = operations.iter().flat_map(|(name, operation)| [Some(name.as_str()), operation.id()]);
        return Err(ImportError::unknown(unknown, known.flatten()));
    }
    let is_chosen = |one: &(String, Operation<'_>)| only.is_empty() || only.iter().any(|wanted| is_called(one, wanted));
    Ok(operations.into_iter().filter(is_chosen).collect())
}
