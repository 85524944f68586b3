//! Parser events to [`Node`]s, within limits.

use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, StrInput, Tag};

use super::node::{Entry, Kind, Node, Span};
use super::tabs::at_the_tab;
use crate::number::Number;
use crate::path::{Path, Segment};
use crate::problem::{Problem, ProblemKind};
use crate::untrusted;

/// Length at which a template in a message is cut off.
const MOST_SHOWN: usize = 80;

/// Limits beyond which YAML counts as hostile.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Length of the text in bytes.
    pub bytes: usize,
    /// Depth of nested values.
    pub depth: usize,
    /// Number of values, aliases expanded.
    pub values: usize,
    /// Number of keys, aliases expanded.
    pub keys: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 1024 * 1024, depth: 64, values: 250_000, keys: 100_000 }
    }
}

/// Reads one document; every problem that can be found without knowing the language is in the list.
/// `noun` is the word for the document in messages, such as `spec`.
#[must_use]
pub fn parse(text: &str, noun: &str, limits: Limits) -> (Option<Node>, Vec<Problem>) {
    if text.len() > limits.bytes {
        let message = format!("the {noun} is {} bytes long; at most {} are read", text.len(), limits.bytes);
        return (None, vec![finding(ProblemKind::TooLarge, Span { line: 1, column: 1, ..Span::default() }, message)]);
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut builder = Builder {
        limits,
        values: 0,
        keys: 0,
        anchors: HashMap::new(),
        findings: Vec::new(),
        unquoted: Vec::new(),
        path: Path::default(),
    };
    let root = builder.document(&mut Parser::new_from_str(text), noun);
    let mut findings = builder.findings;
    match root {
        Ok(root) => (Some(root), findings),
        // What stands after a template without quotes makes no sense because of it.
        Err(stop) if builder.unquoted.contains(&stop.span.line) => (None, findings),
        Err(stop) => {
            findings.push(at_the_tab(stop, text));
            (None, findings)
        }
    }
}

/// The parser, over a text that is in memory.
type Events<'input> = Parser<'input, StrInput<'input>>;

/// A finding after which nothing more can be read.
type Step<T> = Result<T, Problem>;

struct Builder {
    limits: Limits,
    values: usize,
    keys: usize,
    /// Values by anchor id, each with how many values and keys it holds and how deep it is.
    anchors: HashMap<usize, (Node, Size)>,
    findings: Vec<Problem>,
    /// The lines on which templates stand without quotes.
    unquoted: Vec<usize>,
    /// Path of the value that is being read.
    path: Path,
}

/// Weight of a value against the limits.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    values: usize,
    keys: usize,
    depth: usize,
}

impl Builder {
    fn document(&mut self, parser: &mut Events<'_>, noun: &str) -> Step<Node> {
        let mut root = None;
        loop {
            let (event, span) = next(parser)?;
            match event {
                Event::StreamEnd => break,
                Event::DocumentStart(_) if root.is_some() => {
                    return Err(finding(
                        ProblemKind::Documents,
                        span,
                        format!("a second YAML document starts here; one file is one {noun}"),
                    ));
                }
                Event::DocumentStart(_) | Event::StreamStart | Event::DocumentEnd | Event::Nothing => {}
                event => root = Some(self.value(parser, event, span, 0)?),
            }
        }
        let nothing = Span { line: 1, column: 1, ..Span::default() };
        root.filter(|node| node.kind != Kind::Null).ok_or_else(|| {
            finding(ProblemKind::Documents, nothing, format!("there is no {noun} here: the document is empty"))
        })
    }

    fn value(&mut self, parser: &mut Events<'_>, event: Event<'_>, span: Span, depth: usize) -> Step<Node> {
        self.charge(span, Size { values: 1, keys: 0, depth })?;
        let before = (self.values, self.keys);
        let (node, anchor, tag) = match event {
            Event::Alias(id) => return self.alias(id, span, depth),
            Event::Scalar(text, style, anchor, tag) => {
                let forced = tag.as_deref().is_some_and(is_string_tag);
                let plain = style == ScalarStyle::Plain && !forced;
                let kind = if plain { resolve(&text) } else { Kind::String(text.into_owned()) };
                (Node { span, kind }, anchor, tag.filter(|tag| !is_string_tag(tag)))
            }
            Event::SequenceStart(anchor, tag) => (self.list(parser, span, depth)?, anchor, tag),
            Event::MappingStart(anchor, tag) => (self.map(parser, span, depth)?, anchor, tag),
            _ => return Err(finding(ProblemKind::Syntax, span, "a value was expected here")),
        };
        if let Some(tag) = tag {
            let message = format!("the tag `{}{}` is not understood", tag.handle, tag.suffix);
            self.note(ProblemKind::Tag, span, message, Some("put a text that begins with `!` in quotes"), None);
        }
        if anchor > 0 {
            let size = Size { values: 1 + self.values - before.0, keys: self.keys - before.1, depth: depth_of(&node) };
            // The copy is paid for at once, so that nested anchors cannot multiply what is held.
            self.charge(span, Size { depth: 0, ..size })?;
            self.anchors.insert(anchor, (node.clone(), size));
        }
        Ok(node)
    }

    fn alias(&mut self, id: usize, span: Span, depth: usize) -> Step<Node> {
        let Some((node, size)) = self.anchors.get(&id).cloned() else {
            return Err(finding(ProblemKind::Syntax, span, "this alias stands inside the value that it names"));
        };
        self.charge(span, Size { depth: depth + size.depth, ..size })?;
        Ok(node)
    }

    fn list(&mut self, parser: &mut Events<'_>, span: Span, depth: usize) -> Step<Node> {
        let mut items = Vec::new();
        loop {
            let (event, at) = next(parser)?;
            if event == Event::SequenceEnd {
                return Ok(Node { span: up_to(span, at), kind: Kind::List(items) });
            }
            self.path.push(Segment::Index(items.len()));
            items.push(self.value(parser, event, at, depth + 1)?);
            self.path.pop();
        }
    }

    fn map(&mut self, parser: &mut Events<'_>, span: Span, depth: usize) -> Step<Node> {
        let mut entries = Vec::new();
        let mut merged = Vec::new();
        let mut template = None;
        loop {
            let (event, at) = next(parser)?;
            if event == Event::MappingEnd {
                let kind = template.map_or_else(|| Kind::Map(self.unique(entries, merged)), Kind::String);
                return Ok(Node { span: up_to(span, at), kind });
            }
            self.charge(at, Size { keys: 1, ..Size::default() })?;
            let is_merge = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, ..) if text == "<<");
            let key = self.value(parser, event, at, depth + 1)?;
            let (event, value_at) = next(parser)?;
            self.path.push(Segment::Key(key.scalar().unwrap_or_default().to_owned()));
            let value = self.value(parser, event, value_at, depth + 1)?;
            self.path.pop();
            match key.scalar() {
                _ if is_merge => merged.extend(self.merge(at, value)),
                Some(name) => entries.push(Entry { key: name.to_owned(), key_span: at, value }),
                None if let Some(text) = unquoted(span, &key) => {
                    // It is read as if it had been in quotes, so that this is the only finding.
                    self.note_unquoted(Span { end: key.span.end + 2, ..span }, &text);
                    template = Some(text);
                }
                None => {
                    let message = format!("a key must be a word, and this is {}", key.describe());
                    let help = "put texts that begin with `{`, `[` or `?` in quotes";
                    self.note(ProblemKind::Key, at, message, Some(help), None);
                }
            }
        }
    }

    fn note_unquoted(&mut self, span: Span, text: &str) {
        self.unquoted.push(span.line);
        let help = format!("put all of it in quotes: \"{}\"", untrusted::line(text, MOST_SHOWN));
        let message = "a text that begins with `{{` must be in quotes".to_owned();
        self.note(ProblemKind::Key, span, message, Some(&help), None);
    }

    /// The entries that `<<: value` brings.
    fn merge(&mut self, at: Span, value: Node) -> Vec<Entry> {
        match value.kind {
            Kind::Map(entries) => entries,
            Kind::List(items) => items.into_iter().flat_map(|item| self.merge(at, item)).collect(),
            _ => {
                let message = format!("`<<` takes the map of an alias, and this is {}", value.describe());
                self.note(
                    ProblemKind::Key,
                    at,
                    message,
                    Some("write `<<: *NAME` for a map with the anchor `&NAME`"),
                    None,
                );
                Vec::new()
            }
        }
    }

    /// Reports repeated keys, and lets a map's own entries win over merged ones.
    fn unique(&mut self, entries: Vec<Entry>, merged: Vec<Entry>) -> Vec<Entry> {
        let mut lines = HashMap::new();
        let mut kept = Vec::with_capacity(entries.len());
        for entry in entries {
            if let Some(first) = lines.get(&entry.key) {
                let message =
                    format!("the key `{}` stands here a second time; the first is on line {first}", entry.key);
                self.note(ProblemKind::DuplicateKey, entry.key_span, message, None, Some(&entry.key));
            } else {
                lines.insert(entry.key.clone(), entry.key_span.line);
                kept.push(entry);
            }
        }
        kept.extend(merged.into_iter().filter(|entry| lines.insert(entry.key.clone(), 0).is_none()));
        kept
    }

    fn note(&mut self, kind: ProblemKind, span: Span, message: String, help: Option<&str>, key: Option<&str>) {
        let path = key.map_or_else(|| self.path.clone(), |key| self.path.key(key));
        self.findings.push(Problem { path, help: help.map(ToOwned::to_owned), ..finding(kind, span, message) });
    }

    fn charge(&mut self, span: Span, size: Size) -> Step<()> {
        self.values += size.values;
        self.keys += size.keys;
        if size.depth > self.limits.depth {
            return Err(finding(
                ProblemKind::TooDeep,
                span,
                format!("values nest more than {} deep", self.limits.depth),
            ));
        }
        if self.values > self.limits.values {
            let message = format!("there are more than {} values, aliases expanded", self.limits.values);
            return Err(finding(ProblemKind::TooMany, span, message));
        }
        if self.keys > self.limits.keys {
            return Err(finding(
                ProblemKind::TooMany,
                span,
                format!("there are more than {} keys, aliases expanded", self.limits.keys),
            ));
        }
        Ok(())
    }
}

fn next<'input>(parser: &mut Events<'input>) -> Step<(Event<'input>, Span)> {
    match parser.next_event() {
        Some(Ok((event, span))) => Ok((event, stretch(span.start, span.end))),
        Some(Err(error)) => Err(syntax(error.info(), stretch(*error.marker(), *error.marker()))),
        None => Ok((Event::StreamEnd, Span::default())),
    }
}

/// Turns a message of the scanner into a problem, with the most likely mistake of its author as help.
fn syntax(info: &str, span: Span) -> Problem {
    if info.contains("recursion limit") {
        return finding(ProblemKind::TooDeep, span, "values nest too deep");
    }
    let hints = [
        ("unknown anchor", "put a text that begins with `*` in quotes"),
        ("unknown escape", "use single quotes for a text with backslashes, or double each backslash"),
        ("mapping values are not allowed", "put a text that contains `: ` in quotes, or use a block with `|`"),
        ("illegal placement of ':'", "look for a bracket or quote that was not closed before"),
        ("trailing content", "inside single quotes, write a quote twice: `''`"),
        ("did not find expected ','", "inside `{ }` and `[ ]`, put texts with brackets, braces or commas in quotes"),
        ("tab", "indent with blanks"),
        ("end of stream", "look for a quote or bracket that was not closed"),
    ];
    let help = hints.into_iter().find(|(words, _)| info.contains(words)).map(|(_, hint)| hint.to_owned());
    Problem { help, ..finding(ProblemKind::Syntax, span, info) }
}

/// Recognises a template that is not in quotes: a map whose only key is a map with only one word. Returns the template
/// that was meant.
fn unquoted(outer: Span, key: &Node) -> Option<String> {
    match key.entries()? {
        [only] if only.value.kind == Kind::Null && key.span.start == outer.start + 1 => {
            Some(format!("{{{{ {} }}}}", only.key))
        }
        _ => None,
    }
}

fn stretch(start: Marker, end: Marker) -> Span {
    Span {
        start: start.index(),
        end: end.index().max(start.index()),
        line: start.line().max(1),
        column: start.col() + 1,
    }
}

fn up_to(start: Span, end: Span) -> Span {
    Span { end: end.start.max(start.end), ..start }
}

fn finding(kind: ProblemKind, span: Span, message: impl Into<String>) -> Problem {
    Problem { kind, message: message.into(), help: None, path: Path::default(), span }
}

fn is_string_tag(tag: &Tag) -> bool {
    tag.is_yaml_core_schema() && tag.suffix == "str"
}

fn depth_of(node: &Node) -> usize {
    match &node.kind {
        Kind::List(items) => 1 + items.iter().map(depth_of).max().unwrap_or(0),
        Kind::Map(entries) => 1 + entries.iter().map(|entry| depth_of(&entry.value)).max().unwrap_or(0),
        _ => 0,
    }
}

/// A plain scalar by YAML 1.2's core schema: `no` and `1_000` are strings, `.inf` is not a number that we use.
fn resolve(text: &str) -> Kind {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" => Kind::Bool(true, text.to_owned()),
        "false" | "False" | "FALSE" => Kind::Bool(false, text.to_owned()),
        _ => Number::parse(text).map_or_else(|| Kind::String(text.to_owned()), Kind::Number),
    }
}
