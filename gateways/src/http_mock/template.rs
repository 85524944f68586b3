//! `{{ … }}` in the answers of routes with `template: true`.
//!
//! A name that has no value for this request stays as it is, and so does any other `{{`; `\{{` is a literal `{{`. What a
//! name became is not looked at again. A text inside a JSON answer that is exactly one name keeps the type of its value,
//! as everywhere in specs: `{ amount: "{{ request.json.amount }}" }` answers with a number when it was asked with one. An
//! answer that is a text takes values as they are, without quoting them.

use indexmap::IndexMap;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value as Json};

use super::matching::PathParams;
use super::request::Received;

/// The longest name; a `{{` without a `}}` within this many bytes is no name.
const LONGEST_NAME: usize = 300;

/// Values that are the same for every request of a scenario.
#[derive(Debug, Clone, Default)]
pub(super) struct Constants {
    pub(super) seed: u64,
    pub(super) replica: u32,
    pub(super) parameters: IndexMap<String, Json>,
}

/// Values of names for one request.
pub(super) struct Names<'a> {
    pub(super) request: &'a Received<'a>,
    pub(super) params: &'a PathParams,
    pub(super) constants: &'a Constants,
}

/// An answer became larger than it may.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

/// A rendering of an answer, with the number of bytes that it may still grow by.
pub(super) struct Rendering<'a> {
    names: &'a Names<'a>,
    left: usize,
}

impl<'a> Rendering<'a> {
    pub(super) fn new(names: &'a Names<'a>, most_bytes: usize) -> Self {
        Self { names, left: most_bytes }
    }

    /// A text with its names replaced.
    pub(super) fn text(&mut self, source: &str) -> Result<String, TooLarge> {
        let mut rendered = String::new();
        let mut rest = source;
        while let Some(at) = rest.find("{{") {
            let (before, after) = (&rest[..at], &rest[at + 2..]);
            if let Some(before) = before.strip_suffix('\\') {
                self.push(&mut rendered, before)?;
                self.push(&mut rendered, "{{")?;
                rest = after;
                continue;
            }
            self.push(&mut rendered, before)?;
            rest = match named(after).and_then(|(name, tail)| Some((self.names.value(name)?, tail))) {
                Some((value, tail)) => {
                    self.push(&mut rendered, &text_of(value))?;
                    tail
                }
                None => {
                    self.push(&mut rendered, "{{")?;
                    after
                }
            };
        }
        self.push(&mut rendered, rest)?;
        Ok(rendered)
    }

    /// A JSON value with the names in its texts replaced; keys stay as they are.
    pub(super) fn json(&mut self, source: &Json) -> Result<Json, TooLarge> {
        match source {
            Json::String(text) => self.value(text),
            Json::Array(items) => items.iter().map(|item| self.json(item)).collect(),
            Json::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| Ok((key.clone(), self.json(value)?)));
                fields.collect::<Result<Map<_, _>, _>>().map(Json::Object)
            }
            other => Ok(other.clone()),
        }
    }

    /// The value of a text that is exactly one name, with its type; otherwise the rendered text.
    fn value(&mut self, text: &str) -> Result<Json, TooLarge> {
        let lone = text.strip_prefix("{{").and_then(named).filter(|(_, tail)| tail.is_empty());
        match lone.and_then(|(name, _)| self.names.value(name)) {
            Some(Json::String(value)) => {
                self.take(value.len())?;
                Ok(value.into())
            }
            Some(value) => {
                self.take(value.to_string().len())?;
                Ok(value)
            }
            None => self.text(text).map(Json::String),
        }
    }

    fn push(&mut self, rendered: &mut String, part: &str) -> Result<(), TooLarge> {
        self.take(part.len())?;
        rendered.push_str(part);
        Ok(())
    }

    fn take(&mut self, bytes: usize) -> Result<(), TooLarge> {
        self.left = self.left.checked_sub(bytes).ok_or(TooLarge)?;
        Ok(())
    }
}

/// Returns the name before `}}`, and the text after it.
fn named(after: &str) -> Option<(&str, &str)> {
    let near = &after[..after.floor_char_boundary(LONGEST_NAME)];
    let end = near.find("}}")?;
    Some((near[..end].trim(), &after[end + 2..]))
}

fn text_of(value: Json) -> String {
    match value {
        Json::String(text) => text,
        other => other.to_string(),
    }
}

impl Names<'_> {
    /// The value of a name; `None` when it has none for this request.
    fn value(&self, name: &str) -> Option<Json> {
        match name.split_once('.') {
            None if name == "seed" => Some(self.constants.seed.into()),
            None if name == "replica" => Some(self.constants.replica.into()),
            Some(("params", name)) => self.constants.parameters.get(name).cloned(),
            Some(("request", field)) => self.field(field),
            _ => None,
        }
    }

    /// A field of the request.
    fn field(&self, field: &str) -> Option<Json> {
        let head = self.request.head;
        let end = field.find(['.', '[']).unwrap_or(field.len());
        let (first, rest) = field.split_at(end);
        let name = rest.strip_prefix('.').filter(|name| !name.is_empty());
        match (first, name) {
            ("json", _) => select(self.request.json()?, rest).cloned(),
            ("method", None) if rest.is_empty() => Some(head.method.as_str().into()),
            ("path", None) if rest.is_empty() => Some(head.path.as_str().into()),
            ("body", None) if rest.is_empty() => Some(String::from_utf8_lossy(self.request.body()).into()),
            ("params", Some(name)) => first_of(self.params, |key| key == name).map(decoded),
            ("query", Some(name)) => first_of(&head.query, |key| key == name).map(Json::from),
            ("headers", Some(name)) => first_of(&head.headers, |key| key.eq_ignore_ascii_case(name)).map(Json::from),
            ("params", None) if rest.is_empty() => Some(all_of(self.params, decoded)),
            ("query", None) if rest.is_empty() => Some(all_of(&head.query, |text| text.into())),
            ("headers", None) if rest.is_empty() => Some(all_of(&head.headers, |text| text.into())),
            _ => None,
        }
    }
}

fn first_of(pairs: &[(String, String)], is_wanted: impl Fn(&str) -> bool) -> Option<&str> {
    pairs.iter().find(|(key, _)| is_wanted(key)).map(|(_, value)| value.as_str())
}

/// Returns all pairs as an object, with the first value of each name.
fn all_of(pairs: &[(String, String)], value: impl Fn(&str) -> Json) -> Json {
    let mut fields = Map::new();
    for (name, text) in pairs {
        fields.entry(name.as_str()).or_insert_with(|| value(text));
    }
    Json::Object(fields)
}

/// A step of a path without its `%` escapes.
fn decoded(step: &str) -> Json {
    percent_decode_str(step).decode_utf8_lossy().into_owned().into()
}

/// The part of a JSON value that a path such as `.items[0].id` names.
fn select<'j>(json: &'j Json, path: &str) -> Option<&'j Json> {
    let mut found = json;
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(indexed) = rest.strip_prefix('[') {
            let (index, more) = indexed.split_once(']')?;
            found = item(found.as_array()?, index.parse().ok()?)?;
            rest = more;
        } else {
            let key = rest.strip_prefix('.')?;
            let end = key.find(['.', '[']).unwrap_or(key.len());
            found = found.as_object()?.get(&key[..end])?;
            rest = &key[end..];
        }
    }
    Some(found)
}

/// The item at an index; negative ones count from the end.
fn item(items: &[Json], index: i64) -> Option<&Json> {
    let from_end = || items.len().checked_sub(usize::try_from(index.unsigned_abs()).ok()?);
    items.get(usize::try_from(index).ok().or_else(from_end)?)
}
