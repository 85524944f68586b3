//! The reasons why no tools can be made from a document.

use crate::count_noun;
use crate::spec::diagnostic::did_you_mean;

/// A reason why no tools can be made from a document, with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It is neither YAML nor JSON.
    #[error("this is neither YAML nor JSON: {0}")]
    Yaml(#[source] serde_yaml::Error),
    /// The tools cannot be written.
    #[error("the tools cannot be written: {0}")]
    Write(#[source] serde_yaml::Error),
    /// It is something else.
    #[error("this is no OpenAPI document: the key `openapi` is missing")]
    NoOpenApi,
    /// It is an older or newer version.
    #[error("OpenAPI 3.0 and 3.1 are read, and this is {version}: convert it first")]
    Version {
        /// The version.
        version: String,
    },
    /// The name of the service is none.
    #[error("`{name}` is no name of a service: use lower-case letters, digits, dashes and underscores")]
    Service {
        /// The name.
        name: String,
    },
    /// An operation was asked for that is not there.
    #[error("there is no operation `{name}`{help}")]
    UnknownOperation {
        /// The name.
        name: String,
        /// A name that may be meant.
        help: String,
    },
    /// No operation can be a tool.
    #[error("no operation of this document can be a tool{}", reasons(.0))]
    NoTools(Vec<String>),
    /// There are more operations than a spec may have tools.
    #[error("{} are more than the {most} that a spec may have: choose some with --only", count_noun(*count, "tool"))]
    TooMany {
        /// Number of tools.
        count: usize,
        /// Maximum number of tools.
        most: usize,
    },
}

impl ImportError {
    /// The refusal of an operation that is not among these.
    pub(super) fn unknown<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let help = did_you_mean(name, known).map(|help| format!("; {help}")).unwrap_or_default();
        Self::UnknownOperation { name: name.to_owned(), help }
    }
}

fn reasons(notes: &[String]) -> String {
    notes.iter().map(|note| format!("\n{note}")).collect()
}
