//! `when_state`: the answers about the world that were read for calls that are not over.

use std::collections::BTreeMap;

use crate::state_question::{Question, StateAnswer};

/// Answers by call, each with the question that it answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answers(BTreeMap<String, (Question, StateAnswer)>);

impl Answers {
    /// Stores the answer for a call; a later one replaces it.
    pub(crate) fn set(&mut self, call: &str, question: &Question, answer: &StateAnswer) {
        self.0.insert(call.to_owned(), (question.clone(), answer.clone()));
    }

    /// The answer to this question for a call. One that was read for other arguments answers another question.
    pub(crate) fn of(&self, call: &str, question: &Question) -> Option<&StateAnswer> {
        self.0.get(call).filter(|(asked, _)| asked == question).map(|(_, answer)| answer)
    }

    /// Drops the answer for a call that is over.
    pub(super) fn forget(&mut self, call: &str) {
        self.0.remove(call);
    }
}
