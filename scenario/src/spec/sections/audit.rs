//! `audit`: what is written down about the agent's doings.

use crate::spec::section::section;

section! {
    /// What is written down about the agent's doings, as one JSON object a line in `.keystone/audit.jsonl`. The agent
    /// sees a copy; verdicts are made from a record that it cannot reach.
    pub struct Audit {
        /// Inserts, updates and deletes in database services.
        db_writes: bool = false,
        /// Calls to services and to the outside.
        http_calls: bool = false,
        /// Files that were written, changed or removed.
        file_writes: bool = false,
        /// The commands that Touchstone starts in the sandbox: those of `setup` and the agent's own. What the agent starts by
        /// itself is not seen.
        commands: bool = false,
    }
}
