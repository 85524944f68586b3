//! Nodes to types, collecting every finding on the way.
//!
//! A type of the language implements [`Readable`]; most do so through the macros of `section.rs`. To add a type
//! by hand: return `None` only after a finding was reported, and describe in `shape` what `read` accepts.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::bundle::Bundle;
use super::code::Code;
use super::diagnostic::{Diagnostic, MOST_KEPT, alternatives, closest};
use super::path::{Path, Segment};
use super::shape::{Field, MOST_ENTRIES, Shape};
use super::template::Reference;
use super::yaml::{Entry, Kind, Limits, Node, Span, parse};
use crate::number::Number;

/// Maximum number of regular expressions of one spec; compiling them takes time.
const MOST_PATTERNS: usize = 200;

/// A type that can be read from a spec.
pub trait Readable: Sized {
    /// Reads a value; `None` after reporting why not.
    fn read(node: &Node, reader: &mut Reader) -> Option<Self>;

    /// Describes the values that `read` accepts.
    fn shape() -> Shape;

    /// The value that stands for a missing key; `None` when the key must be there.
    fn absent() -> Option<Self> {
        None
    }
}

/// The state of reading: the current path, and the findings.
#[derive(Debug, Default)]
pub struct Reader {
    path: Path,
    findings: Vec<Diagnostic>,
    references: Vec<(Path, Reference)>,
    patterns: usize,
    /// The texts of files beside the spec.
    texts: Arc<BTreeMap<String, String>>,
}

impl Reader {
    /// A reader of a spec with these files beside it.
    #[must_use]
    pub fn new(bundle: Option<&Bundle>) -> Self {
        Self { texts: bundle.map(Bundle::texts).unwrap_or_default(), ..Self::default() }
    }

    /// Returns all findings, and every template reference with its place.
    #[must_use]
    pub fn finish(self) -> (Vec<Diagnostic>, Vec<(Path, Reference)>) {
        (self.findings, self.references)
    }

    /// The texts of files below a folder beside the spec, by their paths in it.
    pub(crate) fn texts_below<'a>(&'a self, folder: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let folder = if folder == "." { String::new() } else { format!("{folder}/") };
        self.texts.iter().filter_map(move |(path, text)| Some((path.strip_prefix(&folder)?, text.as_str())))
    }

    /// Reports a finding at the current place.
    pub fn report(&mut self, code: Code, span: Span, message: impl Into<String>, help: Option<String>) {
        if self.is_full() {
            return;
        }
        self.findings.push(Diagnostic { code, message: message.into(), help, path: self.path.clone(), span });
    }

    /// Returns true if there are so many findings that no more are kept.
    fn is_full(&self) -> bool {
        self.findings.len() >= MOST_KEPT
    }

    /// Reports a value of another kind than the one expected.
    pub fn wrong_type<T>(&mut self, node: &Node, expected: &str) -> Option<T> {
        let help = hint(node, expected);
        self.report(Code::WrongType, node.span, format!("expected {expected}, found {}", node.describe()), help);
        None
    }

    /// Reports a value that has the right kind but cannot be used.
    pub fn invalid<T>(&mut self, node: &Node, message: impl Into<String>, help: Option<String>) -> Option<T> {
        self.report(Code::InvalidValue, node.span, message, help);
        None
    }

    /// Reports a list or map with too many entries.
    pub fn too_many<T>(&mut self, node: &Node, found: usize, most: usize) -> Option<T> {
        self.invalid(node, format!("expected at most {most} entries, found {found}"), None)
    }

    /// Remembers that the text at the current place names something.
    pub fn refer(&mut self, reference: Reference) {
        self.references.push((self.path.clone(), reference));
    }

    /// Counts a regular expression; whether it may be compiled.
    pub fn one_more_pattern(&mut self) -> bool {
        self.patterns += 1;
        self.patterns <= MOST_PATTERNS
    }

    /// Runs `read` one step further down the path.
    pub fn within<T>(&mut self, segment: Segment, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(segment);
        let result = read(self);
        self.path.pop();
        result
    }

    /// Reads a value from a file beside the spec; `None` when the file has no text to read. What is wrong with the value is
    /// reported at `span`, where the file is named, and `Some(None)` returned.
    pub(crate) fn read_file<T: Readable>(&mut self, file: &str, span: Span) -> Option<Option<T>> {
        let texts = Arc::clone(&self.texts);
        let (root, mut findings) = parse(texts.get(file)?, Limits::default());
        findings.iter_mut().for_each(|finding| finding.path = self.path.clone());
        let (first, is_broken) = (self.findings.len(), !findings.is_empty());
        self.findings.append(&mut findings);
        let read = root.and_then(|root| T::read(&root, self)).filter(|_| !is_broken);
        for finding in self.findings.iter_mut().skip(first) {
            let Span { line, column, .. } = finding.span;
            finding.message = format!("`{file}`, line {line}, column {column}: {}", finding.message);
            finding.span = span;
        }
        Some(read)
    }

    /// The current place.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Suggests a fix for a value of another kind.
fn hint(node: &Node, expected: &str) -> Option<String> {
    let wants = |word: &str| expected.contains(word);
    match &node.kind {
        Kind::Null => Some("give it a value, or remove the key".to_owned()),
        Kind::Number(_) | Kind::Bool(..) if wants("string") => Some("put it in quotes".to_owned()),
        Kind::String(text) if wants("number") && Number::parse(text).is_some() => Some("remove the quotes".to_owned()),
        Kind::String(text) if wants("`true`") => match text.to_lowercase().as_str() {
            "yes" | "on" | "y" => Some("write `true`".to_owned()),
            "no" | "off" | "n" => Some("write `false`".to_owned()),
            _ => None,
        },
        Kind::String(text) if wants("a list") => Some(format!("write `[{}]`", crate::untrusted::line(text, 40))),
        Kind::String(text) if wants("a map") && text.contains(':') => {
            Some("a blank belongs after the colon".to_owned())
        }
        Kind::Map(entries) if wants("text") && entries.iter().any(|entry| entry.key.is_empty()) => {
            Some("put `{{ … }}` in quotes".to_owned())
        }
        _ => None,
    }
}

/// Reads the keys of one map, and at the end reports the unknown ones.
#[derive(Debug)]
pub(crate) struct MapReader<'a> {
    node: &'a Node,
    entries: &'a [Entry],
    known: Vec<&'static str>,
    /// The variant of a tagged section, once it is known.
    pub(crate) variant: Option<&'static str>,
}

impl<'a> MapReader<'a> {
    /// Starts reading `node`, which must be a map.
    pub(crate) fn new(node: &'a Node, reader: &mut Reader) -> Option<Self> {
        match node.entries() {
            Some(entries) => Some(Self { node, entries, known: Vec::new(), variant: None }),
            None => reader.wrong_type(node, "a map"),
        }
    }

    /// The value under `key`, which counts as known from now on.
    pub(crate) fn node(&mut self, key: &'static str) -> Option<&'a Node> {
        self.known.push(key);
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// Reads a key that must be there, unless its type has a value for absence.
    pub(crate) fn required<T: Readable>(&mut self, reader: &mut Reader, key: &'static str) -> Option<T> {
        let Some(node) = self.node(key) else {
            return T::absent().or_else(|| {
                let message = format!("the key `{key}` is missing");
                let span = Span { end: self.node.span.start, ..self.node.span };
                reader.report(Code::MissingKey, span, message, None);
                None
            });
        };
        reader.within(Segment::Key(key.to_owned()), |reader| T::read(node, reader))
    }

    /// Reads a key that has a default.
    pub(crate) fn optional<T: Readable>(
        &mut self,
        reader: &mut Reader,
        key: &'static str,
        default: impl FnOnce() -> T,
    ) -> Option<T> {
        match self.node(key) {
            Some(node) => reader.within(Segment::Key(key.to_owned()), |reader| T::read(node, reader)),
            None => Some(default()),
        }
    }

    /// Reports every unknown key. `siblings` are the keys of other variants, with the value that selects them.
    pub(crate) fn finish(&self, reader: &mut Reader, siblings: &[(String, Vec<Field>)]) {
        for entry in self.entries.iter().filter(|entry| !self.known.contains(&entry.key.as_str())) {
            if reader.is_full() {
                return;
            }
            let message = format!("unknown key `{}`", entry.key);
            let owner = siblings.iter().find(|(_, fields)| fields.iter().any(|field| field.key == entry.key));
            let help = match (owner, closest(&entry.key, self.known.iter().copied())) {
                (Some((variant, _)), _) => Some(format!("`{}` belongs to `{variant}`", entry.key)),
                _ if entry.key.contains(' ') => {
                    Some("inside `{ }` a comma ends a value: put texts with commas in quotes".to_owned())
                }
                (None, Some(name)) => Some(format!("did you mean `{name}`?")),
                (None, None) if self.known.is_empty() => Some("no keys are known here".to_owned()),
                (None, None) => {
                    Some(format!("known here: {}", alternatives(self.known.iter().copied()).replace(" or ", " and ")))
                }
            };
            reader.within(Segment::Key(entry.key.clone()), |reader| {
                reader.report(Code::UnknownKey, entry.key_span, message, help);
            });
        }
    }
}

impl Readable for bool {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match &node.kind {
            Kind::Bool(value, _) => Some(*value),
            _ => reader.wrong_type(node, "`true` or `false`"),
        }
    }

    fn shape() -> Shape {
        Shape::Bool
    }
}

impl<T: Readable> Readable for Option<T> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        T::read(node, reader).map(Some)
    }

    fn shape() -> Shape {
        T::shape()
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// Reads every item, so that the findings of all are known.
pub(crate) fn read_items<T: Readable>(items: &[Node], reader: &mut Reader) -> Option<Vec<T>> {
    let read: Vec<_> = items
        .iter()
        .enumerate()
        .map(|(index, item)| reader.within(Segment::Index(index), |reader| T::read(item, reader)))
        .collect();
    read.into_iter().collect()
}

impl<T: Readable> Readable for Vec<T> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Kind::List(items) = &node.kind else {
            return reader.wrong_type(node, "a list");
        };
        if items.len() > MOST_ENTRIES {
            return reader.too_many(node, items.len(), MOST_ENTRIES);
        }
        read_items(items, reader)
    }

    fn shape() -> Shape {
        Shape::List { item: Box::new(T::shape()), least: 0, most: MOST_ENTRIES }
    }
}

/// A string without templates; numbers and booleans are taken as they are written.
impl Readable for String {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match node.scalar() {
            Some(text) => Some(text.to_owned()),
            None => reader.wrong_type(node, "text"),
        }
    }

    fn shape() -> Shape {
        Shape::Text
    }
}

/// Any value, without templates.
impl Readable for serde_json::Value {
    fn read(node: &Node, _: &mut Reader) -> Option<Self> {
        Some(node.to_json())
    }

    fn shape() -> Shape {
        Shape::Any
    }
}
