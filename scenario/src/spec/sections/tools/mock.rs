//! Tools whose answers are written down.

use serde_json::Value as Json;

use crate::spec::section::{choice, section};
use crate::spec::types::{ArgumentName, Table, Timespan, Whole};

section! {
    /// Answers that are written down. The first rule that matches the arguments answers.
    ///
    /// ```yaml
    /// tools:
    ///   - name: read_note
    ///     mock:
    ///       rules:
    ///         - match: { id: "7" }
    ///           return: { text: Call Ada back }
    ///         - match: { id: "8" }
    ///           error: the note is locked
    ///       unknown: error
    /// ```
    pub struct ToolMock {
        /// The rules.
        rules: Vec<MockRule> = Vec::new(),
        /// The answer to a call that no rule matches.
        unknown: UnknownCall = UnknownCall::Error,
    }
}

section! {
    /// An answer of a mocked tool.
    pub struct MockRule {
        /// The arguments that a call must have with these values. Other arguments are free, and so are other fields of an object.
        arguments as "match": Table<ArgumentName, Json> = Table::default(),
        /// The result: a text as it is, anything else as structured content.
        returns as "return": Option<Json>,
        /// The message of an error, instead of a result.
        error: Option<String>,
        /// How long to wait before answering.
        delay: Option<Timespan>,
        /// How often the rule answers; after that it no longer matches.
        times: Option<Whole<1, 1_000_000>>,
    }
}

choice! {
    /// The answer to a call that no rule matches.
    pub enum UnknownCall {
        /// An error that names the arguments.
        Error = "error",
        /// An empty result.
        Empty = "empty",
    }
}

impl MockRule {
    /// True when every call that `other` matches is matched by this rule first, for ever.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let has = |(name, value): (&ArgumentName, &Json)| other.arguments.get(name.as_str()) == Some(value);
        self.times.is_none() && self.arguments.iter().all(has)
    }
}
