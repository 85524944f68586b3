//! `task`: what the agent is asked to do.

use crate::spec::section::section;
use crate::spec::template::Text;
use crate::spec::types::{Filled, Many, OneOrMany};

section! {
    /// What the agent is asked to do.
    pub struct Task {
        /// The request. It reaches the agent as `TOUCHSTONE_TASK_PROMPT` (also `KEYSTONE_TASK_PROMPT`), in the file that
        /// `TOUCHSTONE_TASK_FILE` (also `KEYSTONE_TASK_FILE`) names and its copy `.keystone/task.json`, on standard input, and as
        /// `{{ task.prompt }}` in the agent's command; custom checks get it as `task.prompt`.
        prompt: Option<Filled>,
        /// Several requests in place of one. The agent is run for each of them by itself, and a cell holds only when it holds for
        /// all.
        prompts: Option<Many<Filled, 100>>,
        /// Shell lines that solve the task, run one after the other. The `oracle` agent runs them, to show that the task can be solved and that the
        /// invariants accept a right answer. Any other agent never sees them.
        solution: Option<OneOrMany<Text>>,
    }
}

impl Task {
    /// The request, or the one of several with this index.
    #[must_use]
    pub fn prompt_at(&self, index: Option<u32>) -> Option<&Filled> {
        match (index, &self.prompts) {
            (Some(index), Some(prompts)) => prompts.get(usize::try_from(index).ok()?),
            _ => self.prompt.as_ref(),
        }
    }

    /// How many requests there are when there are several.
    #[must_use]
    pub fn several(&self) -> Option<usize> {
        self.prompts.as_ref().map(|prompts| prompts.len())
    }
}
