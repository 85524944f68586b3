//! The eight checks: each says what to ask of the sandbox and judges the answer.
//!
//! A check's YAML, its own rules, its probes, its judgement, its documentation and its tests are one file. Judging is a
//! pure function of the check, the scenario and the evidence.
//!
//! To add a check:
//! 1. Write `checks/<name>.rs` with a `section!` for its keys, `validate`, `probes` and `judge`.
//! 2. Add its variant to [`Check`] and to the three `match`es below; the compiler asks for each.
//! 3. Add an example under `specs/` and one under `specs/invalid/` for each new mistake, and run `scripts/generate`.

mod command_exit;
mod compare;
mod custom;
mod file_content;
mod file_exists;
mod http_mock_assertions;
mod input;
mod llm_as_judge;
mod sql;
#[cfg(test)]
pub(crate) mod testing;
mod verify;

pub use command_exit::CommandExit;
pub use compare::Comparison;
pub use custom::{Custom, RunsIn};
pub use file_content::FileContent;
pub use file_exists::{EntryKind, FileAbsent, FileExists};
pub use http_mock_assertions::{Assertion, AssertionQuery, Field, HttpMockAssertions, UnknownField};
pub use input::InputFrom;
pub use llm_as_judge::{LlmAsJudge, Rubric, TemplateKey};
pub use sql::{Sql, SqlQuery};
pub use verify::{FreshWith, Verify};

use crate::evidence::{Answer, Evidence, Probe};
use crate::plan::Values;
use crate::spec::section::tagged;
use crate::spec::validate::Rules;
use crate::verdict::{ErrorCause, Verdict};

tagged! {
    /// How an invariant is tested.
    pub enum Check by "type" {
        /// Does the command return the expected exit code?
        CommandExit(CommandExit) = "command_exit",
        /// Does this file exist?
        FileExists(FileExists) = "file_exists",
        /// Is this file missing?
        FileAbsent(FileAbsent) = "file_absent",
        /// Does this file contain, or not contain, a text or pattern?
        FileContent(FileContent) = "file_content",
        /// Does this query return the expected value?
        Sql(Sql) = "sql",
        /// Was this mock service called the right way?
        HttpMockAssertions(HttpMockAssertions) = "http_mock_assertions",
        /// Did this script return `passed: true`?
        Custom(Custom) = "custom",
        /// Did the model rate the output above the threshold?
        LlmAsJudge(LlmAsJudge) = "llm_as_judge",
    }
}

/// What a check sees when it judges.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The answers to the check's own probes, in their order.
    pub answers: &'a [Answer],
    /// Everything that was observed.
    pub evidence: &'a Evidence,
    /// What templates become.
    pub values: &'a Values<'a>,
}

impl Check {
    /// Reports what is wrong with the check, beyond the form of its keys.
    pub(crate) fn validate(&self, rules: &mut Rules<'_>) {
        match self {
            Self::CommandExit(check) => check.verify.validate(rules),
            Self::FileExists(_) | Self::FileAbsent(_) => {}
            Self::FileContent(check) => check.validate(rules),
            Self::Sql(check) => sql::validate(check, rules),
            Self::HttpMockAssertions(check) => check.validate(rules),
            Self::Custom(check) => check.validate(rules),
            Self::LlmAsJudge(check) => check.validate(rules),
        }
    }

    /// What to ask of the sandbox once the agent is gone.
    #[must_use]
    pub fn probes(&self, values: &Values<'_>) -> Vec<Probe> {
        match self {
            Self::CommandExit(check) => check.probes(values),
            Self::FileExists(check) => check.probes(values),
            Self::FileAbsent(check) => check.probes(values),
            Self::FileContent(check) => check.probes(values),
            Self::Sql(check) => sql::probes(check, values),
            Self::HttpMockAssertions(_) => Vec::new(),
            Self::Custom(check) => check.probes(),
            Self::LlmAsJudge(check) => check.probes(),
        }
    }

    /// Whether the invariant holds, by the evidence alone.
    #[must_use]
    pub fn judge(&self, case: &Case<'_>) -> Verdict {
        if let Some(verdict) = case.answers.iter().find_map(unavailable) {
            return verdict;
        }
        match self {
            Self::CommandExit(check) => check.judge(case),
            Self::FileExists(check) => check.judge(case),
            Self::FileAbsent(check) => check.judge(case),
            Self::FileContent(check) => check.judge(case),
            Self::Sql(check) => sql::judge(check, case),
            Self::HttpMockAssertions(check) => check.judge(case),
            Self::Custom(check) => check.judge(case),
            Self::LlmAsJudge(check) => check.judge(case),
        }
    }
}

/// What the agent broke counts against the agent.
fn unavailable(answer: &Answer) -> Option<Verdict> {
    match answer {
        Answer::Unavailable { reason, limit: Some(limit) } => {
            Some(Verdict::failed(format!("{reason} (limit `{limit}`)")))
        }
        Answer::Unavailable { reason, limit: None } => Some(Verdict::failed(reason.clone())),
        _ => None,
    }
}

/// The verdict when an answer is not there: evidence that is incomplete is our fault.
fn unanswered() -> Verdict {
    Verdict::errored(ErrorCause::MissingAnswer, "the evidence holds no answer to this check's probe")
}
