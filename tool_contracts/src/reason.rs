//! Reasons: the rule, what it checked, and what it found.

use serde::Serialize;
use serde_json::{Map, Value as Json};
use yaml_tree::untrusted;

use crate::canonical::canonical;
use crate::code::Code;

/// Maximum length of a value in a sentence.
const MOST_SHOWN: usize = 60;

/// One rule that a call breaks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reason {
    /// The kind of rule.
    pub code: Code,
    /// The rule, by its place in the contracts.
    pub rule: String,
    /// The path that it reads, when it reads one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The checked values; scalars only.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub checked: Map<String, Json>,
    /// The observed values; scalars only.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub found: Map<String, Json>,
    /// The reason that its author gives, or else the sentence.
    pub message: String,
    /// The reason as a sentence that a person understands.
    #[serde(skip)]
    pub sentence: String,
}

impl Reason {
    /// A reason without values.
    pub(crate) fn new(code: Code, rule: impl Into<String>, sentence: impl Into<String>) -> Self {
        let sentence = sentence.into();
        let (checked, found) = (Map::new(), Map::new());
        Self { code, rule: rule.into(), path: None, checked, found, message: sentence.clone(), sentence }
    }

    /// The reason for which a workflow refuses something.
    #[must_use]
    pub fn of_workflow(code: Code) -> Self {
        Self::new(code, "workflow", code.explanation())
    }

    pub(crate) fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    pub(crate) fn checked(mut self, name: &str, value: impl Into<Json>) -> Self {
        self.checked.insert(name.to_owned(), scalar(value.into()));
        self
    }

    pub(crate) fn found(mut self, name: &str, value: impl Into<Json>) -> Self {
        self.found.insert(name.to_owned(), scalar(value.into()));
        self
    }

    /// The words of the rule's author.
    pub(crate) fn because(mut self, message: &str) -> Self {
        message.clone_into(&mut self.message);
        self
    }

    /// The reason in one sentence, with the rule that it comes from.
    #[must_use]
    pub fn explain(&self) -> String {
        let author = if self.message == self.sentence {
            String::new()
        } else {
            format!(" ({})", untrusted::line(&self.message, 200))
        };
        format!("{}{author} [{}]", self.sentence, self.rule)
    }
}

/// Lists and maps become their canonical text.
fn scalar(value: Json) -> Json {
    match value {
        Json::Array(_) | Json::Object(_) => canonical(&value).into(),
        other => other,
    }
}

/// A value for a sentence, on one line.
pub(crate) fn shown(value: &Json) -> String {
    untrusted::line(&canonical(value), MOST_SHOWN)
}

/// A value for a sentence, or that there is none.
pub(crate) fn shown_or_missing(value: Option<&Json>) -> String {
    value.map_or_else(|| "missing".to_owned(), shown)
}

/// A name for a sentence: names of tools come from models.
pub(crate) fn name(text: &str) -> String {
    format!("`{}`", untrusted::line(text, MOST_SHOWN))
}
