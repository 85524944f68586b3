//! Aggregates: figures over all calls of a session, with bounds.

use serde_json::Value as Json;
use yaml_tree::Kind;

use crate::code::Code;
use crate::json_path::JsonPath;
use crate::reader::{At, Named, Reader};
use crate::value::{Num, same};

/// A figure over the calls of some tools.
#[derive(Debug, Clone)]
pub(crate) struct Aggregate {
    pub(crate) name: Named,
    pub(crate) metric: Metric,
    /// The tools, or every tool.
    pub(crate) tools: Option<Vec<Named>>,
    pub(crate) path: Option<JsonPath>,
    pub(crate) bounds: Bounds,
    pub(crate) reason: String,
    pub(crate) when: Vec<ConditionalBounds>,
    /// True when it is judged once, as the session closes.
    pub(crate) is_at_end: bool,
    pub(crate) rule: String,
}

/// The kind of figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Metric {
    Sum,
    Count,
    Max,
    Min,
    CountDistinct,
}

impl Metric {
    const WORDS: [(&'static str, Self); 5] = [
        ("sum", Self::Sum),
        ("count", Self::Count),
        ("max", Self::Max),
        ("min", Self::Min),
        ("count_distinct", Self::CountDistinct),
    ];

    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}

/// Bounds, either of which may be missing.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bounds {
    pub(crate) gte: Option<Num>,
    pub(crate) lte: Option<Num>,
}

/// Bounds that replace the others while a binding has some value.
#[derive(Debug, Clone)]
pub(crate) struct ConditionalBounds {
    pub(crate) binding: Named,
    pub(crate) condition: Bounds,
    pub(crate) equals: Option<Json>,
    pub(crate) then: Bounds,
}

impl ConditionalBounds {
    /// True when the condition holds of a binding's value.
    pub(crate) fn holds(&self, value: &Json) -> bool {
        let number = Num::of(value);
        self.condition.gte.is_none_or(|bound| number.is_some_and(|number| bound.at_most(number)))
            && self.condition.lte.is_none_or(|bound| number.is_some_and(|number| number.at_most(bound)))
            && self.equals.as_ref().is_none_or(|wanted| same(value, wanted))
    }
}

impl Aggregate {
    pub(crate) fn read(at: &At<'_>, reader: &mut Reader) -> Option<Self> {
        let known = ["name", "metric", "tool", "path", "gte", "lte", "reason", "when", "at"];
        if !reader.is_map(at, &known) {
            return None;
        }
        let name = reader.required_name(at, "name");
        let metric = reader.required(at, "metric").and_then(|value| reader.word(&value, &Metric::WORDS));
        let tools = reader.required(at, "tool").map(|value| read_tools(&value, reader));
        let path = at.present("path").and_then(|value| reader.path(&value));
        if metric.is_some_and(|metric| metric != Metric::Count) && at.present("path").is_none() {
            reader.report(Code::AggregatePathRequired, at, "every metric but `count` needs a `path`");
        }
        let bounds = read_bounds(at, "gte", "lte", reader);
        if at.present("gte").is_none() && at.present("lte").is_none() {
            reader.report(Code::AggregateBoundRequired, at, "an aggregate needs `gte` or `lte`");
        }
        let reason = reader.reason(at, Code::ReasonRequired, "an aggregate");
        let when = reader.items(at, "when", read_when);
        let is_at_end = reader.word_of(at, "at", &[("each_call", false), ("session_end", true)]).unwrap_or(false);
        let name = name?;
        let rule = format!("aggregates/{}", name.name);
        Some(Self { name, metric: metric?, tools: tools?, path, bounds, reason, when, is_at_end, rule })
    }

    /// True when calls of this tool count.
    pub(crate) fn is_about(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|named| named.name == tool))
    }
}

/// The tools of an aggregate; `None` for `*`.
fn read_tools(at: &At<'_>, reader: &mut Reader) -> Option<Vec<Named>> {
    match &at.node.kind {
        Kind::String(word) if word == "*" => None,
        Kind::List(_) => {
            let items = reader.list(at);
            Some(items.iter().filter_map(|item| reader.named(item)).collect())
        }
        _ => Some(reader.named(at).into_iter().collect()),
    }
}

fn read_bounds(at: &At<'_>, low: &str, high: &str, reader: &mut Reader) -> Bounds {
    let mut bound = |key| reader.number(at, key, Code::InvalidOperand, "a number", |_| true);
    let bounds = Bounds { gte: bound(low), lte: bound(high) };
    if let (Some(gte), Some(lte)) = (bounds.gte, bounds.lte)
        && !gte.at_most(lte)
    {
        reader.report(Code::EmptyRange, at, format!("`{low}` is above `{high}`"));
    }
    bounds
}

fn read_when(at: &At<'_>, reader: &mut Reader) -> Option<ConditionalBounds> {
    if !reader.is_map(at, &["binding", "gte", "lte", "equals", "then_gte", "then_lte"]) {
        return None;
    }
    let binding = reader.required_name(at, "binding");
    if ["gte", "lte", "equals"].iter().all(|key| at.get(key).is_none()) {
        reader.report(Code::WhenConditionRequired, at, "`when` needs `gte`, `lte` or `equals`");
    }
    if ["then_gte", "then_lte"].iter().all(|key| at.present(key).is_none()) {
        reader.report(Code::WhenOverrideRequired, at, "`when` needs `then_gte` or `then_lte`");
    }
    let condition = read_bounds(at, "gte", "lte", reader);
    let equals = at.get("equals").map(|value| value.node.to_json());
    let then = read_bounds(at, "then_gte", "then_lte", reader);
    Some(ConditionalBounds { binding: binding?, condition, equals, then })
}
