//! Approvals as they are shown to programs: by the API, by webhooks and by commands.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use store::{Approval, ApprovalStatus, MadeDecision};
use utoipa::ToSchema;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, Schema};

/// A call that waits for a person's decision, or did.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ApprovalBody {
    /// Its id, which people decide by.
    #[schema(example = "ap_0f3b2c")]
    id: String,
    /// The experiment.
    experiment_id: String,
    /// The number of its run.
    run: u32,
    /// The scenario.
    scenario_id: String,
    /// The spec.
    spec_id: String,
    /// The session of the tool contracts.
    session: String,
    /// The call's id in the session.
    call: String,
    /// The tool.
    tool: String,
    /// The hash of the arguments. A decision names it, so that it is for these arguments only.
    args_hash: String,
    /// The hash of the contracts.
    contract_hash: String,
    /// The version of the session's state when the call was held.
    state_version: u64,
    /// The number of calls of the same tool with the same arguments that were held before.
    repetition: u64,
    /// The arguments that a person is to see, without secrets.
    context: Vec<ContextField>,
    /// The checkpoints that hold it.
    checkpoints: Vec<String>,
    /// The reason as a sentence, with the rule.
    reason: String,
    /// The time when it was asked for.
    #[schema(format = DateTime)]
    requested_at: String,
    /// Until when somebody may decide.
    #[schema(format = DateTime)]
    deadline: String,
    /// The fate of the call when nobody decides in time.
    on_timeout: OnTimeout,
    /// The status.
    #[schema(schema_with = status_words)]
    status: ApprovalStatus,
    /// The name of who decided, as they said; empty when nobody did.
    by: String,
    /// The key that they had.
    by_key: String,
    /// The note of who decided.
    note: String,
    /// The time when it was decided, expired or was withdrawn.
    #[schema(format = DateTime, required = true)]
    decided_at: Option<String>,
}

/// An argument that a person is to see.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct ContextField {
    /// The name for people.
    label: String,
    /// Its value.
    value: Value,
}

/// The fate of a call when nobody decides in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OnTimeout {
    /// It is refused.
    Deny,
    /// It goes on.
    Allow,
}

/// The words of a status in the description of the API.
pub(crate) fn status_words() -> Schema {
    let words = ApprovalStatus::ALL.map(ApprovalStatus::word);
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)).into()
}

impl ApprovalBody {
    /// An approval as it stands at this time.
    #[must_use]
    pub fn of(approval: &Approval, now: Timestamp) -> Self {
        let Approval { new, spec_id, requested_at, decision, decided_at, .. } = approval.clone();
        let nobody = MadeDecision { by: String::new(), key: String::new(), note: String::new() };
        let MadeDecision { by, key, note } = decision.unwrap_or(nobody);
        Self {
            id: new.id,
            experiment_id: new.run.experiment.to_string(),
            run: new.run.number,
            scenario_id: new.scenario,
            spec_id,
            session: new.session,
            call: new.call,
            tool: new.tool,
            args_hash: new.arguments_hash,
            contract_hash: new.contract,
            state_version: new.state_version,
            repetition: new.repetition,
            context: new.context.into_iter().map(|(label, value)| ContextField { label, value }).collect(),
            checkpoints: new.checkpoints,
            reason: new.reason,
            requested_at: requested_at.to_string(),
            deadline: new.deadline.to_string(),
            on_timeout: if new.allows_on_timeout { OnTimeout::Allow } else { OnTimeout::Deny },
            status: approval.status_at(now),
            by,
            by_key: key,
            note,
            decided_at: decided_at.map(|at| at.to_string()),
        }
    }
}
