//! Maps with free names, and lists that must not be empty.

use std::hash::Hash;
use std::ops::Deref;

use indexmap::IndexMap;
use serde::Serialize;

use super::word::Word;
use crate::spec::path::Segment;
use crate::spec::reader::{MapReader, Readable, Reader, read_items};
use crate::spec::shape::{MOST_ENTRIES, Shape};
use crate::spec::yaml::{Kind, Node};

/// A map whose keys are names of one kind, in the order of the spec, with at least `LEAST` entries.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
#[serde(bound(serialize = "K: Serialize + Hash + Eq, V: Serialize"))]
pub struct Table<K, V, const LEAST: usize = 0>(IndexMap<K, V>)
where
    K: Hash + Eq;

impl<K: Hash + Eq, V> Default for Table<K, V> {
    fn default() -> Self {
        Self(IndexMap::new())
    }
}

impl<K: Hash + Eq, V, const LEAST: usize> Deref for Table<K, V, LEAST> {
    type Target = IndexMap<K, V>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<K: Word + Hash + Eq, V: Readable, const LEAST: usize> Readable for Table<K, V, LEAST> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        MapReader::new(node, reader)?;
        let entries = node.entries().unwrap_or_default();
        if entries.len() < LEAST {
            return reader.invalid(node, "expected at least one entry", None);
        }
        if entries.len() > MOST_ENTRIES {
            return reader.too_many(node, entries.len(), MOST_ENTRIES);
        }
        let read: Vec<_> = entries
            .iter()
            .map(|entry| {
                reader.within(Segment::Key(entry.key.clone()), |reader| {
                    let name = Node { span: entry.key_span, kind: Kind::String(entry.key.clone()) };
                    let key = K::read(&name, reader);
                    Some((key, V::read(&entry.value, reader))).and_then(|(key, value)| key.zip(value))
                })
            })
            .collect();
        read.into_iter().collect::<Option<_>>().map(Self)
    }

    fn shape() -> Shape {
        Shape::Map { key: K::PATTERN, value: Box::new(V::shape()), least: LEAST, most: MOST_ENTRIES }
    }
}

/// A list of at least one, and of at most `MOST`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Many<T, const MOST: usize = MOST_ENTRIES>(Vec<T>);

impl<T, const MOST: usize> Many<T, MOST> {
    /// These entries; `LENGTH` is at least one and at most `MOST`.
    pub(crate) fn new<const LENGTH: usize>(entries: [T; LENGTH]) -> Self {
        const { assert!(LENGTH >= 1 && LENGTH <= MOST, "so many entries cannot be given") };
        Self(entries.into())
    }
}

impl<T, const MOST: usize> Deref for Many<T, MOST> {
    type Target = Vec<T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T: Readable, const MOST: usize> Readable for Many<T, MOST> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match &node.kind {
            Kind::List(items) if items.is_empty() => reader.invalid(node, "expected at least one entry", None),
            Kind::List(items) if items.len() > MOST => reader.too_many(node, items.len(), MOST),
            Kind::List(items) => read_items(items, reader).map(Self),
            _ => reader.wrong_type(node, "a list"),
        }
    }

    fn shape() -> Shape {
        Shape::List { item: Box::new(T::shape()), least: 1, most: MOST }
    }
}
