//! `then`: what is owed after a call, from its release on until it is discharged or overdue.

use std::collections::{BTreeMap, BTreeSet};

use super::instances;
use crate::read::rule::{Obligation, Window};
use crate::state::OpenCall;

/// The instance of a call whose value is missing: no canonical text, so no other call has it.
const MISSING: &str = "missing";

/// A debt of one call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Duty {
    /// The call that owes it.
    pub(crate) call: String,
    /// The values for which nothing followed yet.
    unmet: BTreeSet<String>,
    /// The number of the call among the released ones.
    index: u64,
    /// The step in which it was released.
    step: u64,
    /// True when the call happened, or may have.
    is_owed: bool,
}

/// All duties that are owed, in the order of the calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct Duties(Vec<Duty>);

/// The progress of the session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress<'a> {
    pub(crate) released_calls: u64,
    pub(crate) steps: u64,
    pub(crate) open: &'a BTreeMap<String, OpenCall>,
}

impl Duty {
    /// True when a call is the one that follows, and in time.
    fn takes(&self, rule: &Obligation, then: &OpenCall) -> bool {
        let is_in_time = match rule.within {
            None => true,
            Some(Window::Calls(most)) => then.index <= self.index.saturating_add(most),
            Some(Window::Steps(most)) => then.committed_step <= self.step.saturating_add(most),
        };
        rule.then.name == then.tool && then.index > self.index && is_in_time
    }

    /// True when the window has passed, and no call in flight can still discharge it.
    fn is_overdue(&self, rule: &Obligation, progress: Progress<'_>) -> bool {
        let has_passed = match rule.within {
            None => false,
            Some(Window::Calls(most)) => progress.released_calls >= self.index.saturating_add(most),
            Some(Window::Steps(most)) => progress.steps >= self.step.saturating_add(most),
        };
        let is_discharging = |then: &OpenCall| {
            self.takes(rule, then)
                && instances(rule.same.as_ref(), &then.arguments).iter().any(|instance| self.unmet.contains(instance))
        };
        self.is_owed && has_passed && !progress.open.values().any(is_discharging)
    }
}

impl Duties {
    /// Begins the duty of a call that was released.
    pub(super) fn release(&mut self, rule: &Obligation, id: &str, open: &OpenCall) {
        if rule.tool.name != open.tool {
            return;
        }
        let mut unmet = instances(rule.same.as_ref(), &open.arguments);
        if unmet.is_empty() {
            unmet.insert(MISSING.to_owned());
        }
        let (index, step) = (open.index, open.committed_step);
        self.0.push(Duty { call: id.to_owned(), unmet, index, step, is_owed: false });
    }

    /// Ends the duty of a call that did not happen.
    pub(super) fn withdraw(&mut self, id: &str) {
        self.0.retain(|duty| duty.call != id);
    }

    /// Makes a duty owed: its call happened, or may have. Returns true if there is one.
    pub(super) fn confirm(&mut self, id: &str) -> bool {
        let is_there = self.0.iter().any(|duty| duty.call == id);
        self.0.iter_mut().filter(|duty| duty.call == id).for_each(|duty| duty.is_owed = true);
        self.drop_met();
        is_there
    }

    /// Discharges the duties that a committed call fulfils.
    pub(super) fn discharge(&mut self, rule: &Obligation, then: &OpenCall) {
        let met = instances(rule.same.as_ref(), &then.arguments);
        for duty in self.0.iter_mut().filter(|duty| duty.takes(rule, then)) {
            duty.unmet.retain(|instance| !met.contains(instance));
        }
        self.drop_met();
    }

    fn drop_met(&mut self) {
        self.0.retain(|duty| !(duty.is_owed && duty.unmet.is_empty()));
    }

    /// Removes and returns the duties whose window has passed.
    pub(crate) fn take_overdue(&mut self, rule: &Obligation, progress: Progress<'_>) -> Vec<Duty> {
        let (overdue, rest) = self.0.drain(..).partition(|duty| duty.is_overdue(rule, progress));
        self.0 = rest;
        overdue
    }

    /// Removes and returns all duties that are owed at the end of the session; a call in flight may have happened.
    pub(crate) fn take_all(&mut self) -> Vec<Duty> {
        self.0.drain(..).filter(|duty| !duty.unmet.is_empty()).collect()
    }
}
