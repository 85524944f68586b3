//! R18: values stay within what earlier calls allowed.

use crate::code::Code;
use crate::decide::{Context, Reason};
use crate::read::envelope::{Envelope, Stage};
use crate::reason::{name, shown_or_missing};
use crate::state::envelope::{EnvelopeState, last_value};
use crate::value::Num;

/// Refuses values outside their envelope; chains look through the accepted calls of the batch.
pub(crate) fn judge(context: &Context<'_>, reasons: &mut Vec<Reason>) {
    if context.tool.is_none() {
        return;
    }
    for (envelope, state) in context.set.session.envelopes.iter().zip(&context.state.envelopes) {
        for stage in envelope.constrained(&context.call.tool) {
            reasons.extend(problem(context, envelope, state, stage));
        }
    }
}

fn problem(context: &Context<'_>, envelope: &Envelope, state: &EnvelopeState, stage: &Stage) -> Option<Reason> {
    let tool = &context.call.tool;
    let mut own = envelope.references().filter(|(_, reference)| reference.tool.name == *tool);
    if own.any(|(place, _)| !state.captured.contains_key(&place)) {
        // The tool's own reference is not set yet, so this call only captures it.
        return None;
    }
    let reason = |code, sentence| {
        Some(Reason::new(code, envelope.rule.clone(), sentence).at(stage.path.text()).because(&envelope.reason))
    };
    if !state.is_referenced(envelope) {
        let missing = envelope.references().find(|(place, _)| !state.captured.contains_key(place));
        let by = missing.map_or(String::new(), |(_, stage)| stage.tool.name.clone());
        let sentence = format!("`{}` has no reference yet: `{by}` was not called", envelope.name.name);
        return reason(Code::EnvelopeReferenceMissing, sentence);
    }
    let values = stage.path.nodes(&context.call.arguments);
    let numbers: Vec<_> = values.iter().filter_map(|value| Num::of(value)).collect();
    if values.is_empty() || numbers.len() < values.len() {
        let found = values.into_iter().find(|value| Num::of(value).is_none());
        let sentence =
            format!("{} must give the number `{}`, and it is {}", name(tool), stage.path, shown_or_missing(found));
        return reason(Code::EnvelopeInputInvalid, sentence);
    }
    let mut in_batch =
        context.batch.accepted.iter().filter_map(|call| last_value(envelope, &call.tool, &call.arguments));
    let last = in_batch.next_back().filter(|_| envelope.is_monotonic()).or(state.last);
    for value in numbers {
        let (holds, reference) = state.judge(envelope, value, last);
        if !holds {
            let reference = reference.map(Num::to_json);
            let sentence = format!(
                "`{}` is {}, which breaks `{}` with the reference {}",
                stage.path,
                value.to_json(),
                envelope.constraint.word(),
                shown_or_missing(reference.as_ref())
            );
            let checked = reference.unwrap_or_default();
            let reason = reason(Code::EnvelopeViolated, sentence)?;
            return Some(reason.checked(envelope.constraint.word(), checked).found("value", value.to_json()));
        }
    }
    None
}
