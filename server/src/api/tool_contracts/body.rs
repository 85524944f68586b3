//! Contracts in requests, and answers about calls.

use std::collections::BTreeMap;

use scenario::untrusted;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool_contracts::remote::{CallAnswer, HeldAnswer, ModelAnswer, StepAnswer, StepStatus};
use tool_contracts::{CompileError, Diagnostic, RawFile, RawSet, Reason, Verdict};
use utoipa::ToSchema;

use crate::error::{ApiError, Finding};

/// The most files of a set.
const MOST_FILES: usize = 200;

/// The files of a set of tool contracts, by their names: `session.yaml`, and one for each tool.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = std::collections::HashMap<String, String>)]
pub(super) struct Files(pub(super) BTreeMap<String, String>);

/// Something that is wrong with a set.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProblemBody {
    /// The file.
    file: String,
    /// The line, from 1.
    line: usize,
    /// The column, from 1.
    column: usize,
    /// The place in the file.
    path: String,
    /// The code.
    code: String,
    /// The tool, phase or name that it is about.
    subject: String,
    /// What is wrong.
    message: String,
    /// What to do about it.
    #[schema(required = true)]
    help: Option<String>,
}

/// The answer about a request to a model.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelBody {
    /// True when it may be sent.
    allowed: bool,
    /// The reason why not.
    #[schema(required = true)]
    refusal: Option<ReasonBody>,
    /// The tools that the model is not to be shown.
    removed: Vec<RemovedBody>,
}

/// A tool that the model is not to be shown.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RemovedBody {
    /// The tool.
    tool: String,
    /// The reason.
    reason: ReasonBody,
}

/// The answer about the calls of a step.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StepBody {
    /// Its number, by which it can be asked about again.
    step: u64,
    /// `decided`, or `held` while a call waits for an approval.
    status: StatusWord,
    /// The calls, in their order.
    calls: Vec<CallBody>,
    /// The call that waits.
    #[schema(required = true)]
    held: Option<HeldBody>,
}

/// The progress of a step.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum StatusWord {
    /// Everything is decided.
    Decided,
    /// A call waits for an approval, and the rest with it.
    Held,
}

/// A decision in one word.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum VerdictWord {
    /// The rules allow it.
    Allow,
    /// A rule refuses it.
    Block,
    /// A person has to approve it.
    Hold,
}

/// The answer about a call.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CallBody {
    /// Its id in the session.
    call: String,
    /// The tool.
    tool: String,
    /// The decision.
    verdict: VerdictWord,
    /// True when it may go on.
    released: bool,
    /// The reasons against it.
    reasons: Vec<ReasonBody>,
    /// The decision as a sentence.
    sentence: String,
}

/// A rule that is broken.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReasonBody {
    /// The code.
    #[schema(example = "precondition_not_met")]
    code: String,
    /// The rule, by its place in the contracts.
    rule: String,
    /// The path that it reads; empty when it reads none.
    path: String,
    /// The reason.
    message: String,
}

/// A call that waits for an approval.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HeldBody {
    /// The step.
    step: u64,
    /// The call's id in the session.
    call: String,
    /// The tool.
    tool: String,
    /// The hash of its arguments, which a decision names.
    args_hash: String,
    /// The arguments that a person is to see, each with its label, without secrets.
    #[schema(value_type = Vec<Vec<Value>>)]
    context: Vec<(String, Value)>,
    /// The checkpoints that hold it.
    checkpoints: Vec<String>,
    /// The end of the time to decide, in milliseconds since the session was opened.
    deadline_ms: u64,
    /// `deny`, or `allow` when the call passes when nobody decides.
    on_timeout: &'static str,
}

impl Files {
    /// The set.
    pub(super) fn set(&self) -> Result<RawSet, ApiError> {
        if self.0.is_empty() {
            return Err(ApiError::invalid("`files` is empty: it has `session.yaml` and a file for each tool"));
        }
        if self.0.len() > MOST_FILES {
            return Err(ApiError::invalid(format!("`files` has more than {MOST_FILES} files")));
        }
        let file = |(name, text): (&String, &String)| RawFile { name: name.clone(), text: text.clone() };
        Ok(RawSet { files: self.0.iter().map(file).collect() })
    }
}

impl ProblemBody {
    pub(super) fn of(found: &Diagnostic) -> Self {
        Self {
            file: found.place.file.clone(),
            line: found.place.span.line,
            column: found.place.span.column,
            path: found.place.path.to_string(),
            code: found.code.name().to_owned(),
            subject: found.subject.clone(),
            message: found.message.clone(),
            help: found.help.clone(),
        }
    }
}

/// The refusal of a set that does not compile.
pub(super) fn does_not_compile(error: &CompileError) -> ApiError {
    let finding = |found: &Diagnostic| Finding {
        code: found.code.name().to_owned(),
        severity: found.class().name().to_owned(),
        message: untrusted::line(&format!("{}: {}", found.place.file, found.message), 400),
        path: found.place.path.to_string(),
        line: found.place.span.line,
        column: found.place.span.column,
        help: found.help.clone(),
    };
    let findings = error.diagnostics.iter().take(100).map(finding).collect();
    ApiError::invalid_tool_contracts("the tool contracts do not compile", findings)
}

impl From<ModelAnswer> for ModelBody {
    fn from(answer: ModelAnswer) -> Self {
        let removed =
            answer.removed.iter().map(|one| RemovedBody { tool: one.tool.clone(), reason: (&one.reason).into() });
        Self {
            allowed: answer.refusal.is_none(),
            removed: removed.collect(),
            refusal: answer.refusal.as_ref().map(Into::into),
        }
    }
}

impl From<&StepAnswer> for StepBody {
    fn from(answer: &StepAnswer) -> Self {
        Self {
            step: answer.step,
            status: match answer.status {
                StepStatus::Decided => StatusWord::Decided,
                StepStatus::Held => StatusWord::Held,
            },
            calls: answer.calls.iter().map(Into::into).collect(),
            held: answer.held.as_ref().map(Into::into),
        }
    }
}

impl From<&CallAnswer> for CallBody {
    fn from(answer: &CallAnswer) -> Self {
        Self {
            call: answer.call.clone(),
            tool: answer.tool.clone(),
            verdict: match answer.verdict {
                Verdict::Allow => VerdictWord::Allow,
                Verdict::Block => VerdictWord::Block,
                Verdict::Hold => VerdictWord::Hold,
            },
            released: answer.released,
            reasons: answer.reasons.iter().map(Into::into).collect(),
            sentence: answer.sentence.clone(),
        }
    }
}

impl From<&Reason> for ReasonBody {
    fn from(reason: &Reason) -> Self {
        Self {
            code: reason.code.name().to_owned(),
            rule: reason.rule.clone(),
            path: reason.path.clone().unwrap_or_default(),
            message: reason.explain(),
        }
    }
}

impl From<&HeldAnswer> for HeldBody {
    fn from(held: &HeldAnswer) -> Self {
        let shown = |(label, value): &(String, Value)| (label.clone(), tool_contracts::redaction::redacted(value));
        Self {
            step: held.step,
            call: held.call.clone(),
            tool: held.tool.clone(),
            args_hash: held.args_hash.clone(),
            context: held.context.iter().map(shown).collect(),
            checkpoints: held.checkpoints.clone(),
            deadline_ms: held.deadline_ms,
            on_timeout: if held.allows_on_timeout { "allow" } else { "deny" },
        }
    }
}
