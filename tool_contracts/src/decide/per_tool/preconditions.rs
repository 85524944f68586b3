//! R10: what had to happen before did happen, in an earlier step.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::canonical::canonical;
use crate::code::Code;
use crate::compile::Compiled;
use crate::decide::{Context, Reason};
use crate::read::precondition::{Precondition, PriorCall, ResourceBind};
use crate::read::tool::{Source, Tool};
use crate::reason::shown;
use crate::state::{Prior, SessionState};
use crate::value::same;

/// Refuses calls with an unmet precondition; each gives a reason.
pub(crate) fn judge(context: &Context<'_>, reasons: &mut Vec<Reason>) {
    let Some(tool) = context.tool else { return };
    let known = Known { set: context.set, state: context.state, step: context.batch.step };
    reasons.extend(tool.preconditions.iter().filter_map(|one| known.unmet(tool, one, Some(&context.call.arguments))));
}

/// Returns why a tool cannot be called whatever its arguments are.
pub(crate) fn unmet_by_all(set: &Compiled, state: &SessionState, tool: &Tool) -> Option<Reason> {
    let known = Known { set, state, step: state.attempt_steps + 1 };
    tool.preconditions.iter().find_map(|one| known.unmet(tool, one, None))
}

/// The input for judging preconditions.
struct Known<'a> {
    set: &'a Compiled,
    state: &'a SessionState,
    /// The step that is going on.
    step: u64,
}

impl Known<'_> {
    /// Returns why a precondition does not hold; without arguments, why it holds for no entity.
    fn unmet(&self, tool: &Tool, precondition: &Precondition, arguments: Option<&Json>) -> Option<Reason> {
        let rule = precondition.place.path.to_string();
        if let Some(least) = precondition.steps.filter(|least| self.state.total_steps < *least) {
            let steps = self.state.total_steps;
            let sentence = format!("`{}` needs {least} steps before it, and there were {steps}", tool.name);
            let reason = Reason::new(Code::PreconditionNotMet, rule, sentence);
            return Some(reason.checked("requires_step_count", least).found("steps", steps));
        }
        let prior = precondition.prior.as_ref()?;
        let problem = match (&prior.resource, arguments) {
            (Some(resource), Some(arguments)) => self.problem_with_entity(prior, resource, arguments),
            (Some(resource), None) => self.problem_with_all(prior, resource),
            (None, _) => self.problem_with_latest(prior, self.earlier(prior).next_back()),
        }?;
        let sentence = format!("`{}` requires `{}`, {problem}", tool.name, prior.tool.name);
        let reason = Reason::new(Code::PreconditionNotMet, rule, sentence);
        Some(reason.checked("requires_prior_tool", prior.tool.name.as_str()))
    }

    /// The committed calls of the tool in earlier steps, oldest first.
    fn earlier<'a>(&'a self, prior: &PriorCall) -> impl DoubleEndedIterator<Item = &'a Prior> {
        let calls = self.state.history.get(&prior.tool.name).map_or(&[][..], Vec::as_slice);
        calls.iter().filter(|call| call.step < self.step)
    }

    fn problem_with_entity(&self, prior: &PriorCall, resource: &ResourceBind, arguments: &Json) -> Option<String> {
        let Some(entity) = resource.path.first(arguments) else {
            return Some(format!("for the same `{}`, which is missing", resource.path));
        };
        let is_same = |call: &&Prior| entity_of(call, resource).is_some_and(|value| same(value, entity));
        let latest = self.earlier(prior).rev().find(is_same);
        let problem = self.problem_with_latest(prior, latest)?;
        Some(format!("for `{}` {}: {problem}", resource.path, shown(entity)))
    }

    /// The latest call about each entity counts; it is enough that one of them qualifies.
    fn problem_with_all(&self, prior: &PriorCall, resource: &ResourceBind) -> Option<String> {
        let mut latest: BTreeMap<String, &Prior> = BTreeMap::new();
        for call in self.earlier(prior) {
            latest.extend(entity_of(call, resource).map(|entity| (canonical(entity), call)));
        }
        let qualifies = latest.values().any(|call| self.problem_with_latest(prior, Some(call)).is_none());
        (!qualifies).then(|| "and no entity qualifies".to_owned())
    }

    /// The problem with the latest call: there is none, or its output is not what is required.
    fn problem_with_latest(&self, prior: &PriorCall, latest: Option<&Prior>) -> Option<String> {
        let Some(latest) = latest else {
            return Some("which was not called successfully in an earlier step".to_owned());
        };
        let env = &self.set.run.env;
        let broken = prior.with_output.iter().find(|invariant| !invariant.holds(&latest.output, env))?;
        Some(format!("and the output of its latest call `{}` breaks the condition on `{}`", latest.call, broken.path))
    }
}

/// The entity that an earlier call was about.
fn entity_of<'a>(call: &'a Prior, resource: &ResourceBind) -> Option<&'a Json> {
    let source: Source = resource.bind_from;
    source.value(&resource.path, &call.arguments, &call.output)
}
