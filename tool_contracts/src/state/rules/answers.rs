//! `when_state`: the answers about the world that were read for calls that are not over.

use std::collections::BTreeMap;

use crate::state_question::StateAnswer;

/// Answers by call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answers(BTreeMap<String, StateAnswer>);

impl Answers {
    /// Keeps the answer for a call; a later one replaces it.
    pub(crate) fn set(&mut self, call: &str, answer: &StateAnswer) {
        self.0.insert(call.to_owned(), answer.clone());
    }

    /// The answer for a call.
    pub(crate) fn of(&self, call: &str) -> Option<&StateAnswer> {
        self.0.get(call)
    }

    /// Drops the answer for a call that is over, or that has other arguments now.
    pub(super) fn forget(&mut self, call: &str) {
        self.0.remove(call);
    }
}
