//! Questions about the world that rules ask before a call, and their answers.

use serde_json::json;

use super::{LiveSession, Now};
use crate::apply::Event;
use crate::call::Call;
use crate::canonical::hash;
use crate::state_question::{StateAnswer, StateQuestion, state_questions};

impl LiveSession {
    /// The questions that rules ask before these calls are decided on, each with the id of its call.
    #[must_use]
    pub fn questions(&self, calls: &[Call]) -> Vec<(String, StateQuestion)> {
        if !self.decides {
            return Vec::new();
        }
        let of_call = |call: &Call| {
            let id = call.id.clone();
            state_questions(&self.set, call).into_iter().map(move |question| (id.clone(), question))
        };
        calls.iter().flat_map(of_call).collect()
    }

    /// Records the answer to a question.
    pub fn answer(&mut self, now: &Now, call: &str, question: &StateQuestion, answer: &StateAnswer) {
        let fields = json!({
            "call": call,
            "question": question,
            "answer": answer,
            "answer_hash": hash(&json!(answer)),
        });
        self.log.add(now, "state_read", fields);
        let (call, question, answer) = (call.to_owned(), question.clone(), answer.clone());
        self.apply(now, &Event::StateRead { call, question, answer });
    }
}
