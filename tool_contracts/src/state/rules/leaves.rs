//! `never … with … from`: the values that a tool gave, and whether an argument contains one of them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Bound;

use serde_json::Value as Json;

use crate::canonical::canonical;

/// Values shorter than this, in characters, are not looked for: they turn up by chance.
const LEAST_CHARACTERS: usize = 8;
/// A longer value, in bytes, is looked for by its beginning of about this length.
const MOST_LEAF_BYTES: usize = 4096;
/// The most values that are remembered.
const MOST_LEAVES: usize = 10_000;
/// The most bytes of values that are remembered.
const MOST_BYTES: usize = 1024 * 1024;

/// The leaves of a tool's outputs, each with the call that gave it first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leaves {
    texts: BTreeMap<String, String>,
    bytes: usize,
    /// The call whose output did not fit any more.
    overflow: Option<String>,
}

/// A reason for which an argument is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeafMatch<'a> {
    /// It contains a value that this call gave.
    From(&'a str),
    /// Unknown: this call gave more values than are remembered.
    Unknown(&'a str),
}

/// A leaf of a value, as text.
struct Leaf<'v> {
    text: Cow<'v, str>,
    is_number: bool,
}

impl Leaves {
    /// Remembers an output. Without one there is nothing that could flow.
    pub(super) fn add(&mut self, call: &str, output: Option<&Json>) {
        for leaf in output.map(leaves_of).unwrap_or_default() {
            self.add_leaf(call, &leaf.text);
        }
    }

    fn add_leaf(&mut self, call: &str, text: &str) {
        let kept = beginning(text);
        if !is_long_enough(text) || self.texts.contains_key(kept) || self.overflow.is_some() {
            return;
        }
        if self.texts.len() >= MOST_LEAVES || self.bytes + kept.len() > MOST_BYTES {
            self.overflow = Some(call.to_owned());
            return;
        }
        self.bytes += kept.len();
        self.texts.insert(kept.to_owned(), call.to_owned());
    }

    /// True when nothing was given that is looked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.overflow.is_none()
    }

    /// The first leaf that an argument equals or contains.
    pub(crate) fn find(&self, argument: &Json) -> Option<LeafMatch<'_>> {
        let leaves: Vec<_> = leaves_of(argument).into_iter().filter(|leaf| is_long_enough(&leaf.text)).collect();
        let known = leaves.iter().find_map(|leaf| self.known(leaf)).map(LeafMatch::From);
        let unknown = || self.overflow.as_deref().filter(|_| !leaves.is_empty()).map(LeafMatch::Unknown);
        known.or_else(unknown)
    }

    /// Returns the call that gave the leaf's value, or a value in its text.
    fn known(&self, leaf: &Leaf<'_>) -> Option<&str> {
        if leaf.is_number {
            return self.texts.get(leaf.text.as_ref()).map(String::as_str);
        }
        leaf.text.char_indices().find_map(|(at, _)| self.at_beginning(&leaf.text[at..]))
    }

    /// The call that gave a leaf with which a text begins.
    fn at_beginning(&self, text: &str) -> Option<&str> {
        let (last, sign) = text.char_indices().nth(LEAST_CHARACTERS - 1)?;
        let first = &text[..last + sign.len_utf8()];
        let near = self.texts.range::<str, _>((Bound::Included(first), Bound::Unbounded));
        let mut near = near.take_while(|(leaf, _)| leaf.starts_with(first));
        near.find(|(leaf, _)| text.starts_with(leaf.as_str())).map(|(_, call)| call.as_str())
    }
}

fn is_long_enough(text: &str) -> bool {
    text.chars().nth(LEAST_CHARACTERS - 1).is_some()
}

/// The part of a text that is remembered.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(MOST_LEAF_BYTES)]
}

fn leaves_of(value: &Json) -> Vec<Leaf<'_>> {
    let mut leaves = Vec::new();
    collect(value, &mut leaves);
    leaves
}

/// Strings and numbers at any depth. A string that is JSON itself, as results of tools often are, gives its leaves too.
fn collect<'v>(value: &'v Json, leaves: &mut Vec<Leaf<'v>>) {
    match value {
        Json::Array(items) => items.iter().for_each(|item| collect(item, leaves)),
        Json::Object(map) => map.values().for_each(|item| collect(item, leaves)),
        Json::Number(_) => leaves.push(Leaf { text: canonical(value).into(), is_number: true }),
        Json::String(text) => {
            leaves.push(Leaf { text: text.into(), is_number: false });
            leaves.extend(inner_leaves(text));
        }
        Json::Null | Json::Bool(_) => {}
    }
}

/// The leaves of a text that is a JSON object or list; one level of it.
fn inner_leaves(text: &str) -> Vec<Leaf<'static>> {
    let inner = Some(text).filter(|text| text.trim_start().starts_with(['{', '[']));
    let inner: Option<Json> = inner.and_then(|text| serde_json::from_str(text).ok());
    let mut leaves = Vec::new();
    let mut open: Vec<&Json> = inner.iter().collect();
    while let Some(value) = open.pop() {
        match value {
            Json::Array(items) => open.extend(items),
            Json::Object(map) => open.extend(map.values()),
            Json::Number(_) => leaves.push(Leaf { text: canonical(value).into(), is_number: true }),
            Json::String(text) => leaves.push(Leaf { text: text.clone().into(), is_number: false }),
            Json::Null | Json::Bool(_) => {}
        }
    }
    leaves
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::{LeafMatch, Leaves, MOST_LEAVES};

    #[track_caller]
    fn check(output: Json, argument: Json, expected: bool) {
        let mut leaves = Leaves::default();
        leaves.add("read", Some(&output));
        assert_eq!(leaves.find(&argument) == Some(LeafMatch::From("read")), expected, "{output} in {argument}");
    }

    #[test]
    fn leaves_of_eight_characters_are_found_at_any_depth_and_inside_of_texts() {
        check(json!({"a": [{"b": "hunter22"}]}), json!("hunter22"), true);
        check(json!({"a": "hunter22"}), json!({"text": ["the password is hunter22!"]}), true);
        check(json!({"a": "hunter2"}), json!("hunter2"), false);
        check(json!({"a": "hunter22"}), json!("hunter2"), false);
        check(json!({"a": "pässwörd"}), json!("mein pässwörd ist"), true);
        check(json!({"hunter22": true}), json!("hunter22"), false);
        check(json!({"a": "hunter22 and more"}), json!("hunter22"), false);
        check(json!({"a": "hunter22-a", "b": "hunter22-b"}), json!("xx hunter22-b"), true);
    }

    #[test]
    fn numbers_are_compared_by_their_canonical_text() {
        check(json!({"n": 12_345_678}), json!(12_345_678.0), true);
        check(json!({"n": 12_345_678}), json!("account 12345678"), true);
        check(json!({"n": "12345678"}), json!(12_345_678), true);
        check(json!({"n": 12_345_678}), json!(912_345_678), false);
        check(json!({"n": 1_234_567}), json!(1_234_567), false);
    }

    #[test]
    fn a_text_that_is_json_gives_its_leaves_too() {
        let inside = json!({"content": [{"text": "{\"key\": \"hunter22\"}"}]});
        check(inside.clone(), json!("hunter22"), true);
        check(json!({"key": "two\nlines"}), json!({"body": "{\"x\": \"two\\nlines\"}"}), true);
    }

    #[test]
    fn a_long_leaf_is_looked_for_by_its_beginning() {
        check(json!("x".repeat(5000)), json!(format!("{}, and no more", "x".repeat(4096))), true);
        check(json!("x".repeat(5000)), json!("x".repeat(4095)), false);
    }

    #[test]
    fn beyond_the_limit_nobody_can_tell() {
        let mut leaves = Leaves::default();
        let output: Vec<_> = (0..=MOST_LEAVES).map(|place| format!("value-{place:05}")).collect();
        leaves.add("big", Some(&json!(output)));
        assert_eq!(leaves.find(&json!("value-00001")), Some(LeafMatch::From("big")));
        assert_eq!(leaves.find(&json!("something else")), Some(LeafMatch::Unknown("big")));
        assert_eq!(leaves.find(&json!({"short": "text"})), None);
    }
}
