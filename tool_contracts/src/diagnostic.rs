//! A problem of a contract, and its place.

use std::fmt;

use yaml_tree::Span;
use yaml_tree::path::Path;

use crate::code::{Class, Code};

/// The place of a value: file, path, line and column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The file, as the caller named it.
    pub file: String,
    /// The path in the file.
    pub path: Path,
    /// The place in the text.
    pub span: Span,
}

/// One problem: code, words, place, and the way to fix it.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// The kind of problem.
    pub code: Code,
    /// The problem in words.
    pub message: String,
    /// The way to fix it.
    pub help: Option<String>,
    /// Its place.
    pub place: Place,
    /// The tool, phase or name that it is about; empty when it is about none.
    pub subject: String,
}

impl Diagnostic {
    /// Its class: an error or a warning.
    #[must_use]
    pub fn class(&self) -> Class {
        self.code.class()
    }

    /// True when the set cannot be used because of it.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.class() == Class::Error
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { file, span, .. } = &self.place;
        write!(
            formatter,
            "{file}:{}:{}: {} {}: {}",
            span.line,
            span.column,
            self.class().name(),
            self.code,
            self.message
        )?;
        self.help.iter().try_for_each(|help| write!(formatter, "; {help}"))
    }
}

/// The diagnostics of a text or set, collected.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics(pub(crate) Vec<Diagnostic>);

impl Diagnostics {
    /// Adds a problem.
    pub(crate) fn report(&mut self, code: Code, place: &Place, message: impl Into<String>) -> &mut Diagnostic {
        self.0.push(Diagnostic {
            code,
            message: message.into(),
            help: None,
            place: place.clone(),
            subject: String::new(),
        });
        let last = self.0.len() - 1;
        &mut self.0[last]
    }
}

impl Diagnostic {
    /// Adds the way to fix it.
    pub(crate) fn help(&mut self, help: Option<String>) -> &mut Self {
        self.help = help;
        self
    }

    /// Names the tool, phase or name that it is about.
    pub(crate) fn about(&mut self, subject: &str) -> &mut Self {
        subject.clone_into(&mut self.subject);
        self
    }
}
