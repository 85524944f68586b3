//! `task`: what the agent is asked to do.

use crate::spec::section::section;
use crate::spec::template::Text;
use crate::spec::types::{Filled, OneOrMany};

section! {
    /// What the agent is asked to do.
    pub struct Task {
        /// The request. It reaches the agent as `TOUCHSTONE_TASK_PROMPT` (also `KEYSTONE_TASK_PROMPT`), in the file that
        /// `TOUCHSTONE_TASK_FILE` (also `KEYSTONE_TASK_FILE`) names and its copy `.keystone/task.json`, on standard input, and as
        /// `{{ task.prompt }}` in the agent's command; custom checks get it as `task.prompt`.
        prompt: Filled,
        /// Shell lines that solve the task, run one after the other. The `oracle` agent runs them, to show that the task can be solved and that the
        /// invariants accept a right answer. Any other agent never sees them.
        solution: Option<OneOrMany<Text>>,
    }
}
