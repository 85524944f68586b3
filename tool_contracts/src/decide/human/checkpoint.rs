//! R20: checkpoints.

use serde_json::Value as Json;

use crate::code::Code;
use crate::decide::{Context, Reason};
use crate::invariant::{Invariant, Operator};
use crate::read::checkpoint::{Checkpoint, When};
use crate::reason::name;

/// The question to an approver about a call.
#[derive(Debug, Clone, PartialEq)]
pub struct HoldSpec {
    /// The checkpoints that hold it.
    pub checkpoints: Vec<String>,
    /// The timeout of the approval: the shortest of the checkpoints' timeouts.
    pub timeout_seconds: u64,
    /// True when the call passes when nobody decides: only when all of them say so.
    pub allows_on_timeout: bool,
    /// The arguments to show, each with its label.
    pub context: Vec<(String, Json)>,
}

/// The hold of a call, when some checkpoint asks for one.
pub(crate) fn triggered(context: &Context<'_>) -> Option<(HoldSpec, Vec<Reason>)> {
    let own = context.tool.and_then(|tool| tool.checkpoint.as_ref());
    let of_session =
        context.set.session.checkpoints.iter().filter(|checkpoint| checkpoint.is_about(&context.call.tool));
    let held: Vec<&Checkpoint> = own.into_iter().chain(of_session).filter(|one| is_met(one, context)).collect();
    let timeout_seconds = held.iter().map(|checkpoint| checkpoint.timeout_seconds).min()?;
    let arguments = &context.call.arguments;
    let fields = held.iter().flat_map(|checkpoint| &checkpoint.context);
    let fields = fields.map(|field| (field.label.clone(), field.path.first(arguments).cloned().unwrap_or_default()));
    let spec = HoldSpec {
        checkpoints: held.iter().map(|checkpoint| checkpoint.name.clone()).collect(),
        timeout_seconds,
        allows_on_timeout: held.iter().all(|checkpoint| checkpoint.allows_on_timeout),
        context: fields.collect(),
    };
    let sentence = format!("{} needs an approval", name(&context.call.tool));
    let reason = |checkpoint: &&Checkpoint| Reason::new(Code::CheckpointRequired, checkpoint.rule.clone(), &sentence);
    Some((spec, held.iter().map(reason).collect()))
}

fn is_met(checkpoint: &Checkpoint, context: &Context<'_>) -> bool {
    let class = context.tool.map(|tool| tool.side_effect);
    if checkpoint.side_effect.is_some() && checkpoint.side_effect != class {
        return false;
    }
    let holds = |condition: &Invariant| holds_or_is_unclear(condition, context);
    match &checkpoint.when {
        When::Always => true,
        When::Any(conditions) => conditions.iter().any(holds),
        When::All(conditions) => conditions.iter().all(holds),
    }
}

/// True when a condition holds. A value that is missing or cannot be compared counts as met, so that leaving an argument
/// out dodges no review.
fn holds_or_is_unclear(condition: &Invariant, context: &Context<'_>) -> bool {
    let arguments = &context.call.arguments;
    let values = condition.path.nodes(arguments);
    let is_comparison = |operator: &Operator| matches!(operator, Operator::AtLeast(_) | Operator::AtMost(_));
    let compares = condition.operators.iter().any(is_comparison);
    let is_unclear = |value: &&Json| value.is_null() || compares && !value.is_number();
    values.is_empty() || values.iter().any(is_unclear) || condition.holds(arguments, &context.set.run.env)
}
