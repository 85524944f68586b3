//! Guesses rules of order, and the types of arguments, from recorded calls.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{SeenCall, SeenTool, guess};
use crate::json_path::JsonPath;
use crate::read::tool::SideEffect;
use crate::value::same;

/// A reading tool that was called before every call of another one, with the same value of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Order<'a> {
    pub(super) tool: &'a str,
    pub(super) prior: &'a str,
    pub(super) same: JsonPath,
}

/// The orders that held in the run, one at most for each tool that does more than read.
pub(super) fn orders<'a>(tools: &[&'a SeenTool]) -> Vec<Order<'a>> {
    let reads = |tool: &SeenTool| guess::side_effect(tool).effect == SideEffect::Read;
    let (readers, others): (Vec<&SeenTool>, Vec<&SeenTool>) = tools.iter().copied().partition(|tool| reads(tool));
    let order = |tool: &&'a SeenTool| {
        let first = tool.calls.first()?.arguments.as_object()?;
        let pairs = first.keys().flat_map(|name| readers.iter().map(move |reader| (name, *reader)));
        let mut held = pairs.filter(|(name, reader)| held(tool, reader, name));
        let (name, reader) = held.next()?;
        Some(Order { tool: &tool.name, prior: &reader.name, same: JsonPath::of_name(name) })
    };
    others.iter().filter_map(order).collect()
}

/// True when every call of a tool came after one of the reader with the same value.
fn held(tool: &SeenTool, reader: &SeenTool, name: &str) -> bool {
    let is_before = |call: &SeenCall, value: &Json| {
        let is_same = |other: &Json| same(other, value);
        reader.calls.iter().any(|one| one.place < call.place && one.arguments.get(name).is_some_and(is_same))
    };
    tool.calls.iter().all(|call| call.arguments.get(name).is_some_and(|value| is_before(call, value)))
}

/// The type of each argument that every call of a tool had, where all values have the same one.
pub(super) fn types(tool: &SeenTool) -> BTreeMap<&str, &'static str> {
    let mut calls = tool.calls.iter().filter_map(|call| call.arguments.as_object());
    let typed = |map: &'_ serde_json::Map<String, Json>, name: &str| map.get(name).and_then(type_of);
    let Some(first) = calls.next() else { return BTreeMap::new() };
    let mut types: BTreeMap<&str, &'static str> =
        first.iter().filter_map(|(name, value)| Some((name.as_str(), type_of(value)?))).collect();
    for call in calls {
        types.retain(|name, kind| typed(call, name) == Some(*kind));
    }
    types
}

fn type_of(value: &Json) -> Option<&'static str> {
    match value {
        Json::String(_) => Some("string"),
        // Whole amounts of one run say nothing about those of the next.
        Json::Number(_) => Some("number"),
        Json::Bool(_) => Some("boolean"),
        Json::Array(_) => Some("array"),
        Json::Object(_) => Some("object"),
        Json::Null => None,
    }
}
