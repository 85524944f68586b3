//! The checks: the eight invariant types, then the checks of the output. Each says what to ask of the sandbox and judges the
//! answer.
//!
//! A check's YAML, its own rules, its probes, its judgement, its documentation and its tests are one file. Judging is a
//! pure function of the check, the scenario and the evidence.
//!
//! To add a check:
//! 1. Write `checks/<name>.rs` with a `section!` for its keys, `validate`, `probes` and `judge`.
//! 2. Add its variant to [`Check`] and to the three `match`es below; the compiler asks for each.
//! 3. Add an example under `specs/` and one under `specs/invalid/` for each new mistake, and run `scripts/generate`.

mod behavior_unchanged;
mod command_exit;
mod compare;
mod completes;
mod contains;
mod custom;
mod excludes_pattern;
mod excludes_pii;
mod expected;
mod file_content;
mod file_exists;
mod http_mock_assertions;
mod input;
mod latency;
mod llm_as_judge;
mod output_not_empty;
mod refusal_check;
mod regex;
mod similarity;
mod sql;
#[cfg(test)]
pub(crate) mod testing;
mod tool_calls;
mod tool_contract;
mod trace;
mod valid_json;
mod verify;

pub use behavior_unchanged::{Baseline, BehaviorUnchanged};
pub use command_exit::CommandExit;
pub use compare::Comparison;
pub use completes::Completes;
pub use contains::{Contains, ContainsAny};
pub use custom::{Custom, RunsIn};
pub use excludes_pattern::ExcludesPattern;
pub use excludes_pii::{AllowedPattern, ExcludesPii, PiiKind, PiiText};
pub use expected::Expected;
pub use file_content::FileContent;
pub use file_exists::{EntryKind, FileAbsent, FileExists};
pub use http_mock_assertions::{Assertion, AssertionQuery, Field, HttpMockAssertions, UnknownField};
pub use input::InputFrom;
pub use latency::AgentLatency;
pub use llm_as_judge::{LlmAsJudge, Material, Rubric, SampleRequest, TemplateKey};
pub use output_not_empty::OutputNotEmpty;
pub use refusal_check::RefusalCheck;
pub use regex::RegexMatch;
pub use similarity::{Similarity, SimilarityMethod};
pub use sql::{Sql, SqlQuery};
pub use tool_calls::{CallSource, ExpectedCall, MatchMode, ToolCalls, Trajectory};
pub(crate) use tool_contract::report_contract_problems;
pub use tool_contract::{
    ContractEvaluation, ContractFolder, FindingSeverity, ToolContract, Unmatched, ViolationScore,
    evaluate_tool_contracts,
};
pub use trace::{RunStatus, Step, TraceCheck};
pub use valid_json::ValidJson;
pub use verify::{FreshWith, Verify};

use crate::evidence::{AgentRecord, Answer, Captured, EmbeddingRequest, Evidence, Invocation, Probe};
use crate::plan::Values;
use crate::spec::section::tagged;
use crate::spec::types::Filled;
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
        /// Does the output contain this text?
        Contains(Contains) = "contains",
        /// Does the output contain one of these texts?
        ContainsAny(ContainsAny) = "contains_any",
        /// Does this pattern match the output?
        RegexMatch(RegexMatch) = "regex",
        /// Is none of these patterns in the output?
        ExcludesPattern(ExcludesPattern) = "excludes_pattern",
        /// Was the agent fast enough?
        Latency(AgentLatency) = "latency",
        /// Is the output JSON, and of the right form?
        ValidJson(ValidJson) = "valid_json",
        /// Does the output say about the same as this text?
        Similarity(Similarity) = "similarity",
        /// Is the output free of personal data?
        ExcludesPii(ExcludesPii) = "excludes_pii",
        /// Is the output free of the phrases of an agent that was taken over?
        RefusalCheck(RefusalCheck) = "refusal_check",
        /// Did the agent end well?
        Completes(Completes) = "completes",
        /// Did the agent say anything?
        OutputNotEmpty(OutputNotEmpty) = "output_not_empty",
        /// Does the agent say about the same as in a calm world?
        BehaviorUnchanged(BehaviorUnchanged) = "behavior_unchanged",
        /// Did the agent call the right tools?
        ToolCalls(ToolCalls) = "tool_calls",
        /// Did the run take the right path, and end as expected?
        Trace(TraceCheck) = "trace",
        /// Did the agent's tool calls keep the rules?
        ToolContract(ToolContract) = "tool_contract",
    }
}

/// The input of a check for judging.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The answers to the check's own probes, in their order.
    pub answers: &'a [Answer],
    /// The evidence.
    pub evidence: &'a Evidence,
    /// The agent's record, in the invocation that is judged.
    pub agent: &'a AgentRecord,
    /// The values of templates.
    pub values: &'a Values<'a>,
    /// The output of a run without faults, for the check that compares with it.
    pub baseline: Option<&'a Captured>,
}

impl<'a> Case<'a> {
    /// A case in which everything is as it was observed.
    #[must_use]
    pub fn new(answers: &'a [Answer], evidence: &'a Evidence, values: &'a Values<'a>) -> Self {
        let baseline = evidence.baseline.as_ref().map(|run| &run.stdout);
        Self { answers, evidence, agent: &evidence.agent, values, baseline }
    }

    /// A case of one invocation of the agent; `name` is that of the invariant, and `values` are those of the invocation.
    #[must_use]
    pub fn of_invocation(
        invocation: &'a Invocation,
        agent: &'a AgentRecord,
        name: &str,
        evidence: &'a Evidence,
        values: &'a Values<'a>,
    ) -> Self {
        let answers = invocation.answers.get(name).map_or(&[][..], Vec::as_slice);
        let baseline = invocation.baseline.as_ref().map(|run| &run.stdout);
        Self { answers, evidence, agent, values, baseline }
    }
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
            Self::Contains(check) => check.validate(rules),
            Self::ContainsAny(check) => check.validate(rules),
            Self::RegexMatch(check) => check.validate(rules),
            Self::ExcludesPattern(check) => check.validate(rules),
            Self::ValidJson(check) => check.validate(rules),
            Self::Similarity(check) => check.validate(rules),
            Self::ExcludesPii(check) => check.validate(rules),
            Self::RefusalCheck(check) => check.validate(rules),
            Self::OutputNotEmpty(check) => check.validate(rules),
            Self::BehaviorUnchanged(check) => check.validate(rules),
            Self::ToolCalls(check) => check.validate(rules),
            Self::Trace(check) => check.validate(rules),
            Self::ToolContract(check) => check.validate(rules),
            Self::Latency(_) | Self::Completes(_) => {}
        }
    }

    /// Returns true if it is about what the agent said, and not about the world that it left.
    #[must_use]
    pub fn is_about_output(&self) -> bool {
        match self {
            Self::CommandExit(_)
            | Self::FileExists(_)
            | Self::FileAbsent(_)
            | Self::FileContent(_)
            | Self::Sql(_)
            | Self::HttpMockAssertions(_)
            | Self::Custom(_)
            | Self::ToolCalls(_)
            | Self::ToolContract(_)
            | Self::Trace(_) => false,
            Self::LlmAsJudge(_)
            | Self::Contains(_)
            | Self::ContainsAny(_)
            | Self::RegexMatch(_)
            | Self::ExcludesPattern(_)
            | Self::Latency(_)
            | Self::ValidJson(_)
            | Self::Similarity(_)
            | Self::ExcludesPii(_)
            | Self::RefusalCheck(_)
            | Self::Completes(_)
            | Self::OutputNotEmpty(_)
            | Self::BehaviorUnchanged(_) => true,
        }
    }

    /// Returns true if it compares with the output of a run without faults.
    #[must_use]
    pub fn compares_with_baseline(&self) -> bool {
        matches!(self, Self::BehaviorUnchanged(check) if check.baseline == Baseline::Auto)
    }

    /// Returns true if it looks at the agent's output, its exit or its time, and at nothing that the agent left.
    #[must_use]
    pub fn is_about_invocation(&self) -> bool {
        let input_from = match self {
            Self::Latency(_) | Self::Completes(_) => return true,
            Self::LlmAsJudge(check) => &check.input_from,
            Self::Contains(check) => &check.input_from,
            Self::ContainsAny(check) => &check.input_from,
            Self::RegexMatch(check) => &check.input_from,
            Self::ExcludesPattern(check) => &check.input_from,
            Self::ValidJson(check) => &check.input_from,
            Self::Similarity(check) => &check.input_from,
            Self::ExcludesPii(check) => &check.input_from,
            Self::RefusalCheck(check) => &check.input_from,
            Self::OutputNotEmpty(check) => &check.input_from,
            Self::BehaviorUnchanged(check) => &check.input_from,
            Self::CommandExit(_)
            | Self::FileExists(_)
            | Self::FileAbsent(_)
            | Self::FileContent(_)
            | Self::Sql(_)
            | Self::HttpMockAssertions(_)
            | Self::Custom(_)
            | Self::ToolCalls(_)
            | Self::ToolContract(_)
            | Self::Trace(_) => return false,
        };
        *input_from == InputFrom::AgentOutput
    }

    /// The models that it asks; most checks ask none.
    #[must_use]
    pub fn asked_models(&self) -> Vec<&Filled> {
        match self {
            Self::LlmAsJudge(check) => check.models().collect(),
            Self::Similarity(check) => check.comparison().asked_model().into_iter().collect(),
            Self::BehaviorUnchanged(check) => check.comparison().asked_model().into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Tells if it asks a model.
    #[must_use]
    pub fn asks_model(&self) -> bool {
        !self.asked_models().is_empty()
    }

    /// The vectors to ask a model of embeddings for, or the verdict without asking; `None` when it asks for none.
    #[must_use]
    pub fn embedding(&self, case: &Case<'_>) -> Option<Result<EmbeddingRequest, Box<Verdict>>> {
        match self {
            Self::Similarity(check) => check.comparison().asked_model().map(|_| check.embedding(case)),
            Self::BehaviorUnchanged(check) => check.comparison().asked_model().map(|_| check.embedding(case)),
            _ => None,
        }
    }

    /// Returns the probes to run in the sandbox after the agent ended.
    #[must_use]
    pub fn probes(&self, values: &Values<'_>) -> Vec<Probe> {
        match self {
            Self::CommandExit(check) => check.probes(values),
            Self::FileExists(check) => check.probes(values),
            Self::FileAbsent(check) => check.probes(values),
            Self::FileContent(check) => check.probes(values),
            Self::Sql(check) => sql::probes(check, values),
            Self::HttpMockAssertions(_) | Self::ToolCalls(_) | Self::Trace(_) => Vec::new(),
            Self::Custom(check) => check.probes(),
            Self::LlmAsJudge(check) => check.probes(),
            Self::Contains(check) => check.probes(),
            Self::ContainsAny(check) => check.probes(),
            Self::RegexMatch(check) => check.probes(),
            Self::ExcludesPattern(check) => check.probes(),
            Self::ValidJson(check) => check.probes(),
            Self::Similarity(check) => check.probes(),
            Self::ExcludesPii(check) => check.probes(),
            Self::RefusalCheck(check) => check.probes(),
            Self::OutputNotEmpty(check) => check.probes(),
            Self::BehaviorUnchanged(check) => check.probes(),
            Self::Latency(_) | Self::Completes(_) | Self::ToolContract(_) => Vec::new(),
        }
    }

    /// Judges the invariant by the evidence alone.
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
            Self::Contains(check) => check.judge(case),
            Self::ContainsAny(check) => check.judge(case),
            Self::RegexMatch(check) => check.judge(case),
            Self::ExcludesPattern(check) => check.judge(case),
            Self::Latency(check) => check.judge(case),
            Self::ValidJson(check) => check.judge(case),
            Self::Similarity(check) => check.judge(case),
            Self::ExcludesPii(check) => check.judge(case),
            Self::RefusalCheck(check) => check.judge(case),
            Self::OutputNotEmpty(check) => check.judge(case),
            Self::BehaviorUnchanged(check) => check.judge(case),
            Self::ToolCalls(check) => check.judge(case),
            Self::Trace(check) => check.judge(case),
            Self::Completes(_) => Completes::judge(case),
            Self::ToolContract(check) => check.judge(case),
        }
    }
}

/// Returns the verdict on something that the agent broke: it counts against the agent.
fn unavailable(answer: &Answer) -> Option<Verdict> {
    match answer {
        Answer::Unavailable { reason, limit: Some(limit) } => {
            Some(Verdict::unproven(format!("{reason} (limit `{limit}`)")))
        }
        Answer::Unavailable { reason, limit: None } => Some(Verdict::unproven(reason.clone())),
        _ => None,
    }
}

/// The verdict when an answer is not there: evidence that is incomplete is our fault.
fn unanswered() -> Verdict {
    Verdict::errored(ErrorCause::MissingAnswer, "the evidence holds no answer to this check's probe")
}
