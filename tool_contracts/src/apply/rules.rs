//! Advances the automata of the rules over the whole session.

use crate::call::Outcome;
use crate::code::Code;
use crate::compile::Compiled;
use crate::decide::session::rules::obligation::unmet;
use crate::finding::Finding;
use crate::read::rule::{Obligation, RuleKind, SessionRule};
use crate::state::rules::{Automaton, Duties, Duty, Progress, RuleState};
use crate::state::{OpenCall, SessionState};
use crate::state_question::{StateAnswer, StateQuestion};

use super::StepCall;

/// Notes the calls of a step, blocked ones included.
pub(super) fn attempt(set: &Compiled, state: &mut SessionState, calls: &[StepCall]) {
    for (rule, kept) in set.session.rules.iter().zip(&mut state.rules) {
        calls.iter().for_each(|one| kept.attempt(rule, &one.call, one.is_released));
    }
}

/// Counts a call that was released.
pub(super) fn release(set: &Compiled, state: &mut SessionState, id: &str, open: &OpenCall) {
    each(set, state, |rule, kept| kept.release(rule, id, open));
}

/// Undoes the counting of a call.
pub(super) fn withdraw(state: &mut SessionState, id: &str) {
    state.rules.iter_mut().for_each(|kept| kept.withdraw(id));
}

/// Forgets the world's answers for a call that is over.
pub(super) fn forget_answers(state: &mut SessionState, id: &str) {
    state.rules.iter_mut().for_each(|kept| kept.forget_answer(id));
}

/// Applies what counts against later calls; the output may be there also when it is uncertain what happened.
pub(super) fn restrict(set: &Compiled, state: &mut SessionState, id: &str, open: &OpenCall, outcome: &Outcome) {
    let output = if let Outcome::Ok(output) = outcome { Some(output) } else { None };
    each(set, state, |rule, kept| kept.restrict(rule, id, open, output));
}

/// Applies what counts for later calls.
pub(super) fn permit(set: &Compiled, state: &mut SessionState, id: &str, open: &OpenCall) {
    each(set, state, |rule, kept| kept.permit(rule, id, open));
}

/// Stores the answer to a question about the world.
pub(super) fn answer(
    set: &Compiled,
    state: &mut SessionState,
    call: &str,
    asked: &StateQuestion,
    answer: &StateAnswer,
) {
    each(set, state, |rule, kept| match &mut kept.automaton {
        Automaton::WorldState(answers) if rule.id.name == asked.rule => answers.set(call, &asked.question, answer),
        _ => {}
    });
}

fn each(set: &Compiled, state: &mut SessionState, mut change: impl FnMut(&SessionRule, &mut RuleState)) {
    set.session.rules.iter().zip(&mut state.rules).for_each(|(rule, kept)| change(rule, kept));
}

/// The findings about what is owed and can no longer follow in time.
pub(super) fn overdue(set: &Compiled, state: &mut SessionState) -> Vec<Finding> {
    let (released_calls, steps) = (state.released_calls, state.total_steps);
    let SessionState { rules, open, .. } = state;
    let progress = Progress { released_calls, steps, open };
    unmet_duties(set, rules, |obligation, duties| duties.take_overdue(obligation, progress))
}

/// The findings of the end: what is still owed, and the rules that were never triggered.
pub(super) fn end(set: &Compiled, state: &mut SessionState) -> Vec<Finding> {
    let mut findings = unmet_duties(set, &mut state.rules, |_, duties| duties.take_all());
    let owed: Vec<_> = findings.iter().map(|finding| finding.rule.clone()).collect();
    for (rule, kept) in set.session.rules.iter().zip(&mut state.rules) {
        if !kept.is_triggered && !owed.contains(&rule.rule) {
            let message = format!("the rule `{}` was never triggered, so it proves nothing", rule.id.name);
            findings.push(Finding::of_session(Code::RuleVacuous, &rule.rule, message));
        }
        // A session is closed once; whoever closes it again learns nothing new.
        kept.is_triggered = true;
    }
    findings
}

fn unmet_duties(
    set: &Compiled,
    states: &mut [RuleState],
    mut take: impl FnMut(&Obligation, &mut Duties) -> Vec<Duty>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (rule, kept) in set.session.rules.iter().zip(states) {
        if let (RuleKind::Obligation(obligation), Automaton::Obligation(duties)) = (&rule.kind, &mut kept.automaton) {
            let finding = |duty: Duty| {
                let reason = unmet(rule, obligation, &duty);
                Finding::of_reason(&reason, &obligation.tool.name, &duty.call)
            };
            findings.extend(take(obligation, duties).into_iter().map(finding));
        }
    }
    findings
}
