//! Commands: a line for the shell, or a list of words.

use serde::Serialize;

use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::{MOST_ENTRIES, Shape};
use crate::spec::template::{Bindings, Text};
use crate::spec::yaml::{Kind, Node};

/// A command to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Command {
    /// A line that `sh -c` runs.
    Line(Text),
    /// A program and its arguments, run as they are.
    Words(Vec<Text>),
}

impl Command {
    /// The words to execute, with templates replaced.
    #[must_use]
    pub fn render(&self, bindings: &dyn Bindings) -> Vec<String> {
        match self {
            Self::Line(line) => vec!["sh".to_owned(), "-c".to_owned(), line.render(bindings)],
            Self::Words(words) => words.iter().map(|word| word.render(bindings)).collect(),
        }
    }
}

impl Readable for Command {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match &node.kind {
            Kind::String(text) if text.trim().is_empty() => reader.invalid(node, "the command is empty", None),
            Kind::String(_) => Text::read(node, reader).map(Self::Line),
            Kind::List(items) if items.is_empty() => reader.invalid(node, "the command is empty", None),
            Kind::List(_) => Vec::read(node, reader).map(Self::Words),
            _ => reader.wrong_type(node, "a command: a line for the shell, or a list of words"),
        }
    }

    fn shape() -> Shape {
        let line = Shape::Word { name: "shell line", pattern: r"\S", example: "python3 agent.py" };
        Shape::Either(vec![line, Shape::List { item: Box::new(Shape::Text), least: 1, most: MOST_ENTRIES }])
    }
}

/// One value, or a list of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T: Readable> Readable for OneOrMany<T> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match node.kind {
            Kind::List(_) => Vec::read(node, reader).map(Self),
            _ => T::read(node, reader).map(|one| Self(vec![one])),
        }
    }

    fn shape() -> Shape {
        Shape::Either(vec![T::shape(), Shape::List { item: Box::new(T::shape()), least: 0, most: MOST_ENTRIES }])
    }
}
