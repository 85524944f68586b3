//! Reads values of a file, and collects every problem on its way.

use yaml_tree::nearest::{alternatives, did_you_mean};
use yaml_tree::path::Segment;
use yaml_tree::{Entry, Kind, Node, Span};

use crate::code::Code;
use crate::diagnostic::{Diagnostic, Diagnostics, Place};
use crate::json_path::JsonPath;
use crate::value::Num;

/// A value and its place.
#[derive(Debug, Clone)]
pub(crate) struct At<'n> {
    pub(crate) node: &'n Node,
    pub(crate) place: Place,
}

/// A name that was written, and its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) place: Place,
}

/// Collects problems while a file is read.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    pub(crate) diagnostics: Diagnostics,
    /// True when the ten fields of a tool file are all required.
    pub(crate) strict: bool,
}

impl<'n> At<'n> {
    /// The root of a file.
    pub(crate) fn root(node: &'n Node, file: &str) -> Self {
        let place = Place { file: file.to_owned(), span: node.span, ..Place::default() };
        Self { node, place }
    }

    /// The value under a key, nothing written included.
    pub(crate) fn get(&self, key: &str) -> Option<Self> {
        let entry = self.node.entries()?.iter().find(|entry| entry.key == key)?;
        Some(self.entry(entry))
    }

    /// The value under a key; `None` also when nothing is written there.
    pub(crate) fn present(&self, key: &str) -> Option<Self> {
        self.get(key).filter(|at| at.node.kind != Kind::Null)
    }

    fn entry(&self, entry: &'n Entry) -> Self {
        let is_empty = entry.value.kind == Kind::Null && entry.value.span.start == entry.value.span.end;
        let span = if is_empty { entry.key_span } else { entry.value.span };
        Self { node: &entry.value, place: self.inner(Segment::Key(entry.key.clone()), span) }
    }

    fn inner(&self, segment: Segment, span: Span) -> Place {
        let mut path = self.place.path.clone();
        path.push(segment);
        Place { file: self.place.file.clone(), path, span }
    }

    /// The entries of a map with their keys, without notes; nothing when this is no map.
    pub(crate) fn entries(&self) -> Vec<(Named, Self)> {
        let entries = self.node.entries().unwrap_or_default().iter().filter(|entry| !is_note(&entry.key));
        let named = |entry: &'n Entry| {
            let at = self.entry(entry);
            let place = Place { span: entry.key_span, ..at.place.clone() };
            (Named { name: entry.key.clone(), place }, at)
        };
        entries.map(named).collect()
    }
}

/// Keys that are free for notes.
fn is_note(key: &str) -> bool {
    key.starts_with("x-")
}

impl Reader {
    pub(crate) fn report(&mut self, code: Code, at: &At<'_>, message: impl Into<String>) -> &mut Diagnostic {
        self.diagnostics.report(code, &at.place, message)
    }

    /// Takes a map and reports keys that are not known there; false when it is no map.
    pub(crate) fn is_map(&mut self, at: &At<'_>, known: &[&str]) -> bool {
        let Kind::Map(_) = at.node.kind else {
            self.wrong_type(at, "a map");
            return false;
        };
        for (key, _) in at.entries().iter().filter(|(key, _)| !known.contains(&key.name.as_str())) {
            let help = did_you_mean(&key.name, known.iter().copied())
                .unwrap_or_else(|| format!("known here: {}", alternatives(known.iter().copied())));
            let message = format!("there is no field `{}` here", key.name);
            self.diagnostics.report(Code::UnknownField, &key.place, message).help(Some(help));
        }
        true
    }

    pub(crate) fn wrong_type(&mut self, at: &At<'_>, expected: &str) {
        self.report(Code::WrongType, at, format!("expected {expected}, found {}", at.node.describe()));
    }

    /// The value of a required field; reports when it is absent.
    pub(crate) fn required<'n>(&mut self, at: &At<'n>, key: &str) -> Option<At<'n>> {
        let value = at.present(key);
        if value.is_none() {
            self.missing(at, key);
        }
        value
    }

    pub(crate) fn missing(&mut self, at: &At<'_>, key: &str) {
        self.report(Code::MissingField, at, format!("the field `{key}` is missing"));
    }

    pub(crate) fn string(&mut self, at: &At<'_>) -> Option<String> {
        let Kind::String(text) = &at.node.kind else {
            self.wrong_type(at, "a string");
            return None;
        };
        Some(text.clone())
    }

    /// A string, or a number or boolean as it was written: names such as `429`.
    pub(crate) fn text(&mut self, at: &At<'_>) -> Option<String> {
        let text = at.node.scalar().map(ToOwned::to_owned);
        if text.is_none() {
            self.wrong_type(at, "a string");
        }
        text
    }

    pub(crate) fn named(&mut self, at: &At<'_>) -> Option<Named> {
        Some(Named { name: self.text(at)?, place: at.place.clone() })
    }

    /// The name under a required key.
    pub(crate) fn required_name(&mut self, at: &At<'_>, key: &str) -> Option<Named> {
        self.required(at, key).and_then(|value| self.named(&value))
    }

    pub(crate) fn boolean(&mut self, at: &At<'_>) -> Option<bool> {
        let Kind::Bool(value, _) = at.node.kind else {
            self.wrong_type(at, "`true` or `false`");
            return None;
        };
        Some(value)
    }

    /// The boolean under a key.
    pub(crate) fn flag(&mut self, at: &At<'_>, key: &str, default: bool) -> bool {
        at.present(key).and_then(|value| self.boolean(&value)).unwrap_or(default)
    }

    pub(crate) fn list<'n>(&mut self, at: &At<'n>) -> Vec<At<'n>> {
        let Kind::List(items) = &at.node.kind else {
            self.wrong_type(at, "a list");
            return Vec::new();
        };
        let item = |(index, node): (usize, &'n Node)| At { node, place: at.inner(Segment::Index(index), node.span) };
        items.iter().enumerate().map(item).collect()
    }

    /// The items of the list under a key, each read by `read`; nothing when the key is absent.
    pub(crate) fn items<T>(
        &mut self,
        at: &At<'_>,
        key: &str,
        mut read: impl FnMut(&At<'_>, &mut Self) -> Option<T>,
    ) -> Vec<T> {
        let items = at.present(key).map(|list| self.list(&list)).unwrap_or_default();
        items.iter().filter_map(|item| read(item, self)).collect()
    }

    /// The names in the list under a key.
    pub(crate) fn names(&mut self, at: &At<'_>, key: &str) -> Vec<Named> {
        self.items(at, key, |item, reader| reader.named(item))
    }

    /// One of several words.
    pub(crate) fn word<T: Copy>(&mut self, at: &At<'_>, words: &[(&str, T)]) -> Option<T> {
        let known = || words.iter().map(|(word, _)| *word);
        let written = at.node.scalar().unwrap_or_default();
        let found = words.iter().find(|(word, _)| *word == written).map(|(_, value)| *value);
        if found.is_none() {
            let message = format!("expected {}, found {}", alternatives(known()), at.node.describe());
            self.report(Code::InvalidEnum, at, message).help(did_you_mean(written, known()));
        }
        found
    }

    /// The word under an optional key.
    pub(crate) fn word_of<T: Copy>(&mut self, at: &At<'_>, key: &str, words: &[(&str, T)]) -> Option<T> {
        at.present(key).and_then(|value| self.word(&value, words))
    }

    /// A path into JSON.
    pub(crate) fn path(&mut self, at: &At<'_>) -> Option<JsonPath> {
        let parsed = JsonPath::parse(at.node.scalar().unwrap_or_default());
        match parsed {
            Ok(path) => Some(path),
            Err(problem) => {
                self.report(Code::InvalidPath, at, problem.to_string());
                None
            }
        }
    }

    /// The path under a required key.
    pub(crate) fn required_path(&mut self, at: &At<'_>, key: &str) -> Option<JsonPath> {
        self.required(at, key).and_then(|value| self.path(&value))
    }

    /// The number under a key, reported with `code` when it is none or `is_valid` refuses it.
    pub(crate) fn number(
        &mut self,
        at: &At<'_>,
        key: &str,
        code: Code,
        expected: &str,
        is_valid: impl Fn(Num) -> bool,
    ) -> Option<Num> {
        let value = at.present(key)?;
        let number = Num::of(&value.node.to_json()).filter(|number| is_valid(*number));
        if number.is_none() {
            self.report(code, &value, format!("`{key}` is {expected}, found {}", value.node.describe()));
        }
        number
    }

    /// The whole number of at least `least` under a key.
    pub(crate) fn whole(&mut self, at: &At<'_>, key: &str, code: Code, least: i128) -> Option<u64> {
        let expected = format!("a whole number of {least} or more");
        let is_valid = |number: Num| matches!(number, Num::Int(int) if int >= least && u64::try_from(int).is_ok());
        match self.number(at, key, code, &expected, is_valid)? {
            Num::Int(int) => u64::try_from(int).ok(),
            Num::Float(_) => None,
        }
    }

    /// The text of a required `reason`.
    pub(crate) fn reason(&mut self, at: &At<'_>, code: Code, of: &str) -> String {
        let text = at.present("reason").and_then(|value| self.text(&value)).unwrap_or_default();
        if text.trim().is_empty() {
            self.report(code, at, format!("{of} needs a `reason`"));
        }
        text
    }
}
