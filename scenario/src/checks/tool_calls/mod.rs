//! `tool_calls`: did the agent call the right tools, in the right way and the right number of times?

mod count;
mod found;
mod matching;
#[cfg(test)]
mod tests;
mod trajectory;
mod validate;

pub use trajectory::{ExpectedCall, Trajectory};

use serde_json::Value as Json;

use super::Case;
use super::compare::Mismatch;
use super::expected::Expected;
use crate::spec::section::{choice, section};
use crate::spec::types::{CalledTool, JsonPath, Table};
use crate::untrusted;
use crate::verdict::{ErrorCause, Verdict};
use count::Certainty;
use found::{FoundCall, Reading};
use matching::Wanted;

/// Number of characters of a tool's name that a message shows.
const MOST_NAME: usize = 100;
/// Maximum number of calls that the details of a verdict name.
const MOST_LISTED: usize = 50;

section! {
    /// Looks at the calls of tools, as the gateways saw them: how often one was made with which arguments (`tool`), which were made
    /// in all (`order`, or `trajectory` with arguments), and which were not (`not_called`). One of `tool`, `order` and `trajectory`
    /// can be given, and `not_called` beside it or alone.
    ///
    /// A call counts once, however often it was sighted: proposed by the model, executed at a gateway, and reported back. Calls
    /// stand in the order of their executions, and those that no gateway executed in the order of their proposals. Two executions of
    /// one proposal are two calls. The same proposal in two answers to the same request is one: a client that repeats its request gets
    /// the same answer again. A result that the agent reports for a call that nobody saw is no call.
    ///
    /// A reference trajectory is a file beside the spec, in YAML or JSON (`.yaml`, `.yml`, `.json`, at most 256 KiB): a list of at
    /// most 200 calls, each with `tool` and, where they matter, `arguments` as here.
    ///
    /// More calls than the gateways keep are only counted. What they could change about a verdict fails then, and says so.
    ///
    /// ```yaml
    /// check:
    ///   type: tool_calls
    ///   tool: refund_order
    ///   arguments:
    ///     order_id: "1001"
    ///     amount: { gt: 0, lte: 25 }
    ///   count: 1
    ///   not_called: [delete_order]
    /// ```
    ///
    /// ```yaml
    /// check: { type: tool_calls, trajectory: trajectories/refund.yaml, match: superset }
    /// ```
    ///
    /// ```text
    /// # trajectories/refund.yaml
    /// - tool: read_order
    /// - tool: refund_order
    ///   arguments: { order_id: "1001", amount: { lte: 25 } }
    /// ```
    pub struct ToolCalls {
        /// The tool whose calls are counted.
        tool: Option<CalledTool>,
        /// The arguments that a call of `tool` must have to count, by their names or their places (`items[0].id`): a value, which must
        /// be equal, or comparators. An argument that is not there does not match; other arguments are free. Arguments are those of
        /// the execution, or those of the proposal where no gateway executed the call.
        arguments: Table<JsonPath, Expected> = Table::default(),
        /// How many calls of `tool` there must be: a number, or comparators (`{ gte: 1, lte: 3 }`). At least one without it.
        count: Option<Expected>,
        /// The tools that must be called, one entry for each call. An empty list stands for no call at all.
        order: Option<Vec<CalledTool>>,
        /// A file of the spec's folder with the calls that must be made.
        trajectory: Option<Trajectory>,
        /// How the calls are compared with `order` or `trajectory`.
        matching as "match": MatchMode = MatchMode::Strict,
        /// Tools that must not be called.
        not_called: Vec<CalledTool> = Vec::new(),
        /// The sightings to look at, when it should not be every call: `executed` leaves out proposals that no gateway carried out.
        source: Option<CallSource>,
    }
}

choice! {
    /// How calls are compared with a list of expected ones.
    pub enum MatchMode {
        /// The same calls in the same order, and no other.
        Strict = "strict",
        /// The same calls in any order, and no other.
        Unordered = "unordered",
        /// No call but those of the list, each at most as often as it stands there. Some may be missing.
        Subset = "subset",
        /// All calls of the list, in any order. There may be others.
        Superset = "superset",
    }
}

choice! {
    /// The sightings of calls that a check looks at.
    pub enum CallSource {
        /// What the model proposed, with the arguments that it wrote, whatever the agent made of it.
        Proposed = "proposed",
        /// What a gateway carried out, with the arguments that it was given.
        Executed = "executed",
    }
}

/// The reason why a check on calls does not pass.
enum Problem {
    /// By what was seen; `step` is the place of the call in question, from 1.
    Found { message: String, step: Option<usize> },
    /// Because something was seen in part only.
    Unknown(String),
    /// Because it cannot be used.
    Broken(String),
}

impl Problem {
    fn found(message: impl Into<String>) -> Self {
        Self::Found { message: message.into(), step: None }
    }

    fn at(step: usize, message: impl Into<String>) -> Self {
        Self::Found { message: message.into(), step: Some(step) }
    }
}

impl From<Mismatch> for Problem {
    fn from(mismatch: Mismatch) -> Self {
        match mismatch {
            Mismatch::Found(message) => Self::found(message),
            Mismatch::Broken(message) => Self::Broken(message),
        }
    }
}

impl ToolCalls {
    pub(super) fn judge(&self, case: &Case<'_>) -> Verdict {
        let calls = found::calls(case.evidence, self.source);
        let names: Vec<Json> = calls.iter().take(MOST_LISTED).map(|call| call.shown().into()).collect();
        let verdict = match self.look_at(&calls, case) {
            Ok(()) => Verdict::passed(),
            Err(Problem::Found { message, step: None }) => Verdict::failed(message),
            Err(Problem::Found { message, step: Some(step) }) => Verdict::failed(message).with_detail("step", step),
            Err(Problem::Unknown(message)) => Verdict::unproven(message),
            Err(Problem::Broken(message)) => return Verdict::errored(ErrorCause::UnusableCheck, message),
        };
        verdict.with_detail("calls", names).with_detail("number_of_calls", calls.len())
    }

    fn look_at(&self, calls: &[FoundCall<'_>], case: &Case<'_>) -> Result<(), Problem> {
        let unseen = case.evidence.uncounted_tool_calls();
        self.look_for_forbidden(calls)?;
        let is_open = match (&self.tool, &self.order, &self.trajectory) {
            (Some(tool), ..) => self.count_calls(tool, calls, unseen, case)?,
            (_, Some(order), _) => self.compare(&order.iter().map(Wanted::of_tool).collect::<Vec<_>>(), calls, case)?,
            (.., Some(trajectory)) => self.compare(&trajectory.wanted(), calls, case)?,
            (None, None, None) => true,
        };
        if unseen > 0 && (is_open || !self.not_called.is_empty()) {
            let message = format!("{unseen} calls of tools were counted and not kept, and nobody knows which they are");
            return Err(Problem::Unknown(message));
        }
        Ok(())
    }

    /// Fails at the first call of a tool that must not be called.
    fn look_for_forbidden(&self, calls: &[FoundCall<'_>]) -> Result<(), Problem> {
        let is_forbidden = |call: &FoundCall<'_>| self.not_called.iter().any(|tool| tool.as_str() == call.tool);
        match calls.iter().position(is_forbidden) {
            Some(place) => {
                let tool = calls[place].shown();
                Err(Problem::at(place + 1, format!("expected no call of `{tool}`, found one: call {}", place + 1)))
            }
            None => Ok(()),
        }
    }

    /// Compares the calls with a list; returns true if calls that were not kept could change the result.
    fn compare(&self, wanted: &[Wanted<'_>], calls: &[FoundCall<'_>], case: &Case<'_>) -> Result<bool, Problem> {
        matching::compare(self.matching, wanted, calls, case.values)?;
        Ok(self.matching != MatchMode::Superset)
    }

    /// Counts the calls of a tool that have the arguments. What was not kept is counted for either.
    fn count_calls(
        &self,
        tool: &CalledTool,
        calls: &[FoundCall<'_>],
        unseen: u64,
        case: &Case<'_>,
    ) -> Result<bool, Problem> {
        let (mut counted, mut unreadable, mut nearest) = (0_u64, 0_u64, None);
        for call in calls.iter().filter(|call| call.tool == tool.as_str()) {
            match call.read(&self.arguments, case.values)? {
                Reading::Matches => counted += 1,
                Reading::Differs(problem) => nearest = Some(problem),
                Reading::Unreadable => unreadable += 1,
            }
        }
        let most = counted.saturating_add(unreadable).saturating_add(unseen);
        let which = if self.arguments.is_empty() { "" } else { " with these arguments" };
        let calls_of = format!("calls of `{tool}`{which}");
        match count::hold_within(self.count.as_ref(), counted..=most, case.values)? {
            Certainty::Holds => Ok(false),
            Certainty::Fails(expected) => {
                let near = nearest.map(|problem| format!("; another call of it has {problem}")).unwrap_or_default();
                Err(Problem::found(format!("{calls_of}: {expected}{near}")))
            }
            Certainty::Open if unreadable > 0 => {
                let message = format!("{calls_of}: {counted}, and the arguments of {unreadable} more cannot be read");
                Err(Problem::Unknown(message))
            }
            Certainty::Open => Ok(true),
        }
    }
}

/// Returns an untrusted name of a tool, for a message.
fn shown(tool: &str) -> String {
    untrusted::line(tool, MOST_NAME)
}
