//! The tree that a YAML text becomes: values with the place where they stand.

use crate::number::Number;
use crate::path::{Path, Segment};

/// A stretch of the source, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Index of the first character.
    pub start: usize,
    /// Index after the last character.
    pub end: usize,
    /// Line of the first character, from 1.
    pub line: usize,
    /// Column of the first character, from 1.
    pub column: usize,
}

/// A value of the document.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Position of the value.
    pub span: Span,
    /// Value of the node.
    pub kind: Kind,
}

/// A value, typed by YAML's core schema.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// `null`, `~`, or nothing at all.
    Null,
    /// `true` or `false`, and the word that was written.
    Bool(bool, String),
    /// A finite number.
    Number(Number),
    /// Any other scalar, and every quoted one.
    String(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping; keys are unique.
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Position of the key.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

impl Node {
    /// The value under `key`, when this is a map that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries()?.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// The entries of a map.
    #[must_use]
    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.kind {
            Kind::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The text of a scalar other than null, as it was written.
    #[must_use]
    pub fn scalar(&self) -> Option<&str> {
        match &self.kind {
            Kind::String(text) | Kind::Bool(_, text) => Some(text),
            Kind::Number(number) => Some(number.text()),
            Kind::Null | Kind::List(_) | Kind::Map(_) => None,
        }
    }

    /// Describes the value for a message: `a list`, `the number 3`.
    #[must_use]
    pub fn describe(&self) -> String {
        match &self.kind {
            Kind::Null => "nothing".to_owned(),
            Kind::Bool(value, _) => format!("`{value}`"),
            Kind::Number(number) => format!("the number {}", crate::untrusted::cut(number.text(), 40)),
            Kind::String(text) => format!("the string {}", shorten(text)),
            Kind::List(_) => "a list".to_owned(),
            Kind::Map(_) => "a map".to_owned(),
        }
    }

    /// Returns the position of `path`: the key itself, or the value; the nearest parent when it is missing.
    #[must_use]
    pub fn locate(&self, path: &Path, on_key: bool) -> Span {
        let mut span = self.span;
        let mut node = Some(self);
        for (depth, segment) in path.segments().iter().enumerate() {
            let last = depth + 1 == path.segments().len();
            node = match (node.map(|node| &node.kind), segment) {
                (Some(Kind::Map(entries)), Segment::Key(key)) => {
                    entries.iter().find(|entry| entry.key == *key).map(|entry| {
                        span = if last && on_key { entry.key_span } else { place_of(&entry.value, entry.key_span) };
                        &entry.value
                    })
                }
                (Some(Kind::List(items)), Segment::Index(index)) => items.get(*index).inspect(|item| span = item.span),
                _ => None,
            };
        }
        span
    }

    /// The value as JSON, with keys in their order.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match &self.kind {
            Kind::Null => serde_json::Value::Null,
            Kind::Bool(value, _) => (*value).into(),
            Kind::Number(number) => number.to_json(),
            Kind::String(text) => text.clone().into(),
            Kind::List(items) => items.iter().map(Self::to_json).collect(),
            Kind::Map(entries) => entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect(),
        }
    }

    /// The value as JSON with sorted keys, so that two texts that mean the same give the same bytes.
    #[must_use]
    pub fn canonical(&self) -> serde_json::Value {
        let mut json = self.to_json();
        json.sort_all_objects();
        json
    }
}

/// An absent value has no place of its own, so its key is shown.
fn place_of(value: &Node, key_span: Span) -> Span {
    if value.kind == Kind::Null && value.span.start == value.span.end { key_span } else { value.span }
}

/// A quoted excerpt that fits in a message.
#[must_use]
pub fn shorten(text: &str) -> String {
    const MOST: usize = 40;
    let line: String =
        text.chars().take(MOST).map(|character| if character.is_control() { ' ' } else { character }).collect();
    let more = if text.chars().count() > MOST { "…" } else { "" };
    format!("\"{line}{more}\"")
}
