//! Checkpoints: calls that wait for a person.

use yaml_tree::Kind;

use super::tool::SideEffect;
use crate::code::Code;
use crate::invariant::{Context, Invariant};
use crate::json_path::JsonPath;
use crate::reader::{At, Named, Reader};

/// The shortest time that a person gets.
const LEAST_SECONDS: i128 = 30;

/// A rule that holds calls.
#[derive(Debug, Clone)]
pub(crate) struct Checkpoint {
    pub(crate) name: String,
    /// The tool, or `*`.
    pub(crate) tool: Named,
    pub(crate) when: When,
    pub(crate) side_effect: Option<SideEffect>,
    pub(crate) timeout_seconds: u64,
    /// True when a call passes that nobody decided about.
    pub(crate) allows_on_timeout: bool,
    pub(crate) context: Vec<ContextField>,
    pub(crate) rule: String,
}

/// The condition of a checkpoint.
#[derive(Debug, Clone)]
pub(crate) enum When {
    Always,
    Any(Vec<Invariant>),
    All(Vec<Invariant>),
}

/// An argument that the approver sees.
#[derive(Debug, Clone)]
pub(crate) struct ContextField {
    pub(crate) path: JsonPath,
    pub(crate) label: String,
}

impl Checkpoint {
    /// Reads the `checkpoint` of a tool file.
    pub(crate) fn read_of_tool(at: &At<'_>, tool: &str, reader: &mut Reader) -> Option<Self> {
        let known = ["when", "when_side_effect", "match", "timeout_seconds", "on_timeout", "context"];
        if !reader.is_map(at, &known) {
            return None;
        }
        let tool = Named { name: tool.to_owned(), place: at.place.clone() };
        Self::read_rest(at, format!("checkpoint/{}", tool.name), tool, reader)
    }

    /// Reads an entry of the session's `checkpoints`.
    pub(crate) fn read_of_session(at: &At<'_>, reader: &mut Reader) -> Option<(Named, Self)> {
        let known = ["name", "tool", "when", "when_side_effect", "match", "timeout_seconds", "on_timeout", "context"];
        if !reader.is_map(at, &known) {
            return None;
        }
        let name = reader.required_name(at, "name");
        let tool = reader.required_name(at, "tool");
        let unnamed = || Named { name: String::new(), place: at.place.clone() };
        let rule = format!("checkpoints/{}", name.as_ref().map_or("", |name| &name.name));
        let read = Self::read_rest(at, rule, tool.clone().unwrap_or_else(unnamed), reader);
        tool?;
        Some((name?, read?))
    }

    /// True when it is about calls of this tool.
    pub(crate) fn is_about(&self, tool: &str) -> bool {
        self.tool.name == tool || self.tool.name == "*"
    }

    fn read_rest(at: &At<'_>, rule: String, tool: Named, reader: &mut Reader) -> Option<Self> {
        let timeout_seconds = read_timeout(at, reader);
        let allows_on_timeout = reader.word_of(at, "on_timeout", &[("deny", false), ("allow", true)]).unwrap_or(false);
        let is_all = reader.word_of(at, "match", &[("any", false), ("all", true)]).unwrap_or(false);
        let side_effect = reader.word_of(at, "when_side_effect", &SideEffect::WORDS);
        let context = reader.items(at, "context", read_context);
        let when = read_when(at, is_all, reader)?;
        let name = rule.clone();
        Some(Self {
            name,
            tool,
            when,
            side_effect,
            timeout_seconds: timeout_seconds?,
            allows_on_timeout,
            context,
            rule,
        })
    }
}

fn read_timeout(at: &At<'_>, reader: &mut Reader) -> Option<u64> {
    let value = reader.required(at, "timeout_seconds")?;
    let seconds = value.node.to_json().as_f64();
    if seconds.is_some_and(|seconds| seconds < 30.0) {
        let message = format!("a person needs at least {LEAST_SECONDS} seconds, found {}", value.node.describe());
        reader.report(Code::CheckpointTimeoutTooShort, &value, message);
        return None;
    }
    reader.whole(at, "timeout_seconds", Code::InvalidLimit, LEAST_SECONDS)
}

fn read_when(at: &At<'_>, is_all: bool, reader: &mut Reader) -> Option<When> {
    let Some(when) = at.present("when") else {
        reader.report(Code::InvalidCheckpoint, at, "a checkpoint needs `when`: `always`, or conditions");
        return None;
    };
    if matches!(&when.node.kind, Kind::String(word) if word == "always") {
        return Some(When::Always);
    }
    if !matches!(&when.node.kind, Kind::List(items) if !items.is_empty()) {
        reader.report(Code::InvalidCheckpoint, &when, "`when` is `always` or at least one condition");
        return None;
    }
    let conditions = Invariant::read_list(at, "when", reader, Context::Condition);
    Some(if is_all { When::All(conditions) } else { When::Any(conditions) })
}

fn read_context(at: &At<'_>, reader: &mut Reader) -> Option<ContextField> {
    if !reader.is_map(at, &["path", "label"]) {
        return None;
    }
    let path = reader.required_path(at, "path");
    let label = reader.required_name(at, "label");
    Some(ContextField { path: path?, label: label?.name })
}
