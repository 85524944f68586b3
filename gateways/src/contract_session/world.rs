//! The state of the world, which rules may ask about before a call.

use std::fmt::Debug;

use async_trait::async_trait;
use tool_contracts::{Call, Question, StateAnswer};

use super::Inner;

/// Reads the state of the sandbox and its services while the agent acts.
///
/// A reader changes nothing: a statement for a database is run so that it cannot write. It answers within a bound, with
/// [`StateAnswer::Unavailable`] where there is no answer.
#[async_trait]
pub trait WorldReader: Debug + Send + Sync {
    /// Answers a question.
    async fn read(&self, question: &Question) -> StateAnswer;
}

impl Inner {
    /// Puts the questions of rules about calls, and takes the answers. The caller has the turn.
    pub(super) async fn ask_world(&self, calls: &[Call]) {
        let questions = self.live().questions(calls);
        for (call, question) in questions {
            let answer = match &self.world {
                Some(world) => world.read(&question.question).await,
                None => StateAnswer::Unavailable("nobody can look here".to_owned()),
            };
            self.with(|live, now| live.answer(now, &call, &question, &answer));
        }
    }
}
