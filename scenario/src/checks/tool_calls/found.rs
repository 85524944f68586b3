//! The calls that a check on calls looks at, and their arguments.

use serde_json::Value as Json;

use super::{CallSource, Expected, Problem, shown};
use crate::checks::compare::Mismatch;
use crate::evidence::{Datum, Evidence, ToolCall, decoded_json};
use crate::json_path;
use crate::spec::template::Bindings;
use crate::spec::types::{JsonPath, Table};

/// A call that was found.
pub(super) struct FoundCall<'a> {
    /// The tool.
    pub(super) tool: &'a str,
    /// The entry of the call trace that has its arguments.
    entry: &'a ToolCall,
}

/// The arguments of a call beside those that are expected.
pub(super) enum Reading {
    /// They are as expected.
    Matches,
    /// They are others; this is the first difference.
    Differs(String),
    /// They are no JSON object, or too long to be kept.
    Unreadable,
}

/// The calls of a run, in the order in which these sightings of them were made.
pub(super) fn calls(evidence: &Evidence, source: Option<CallSource>) -> Vec<FoundCall<'_>> {
    let sighted = evidence.calls().into_iter().filter_map(|call| match source {
        None => Some((call.seen, call.proposal)),
        Some(CallSource::Proposed) => Some((call.proposal?, None)),
        Some(CallSource::Executed) => Some((call.execution.filter(|_| call.was_carried_out())?, call.proposal)),
    });
    let mut sighted: Vec<_> = sighted.collect();
    sighted.sort_by_key(|(sighting, _)| sighting.seq);
    sighted.into_iter().map(|(sighting, proposal)| FoundCall::new(sighting, proposal)).collect()
}

impl<'a> FoundCall<'a> {
    /// A call with its own arguments, or those of its proposal where they were not written down again.
    fn new(sighting: &'a ToolCall, proposal: Option<&'a ToolCall>) -> Self {
        let entry = proposal.filter(|_| sighting.arguments.is_null()).unwrap_or(sighting);
        Self { tool: &sighting.tool, entry }
    }

    /// The name of the tool, for a message.
    pub(super) fn shown(&self) -> String {
        shown(self.tool)
    }

    /// Compares its arguments with those that are expected.
    pub(super) fn read(
        &self,
        expected: &Table<JsonPath, Expected>,
        bindings: &dyn Bindings,
    ) -> Result<Reading, Problem> {
        if expected.is_empty() {
            return Ok(Reading::Matches);
        }
        let Some(arguments) = self.arguments() else { return Ok(Reading::Unreadable) };
        for (place, expected) in expected.iter() {
            let Some(found) = json_path::find(&arguments, place.as_str()) else {
                return Ok(Reading::Differs(format!("no argument `{place}`")));
            };
            match expected.holds(&Datum::from_json(found), bindings) {
                Ok(()) => {}
                Err(Mismatch::Found(message)) => return Ok(Reading::Differs(format!("`{place}`: {message}"))),
                Err(Mismatch::Broken(message)) => return Err(Problem::Broken(format!("`{place}`: {message}"))),
            }
        }
        Ok(Reading::Matches)
    }

    /// The arguments as a JSON object. Large and deep ones are kept as the text that the model wrote.
    fn arguments(&self) -> Option<Json> {
        let mut arguments = match &self.entry.arguments {
            Json::String(text) => serde_json::from_str(text).ok()?,
            other => other.clone(),
        };
        decoded_json(&mut arguments);
        Some(arguments).filter(Json::is_object)
    }
}
