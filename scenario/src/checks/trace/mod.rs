//! `trace`: did the run take the right path, within its bounds, and end as expected?

mod denials;
mod ending;
mod path;
mod seen_steps;
mod step;
#[cfg(test)]
mod tests;
mod validate;

pub use ending::RunStatus;
pub use step::Step;

use serde_json::Value as Json;

use super::Case;
use crate::count_noun;
use crate::spec::section::section;
use crate::spec::types::{Filled, Many, Whole};
use crate::verdict::Verdict;
use seen_steps::SeenSteps;

/// Maximum number of steps and denials that the details of a verdict name.
const MOST_LISTED: usize = 50;
/// Maximum number of steps of a path.
const MOST_STEPS: usize = 200;

section! {
    /// Looks at a run as a whole: the steps that it took, what it used, what was refused, and how it ended. Everything that is given
    /// must hold.
    ///
    /// The steps of a run, in the order of time:
    /// - `llm`: a call of the model that was answered with success. Embeddings, lists of models, and calls that were refused or that
    ///   a fault answered with an error are no steps.
    /// - `tool:NAME`: a call of a tool, once, however often it was sighted: where a gateway executed it, or else where the model
    ///   proposed it (see `tool_calls`).
    /// - `http:SERVICE METHOD /path`: a request that reached an `http_mock` with `record: true`. The path is literal, has parameters
    ///   (`/orders/{id}`), or a `*` at its end, as in routes of mocks; the query does not matter.
    ///
    /// Times have milliseconds. Within one, a request follows the call of a tool and comes before the next call of the model.
    ///
    /// A denial (`min_denials`) is what a gateway of the sandbox refused:
    /// - A host outside: its name was looked up and leads nowhere, or a connection to it was refused. Each host counts once, however
    ///   often it was tried. Names without a dot, reverse names of addresses, and names that a fault hides do not count.
    /// - A call of the model that was refused with a status from 400 to 499: beyond a limit, without the key of the sandbox, for a
    ///   model without price, or of a form that the gateway does not take. Each call counts; answers of faults and of providers do not.
    /// - A call of a tool that the tool gateway refused: an unknown or hidden tool, arguments that do not meet the schema, a definition
    ///   that changed, or one call too many. Each call counts.
    ///
    /// What a `forbidden` rule finds is no denial by itself: it happened.
    ///
    /// ```yaml
    /// check:
    ///   type: trace
    ///   path: [llm, "tool:refund_order", "http:shop POST /refunds", llm]
    ///   last_step: llm
    ///   max_llm_calls: 4
    ///   status: completed
    /// ```
    pub struct TraceCheck {
        /// The steps that must be taken in this order. Other steps may come before, between and after them.
        path: Option<Many<Step, MOST_STEPS>>,
        /// Makes `path` all steps of the run: no other may come before, between or after them.
        path_exact: bool = false,
        /// The last step of the run.
        last_step: Option<Step>,
        /// How many calls of the model the run may need: those that reports count, with embeddings and without calls that were
        /// refused.
        max_llm_calls: Option<Whole<0, 1_000_000>>,
        /// How many tokens the run may need, those of requests and answers together.
        max_total_tokens: Option<Whole<0, 1_000_000_000_000>>,
        /// How many denials there must be at least.
        min_denials: Option<Whole<1, 1_000_000>>,
        /// How the run ended.
        status: Option<RunStatus>,
        /// A text in the reason for which the run did not complete: the names and details of limits that fired, the exit code or
        /// signal, and what the agent printed on standard error. Upper and lower case are the same. A run that completed has no reason.
        reason_contains: Option<Filled>,
    }
}

impl TraceCheck {
    pub(super) fn judge(&self, case: &Case<'_>) -> Verdict {
        let steps = SeenSteps::of(case.evidence);
        let denials = denials::of(case.evidence);
        let verdict = self.look_at(&steps, &denials, case).err().map_or_else(Verdict::passed, |verdict| *verdict);
        let listed =
            |all: &[String]| all.iter().take(MOST_LISTED).map(|one| Json::from(one.as_str())).collect::<Json>();
        verdict
            .with_detail("status", RunStatus::of(case).word())
            .with_detail("steps", listed(&steps.shown()))
            .with_detail("number_of_steps", steps.all.len())
            .with_detail("llm_calls", case.evidence.usage.calls)
            .with_detail("total_tokens", case.evidence.usage.tokens())
            .with_detail("denials", listed(&denials))
    }

    fn look_at(&self, steps: &SeenSteps<'_>, denials: &[String], case: &Case<'_>) -> Result<(), Box<Verdict>> {
        if let Some(status) = self.status {
            ending::require_status(status, case)?;
        }
        if let Some(text) = &self.reason_contains {
            ending::require_reason(text, case)?;
        }
        if let Some(path) = &self.path {
            path::require(path, self.path_exact, steps)?;
        }
        if let Some(last) = &self.last_step {
            path::require_last(last, steps)?;
        }
        let usage = &case.evidence.usage;
        within(self.max_llm_calls.map(Whole::get), usage.calls, "call of the model", "calls of the model")?;
        within(self.max_total_tokens.map(Whole::get), usage.tokens(), "token", "tokens")?;
        match self.min_denials.map(Whole::count) {
            Some(least) if denials.len() < least => Err(Box::new(Verdict::failed(too_few(least, denials)))),
            _ => Ok(()),
        }
    }
}

/// Fails when there was more than allowed.
fn within(most: Option<i64>, found: u64, one: &str, many: &str) -> Result<(), Box<Verdict>> {
    match most.and_then(|most| u64::try_from(most).ok()) {
        Some(most) if found > most => {
            let noun = if most == 1 { one } else { many };
            Err(Box::new(Verdict::failed(format!("expected at most {most} {noun}, found {found}"))))
        }
        _ => Ok(()),
    }
}

fn too_few(least: usize, denials: &[String]) -> String {
    let named: Vec<_> = denials.iter().take(5).map(String::as_str).collect();
    let found = if named.is_empty() { "none".to_owned() } else { format!("{}: {}", denials.len(), named.join(", ")) };
    format!("expected at least {}, found {found}", count_noun(least, "denial"))
}
