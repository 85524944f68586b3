//! Values of any form, with templates in their strings.

use serde::Serialize;
use serde_json::Value as Json;

use crate::number::Number;
use crate::spec::path::Segment;
use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::Shape;
use crate::spec::template::{Bindings, Text};
use crate::spec::yaml::{Kind, Node};

/// A value of any form; numbers keep every digit that was written.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(Text),
    /// A list.
    List(Vec<Value>),
    /// A map.
    Map(Vec<(String, Value)>),
}

impl Value {
    /// The value with templates replaced. A text that is exactly one reference takes the type of what it names.
    #[must_use]
    pub fn render(&self, bindings: &dyn Bindings) -> Self {
        match self {
            Self::Text(text) => Self::from_json(text.render_value(bindings)),
            Self::List(items) => Self::List(items.iter().map(|item| item.render(bindings)).collect()),
            Self::Map(entries) => {
                Self::Map(entries.iter().map(|(key, value)| (key.clone(), value.render(bindings))).collect())
            }
            Self::Null | Self::Bool(_) | Self::Number(_) => self.clone(),
        }
    }

    /// Returns the number of values in it, itself included.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::List(items) => 1 + items.iter().map(Self::size).sum::<usize>(),
            Self::Map(entries) => 1 + entries.iter().map(|(_, value)| value.size()).sum::<usize>(),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) => 1,
        }
    }

    /// A value that came as JSON; its strings are literal.
    #[must_use]
    pub fn from_json(json: Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(value),
            Json::Number(number) => Number::parse(&number.to_string()).map_or(Self::Null, Self::Number),
            Json::String(text) => Self::Text(Text::literal(&text)),
            Json::Array(items) => Self::List(items.into_iter().map(Self::from_json).collect()),
            Json::Object(entries) => {
                Self::Map(entries.into_iter().map(|(key, value)| (key, Self::from_json(value))).collect())
            }
        }
    }

    /// The value as JSON, with texts as they were written.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => (*value).into(),
            Self::Number(number) => number.to_json(),
            Self::Text(text) => text.as_literal().unwrap_or(text.source()).into(),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Map(entries) => entries.iter().map(|(key, value)| (key.clone(), value.to_json())).collect(),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl Readable for Value {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        Some(match &node.kind {
            Kind::Null => Self::Null,
            Kind::Bool(value, _) => Self::Bool(*value),
            Kind::Number(number) => Self::Number(number.clone()),
            Kind::String(_) => Self::Text(Text::read(node, reader)?),
            Kind::List(_) => Self::List(Vec::read(node, reader)?),
            Kind::Map(entries) => {
                let read: Vec<_> = entries
                    .iter()
                    .map(|entry| {
                        reader
                            .within(Segment::Key(entry.key.clone()), |reader| Self::read(&entry.value, reader))
                            .map(|value| (entry.key.clone(), value))
                    })
                    .collect();
                Self::Map(read.into_iter().collect::<Option<_>>()?)
            }
        })
    }

    fn shape() -> Shape {
        Shape::Any
    }
}
