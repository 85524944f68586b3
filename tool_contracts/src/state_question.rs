//! Questions about the state of the world that rules with `when_state` ask before a call, and their answers.
//!
//! This crate asks nobody. Whoever governs a session puts the questions to the database, the files or the mock, and
//! gives each answer back as an event before the call is decided.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::call::Call;
use crate::compile::Compiled;
use crate::read::rule::{QuestionTemplate, RuleKind};
use crate::template::Unfillable;

/// A question that a rule asks before a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateQuestion {
    /// The id of the rule, which the answer names again.
    pub rule: String,
    /// The question.
    pub question: Question,
}

/// A question with the values of the call filled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// A statement for a database; it must be run so that it can change nothing.
    Sql {
        /// The service that is the database.
        service: String,
        /// The statement. Values of the call are quoted in it.
        statement: String,
    },
    /// The contents of a file.
    File {
        /// Its path.
        path: String,
    },
    /// The number of requests that a mock got.
    Mock {
        /// The service that is the mock.
        service: String,
        /// Only requests to this path count; all of them when it is `None`.
        path: Option<String>,
    },
}

/// The answer of the world.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateAnswer {
    /// The first column of each row, in their order.
    Rows(Vec<Json>),
    /// The contents of the file; `None` when there is no such file.
    File(Option<String>),
    /// The number of requests.
    Count(u64),
    /// The question could not be put, for this reason. It counts as no answer.
    Unavailable(String),
}

/// The questions that rules ask before a call. A question into which a value of the call cannot be filled safely is left
/// out: then its rule cannot be looked at, which blocks the call in govern mode.
#[must_use]
pub fn state_questions(set: &Compiled, call: &Call) -> Vec<StateQuestion> {
    let question = |rule: &crate::read::rule::SessionRule| {
        let RuleKind::WorldState(state) = &rule.kind else { return None };
        let is_about = state.tool.name == call.tool;
        let question = is_about.then(|| filled(&state.question, &call.arguments))?.ok()?;
        Some(StateQuestion { rule: rule.id.name.clone(), question })
    };
    set.session.rules.iter().filter_map(question).collect()
}

/// A question with the values of a call.
pub(crate) fn filled(template: &QuestionTemplate, arguments: &Json) -> Result<Question, Unfillable> {
    Ok(match template {
        QuestionTemplate::Sql { service, statement } => {
            Question::Sql { service: service.clone(), statement: statement.fill(arguments)? }
        }
        QuestionTemplate::File { path } => Question::File { path: path.fill(arguments)? },
        QuestionTemplate::Mock { service, path } => {
            let path = path.as_ref().map(|path| path.fill(arguments)).transpose()?;
            Question::Mock { service: service.clone(), path }
        }
    })
}
