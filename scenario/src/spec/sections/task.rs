//! `task`: the request to the agent.

use crate::spec::section::section;
use crate::spec::template::Text;
use crate::spec::types::{CheatName, Filled, Many, OneOrMany};

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
        /// Agents that try to pass without doing what is asked. `touchstone certify` runs them beside those that it knows itself, and
        /// the invariants must fail each of them. Any other agent never sees them.
        cheats: Vec<SpecCheat> = Vec::new(),
    }
}

section! {
    /// An agent that tries to pass without doing what is asked.
    ///
    /// ```yaml
    /// task:
    ///   prompt: Write a report to report.md
    ///   cheats:
    ///     - { name: empty-report, script: touch report.md }
    /// ```
    pub struct SpecCheat {
        /// Its name: it is run with `--agent cheat:NAME`.
        name: CheatName,
        /// Its trick, for people.
        description: Option<String>,
        /// Shell lines, run one after the other in the workspace.
        script: OneOrMany<Text>,
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

    /// Returns the number of requests; `None` when there is only one.
    #[must_use]
    pub fn several(&self) -> Option<usize> {
        self.prompts.as_ref().map(|prompts| prompts.len())
    }
}
