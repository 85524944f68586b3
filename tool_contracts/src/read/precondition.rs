//! Preconditions: what must have happened before.

use super::tool::Source;
use crate::code::Code;
use crate::diagnostic::Place;
use crate::invariant::{Context, Invariant};
use crate::json_path::JsonPath;
use crate::reader::{At, Named, Reader};

/// An earlier call, a number of steps, or both.
#[derive(Debug, Clone)]
pub(crate) struct Precondition {
    pub(crate) prior: Option<PriorCall>,
    pub(crate) steps: Option<u64>,
    pub(crate) place: Place,
}

/// An earlier call that is required.
#[derive(Debug, Clone)]
pub(crate) struct PriorCall {
    pub(crate) tool: Named,
    pub(crate) with_output: Vec<Invariant>,
    pub(crate) resource: Option<ResourceBind>,
}

/// The entity that both calls must be about.
#[derive(Debug, Clone)]
pub(crate) struct ResourceBind {
    pub(crate) bind_from: Source,
    pub(crate) path: JsonPath,
}

impl Precondition {
    pub(crate) fn read(at: &At<'_>, reader: &mut Reader) -> Option<Self> {
        if !reader.is_map(at, &["requires_prior_tool", "with_output", "resource", "requires_step_count"]) {
            return None;
        }
        let tool = at.present("requires_prior_tool").and_then(|value| reader.named(&value));
        let with_output = Invariant::read_list(at, "with_output", reader, Context::Full);
        let resource = at.present("resource").and_then(|value| read_resource(&value, reader));
        let count = at.present("requires_step_count");
        let has_details = at.present("with_output").is_some() || at.present("resource").is_some();
        if tool.is_none() && (count.is_none() || has_details) && at.present("requires_prior_tool").is_none() {
            let message = "a precondition states `requires_prior_tool` or `requires_step_count`";
            reader.report(Code::InvalidPrecondition, at, message);
        }
        let steps = count.and_then(|value| read_step_count(&value, reader));
        let prior = tool.map(|tool| PriorCall { tool, with_output, resource });
        Some(Self { prior, steps, place: at.place.clone() })
    }
}

fn read_resource(at: &At<'_>, reader: &mut Reader) -> Option<ResourceBind> {
    if !reader.is_map(at, &["bind_from", "path"]) {
        return None;
    }
    let bind_from = reader.word_of(at, "bind_from", &Source::WORDS).unwrap_or(Source::Arguments);
    Some(ResourceBind { bind_from, path: reader.required_path(at, "path")? })
}

fn read_step_count(at: &At<'_>, reader: &mut Reader) -> Option<u64> {
    if !reader.is_map(at, &["gte"]) {
        return None;
    }
    reader.required(at, "gte")?;
    reader.whole(at, "gte", Code::InvalidOperand, 0)
}
