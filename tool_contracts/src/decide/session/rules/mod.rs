//! Rules over the whole session: the violation that a call would cause, with the shortest witness.

mod data_flow;
pub(crate) mod obligation;
mod precedence;
mod quota;
mod world_state;

use serde_json::Value as Json;
use yaml_tree::untrusted;

use crate::code::Code;
use crate::compile::Compiled;
use crate::decide::{Context, Reason};
use crate::read::rule::{RuleKind, SessionRule};
use crate::reason::name;
use crate::state::SessionState;
use crate::state::rules::{Automaton, RuleState};

/// The most calls of a witness that a sentence names.
const MOST_NAMED: usize = 10;
/// The length at which a value in a sentence is cut.
const MOST_SHOWN: usize = 60;

/// Refuses calls that would break a rule; accepted calls of the batch restrict, and permit nothing.
pub(crate) fn judge(context: &Context<'_>, reasons: &mut Vec<Reason>) {
    reasons.extend(about(context).filter_map(|(rule, state)| problem(context, rule, state)));
}

/// The remark when the world was not looked at: neither passed nor failed.
pub(crate) fn notes(context: &Context<'_>) -> Option<Code> {
    let is_blind = about(context).any(|(rule, state)| match (&rule.kind, &state.automaton) {
        (RuleKind::WorldState(rule), Automaton::WorldState(answers)) => {
            world_state::is_blind(rule, answers, context.call)
        }
        _ => false,
    });
    is_blind.then_some(Code::NotEvaluable)
}

/// The reason for which a rule refuses a tool whatever its arguments are.
pub(crate) fn refused_for_all(set: &Compiled, state: &SessionState, tool: &str) -> Option<Reason> {
    let rules = set.session.rules.iter().zip(&state.rules).filter(|(rule, _)| rule.subject().name == tool);
    let refused = |(rule, kept): (&SessionRule, &RuleState)| match (&rule.kind, &kept.automaton) {
        (RuleKind::Precedence(precedence), Automaton::Precedence(earliest)) => {
            precedence::unmet_for_all(rule, precedence, earliest, state.attempt_steps + 1)
        }
        (RuleKind::Quota(quota), Automaton::Quota(counted)) => quota::used_up_for_all(rule, quota, counted),
        _ => None,
    };
    rules.filter_map(refused).next()
}

fn about<'a>(context: &Context<'a>) -> impl Iterator<Item = (&'a SessionRule, &'a RuleState)> {
    let tool = context.call.tool.as_str();
    let rules = context.set.session.rules.iter().zip(&context.state.rules);
    rules.filter(move |(rule, _)| rule.subject().name == tool)
}

fn problem(context: &Context<'_>, rule: &SessionRule, state: &RuleState) -> Option<Reason> {
    match (&rule.kind, &state.automaton) {
        (RuleKind::Precedence(precedence), Automaton::Precedence(earliest)) => {
            precedence::problem(context, rule, precedence, earliest)
        }
        (RuleKind::Quota(quota), Automaton::Quota(counted)) => quota::problem(context, rule, quota, counted),
        (RuleKind::DataFlow(flow), Automaton::DataFlow(leaves)) => data_flow::problem(context, rule, flow, leaves),
        (RuleKind::WorldState(world), Automaton::WorldState(answers)) => {
            world_state::problem(context, rule, world, answers)
        }
        // What is owed is found when it is overdue, and blocks nothing.
        _ => None,
    }
}

/// The reason of a broken rule, with the shortest list of calls that show it.
fn violation(rule: &SessionRule, sentence: &str, witness: &[&str]) -> Reason {
    let sentence = match witness.len() {
        0 => sentence.to_owned(),
        _ => format!("{sentence}; witness: {}", named(witness)),
    };
    let mut reason = Reason::new(Code::RuleViolated, rule.rule.clone(), sentence);
    if !witness.is_empty() {
        let calls: Json = witness.iter().copied().map(Json::from).collect();
        reason = reason.found("calls", calls);
    }
    if rule.reason.trim().is_empty() { reason } else { reason.because(&rule.reason) }
}

/// The value that an instance stands for, on one line.
fn shown_instance(instance: &str) -> String {
    untrusted::line(instance, MOST_SHOWN)
}

fn named(calls: &[&str]) -> String {
    let shown: Vec<_> = calls.iter().take(MOST_NAMED).map(|call| name(call)).collect();
    match calls.len().saturating_sub(MOST_NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
