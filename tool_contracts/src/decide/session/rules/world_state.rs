//! `every A, when_state`: the world answered as the rule expects, before the call.

use serde_json::Value as Json;

use super::violation;
use crate::call::Call;
use crate::canonical::canonical;
use crate::decide::{Context, Reason};
use crate::options::Mode;
use crate::read::rule::{Expected, FileCondition, SessionRule, WorldState};
use crate::reason::{name, shown, shown_or_missing};
use crate::state::rules::Answers;
use crate::state_question::{StateAnswer, filled};
use crate::value::{Num, same};

/// True when the world gave no answer that the rule can be judged by.
pub(super) fn is_blind(rule: &WorldState, answers: &Answers, call: &Call) -> bool {
    answer(rule, answers, call).is_none_or(|answer| judged(&rule.expected, answer).is_none())
}

/// The answer to the question that the rule asks before the call.
fn answer<'a>(rule: &WorldState, answers: &'a Answers, call: &Call) -> Option<&'a StateAnswer> {
    answers.of(&call.id, &filled(&rule.question, &call.arguments).ok()?)
}

/// The reason when the world is otherwise; in govern mode also when it was not looked at.
pub(super) fn problem(
    context: &Context<'_>,
    rule: &SessionRule,
    world: &WorldState,
    answers: &Answers,
) -> Option<Reason> {
    let call = context.call;
    let answer = answer(world, answers, call);
    let tool = name(&call.tool);
    match answer.and_then(|answer| judged(&world.expected, answer)) {
        Some(Ok(())) => None,
        Some(Err(found)) => {
            let expected = expected(&world.expected);
            let sentence = format!("{tool} needs {expected}, and found {}", shown_or_missing(found.as_ref()));
            let reason = violation(rule, &sentence, &[&call.id]).checked("state", expected);
            Some(reason.found("state", found.unwrap_or_default()))
        }
        None if context.set.run.mode == Mode::Observe => None,
        None => {
            let problem = cause(world, call, answer);
            Some(violation(rule, &format!("{tool} depends on the state of the world, and {problem}"), &[&call.id]))
        }
    }
}

/// The reason for which there is no answer.
fn cause(world: &WorldState, call: &Call, answer: Option<&StateAnswer>) -> String {
    match (filled(&world.question, &call.arguments), answer) {
        (Err(problem), _) => problem.to_string(),
        (Ok(_), Some(StateAnswer::Unavailable(problem))) => {
            format!("it could not be read: {}", shown(&problem.as_str().into()))
        }
        (Ok(_), Some(_)) => "the answer is of another kind than the question".to_owned(),
        (Ok(_), None) => "it was not read".to_owned(),
    }
}

/// Judges an answer, with what it found otherwise; `None` when the rule cannot be judged by it.
fn judged(expected: &Expected, answer: &StateAnswer) -> Option<Result<(), Option<Json>>> {
    let broken = match (expected, answer) {
        (Expected::Rows(wanted), StateAnswer::Rows(rows)) if !rows.is_empty() => {
            rows.iter().find(|row| !is_same(row, wanted)).map(|row| Some(row.clone()))
        }
        (Expected::Rows(_), StateAnswer::Rows(_)) => Some(None),
        (Expected::File(condition), StateAnswer::File(contents)) => {
            (!condition.holds(contents.as_deref())).then(|| contents.clone().map(Json::from))
        }
        (Expected::Count(bounds), StateAnswer::Count(count)) => {
            let number = Num::Int((*count).into());
            let holds =
                bounds.gte.is_none_or(|gte| gte.at_most(number)) && bounds.lte.is_none_or(|lte| number.at_most(lte));
            (!holds).then(|| Some((*count).into()))
        }
        _ => return None,
    };
    Some(broken.map_or(Ok(()), Err))
}

/// Databases give the same value as a string or as a number.
fn is_same(found: &Json, wanted: &Json) -> bool {
    let text = |value: &Json| value.as_str().map_or_else(|| canonical(value), ToOwned::to_owned);
    let are_scalars = !found.is_null() && !wanted.is_null();
    same(found, wanted) || (are_scalars && text(found) == text(wanted))
}

impl FileCondition {
    /// True when every stated condition holds; a last line break does not count for `equals`.
    fn holds(&self, contents: Option<&str>) -> bool {
        let without_break = |text: &str| text.strip_suffix('\n').unwrap_or(text).to_owned();
        self.exists.is_none_or(|exists| contents.is_some() == exists)
            && self
                .equals
                .as_deref()
                .is_none_or(|wanted| contents.is_some_and(|contents| without_break(contents) == without_break(wanted)))
            && self.contains.as_deref().is_none_or(|part| contents.is_some_and(|contents| contents.contains(part)))
    }
}

fn expected(expected: &Expected) -> String {
    match expected {
        Expected::Rows(wanted) => format!("the database to answer {}", shown(wanted)),
        Expected::Count(bounds) => {
            let bounds = [("at least", bounds.gte), ("at most", bounds.lte)];
            let words = bounds.into_iter().filter_map(|(words, bound)| Some(format!("{words} {}", bound?.to_json())));
            format!("{} requests at the mock", words.collect::<Vec<_>>().join(" and "))
        }
        Expected::File(condition) => {
            let text = |word: &str, text: &Option<String>| {
                text.as_ref().map(|text| format!("{word} {}", shown(&text.as_str().into())))
            };
            let exists = condition.exists.map(|exists| if exists { "exists" } else { "does not exist" }.to_owned());
            let words = [exists, text("equals", &condition.equals), text("contains", &condition.contains)];
            format!("a file that {}", words.into_iter().flatten().collect::<Vec<_>>().join(" and "))
        }
    }
}
