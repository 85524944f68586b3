//! `POST /v1/tool-contracts/evaluate`.

use axum::Json;
use scenario::checks::{ContractEvaluation, evaluate_tool_contracts};
use scenario::evidence::CallTrace;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::body::{Files, does_not_compile};
use crate::auth::Reader;
use crate::error::{ApiError, ErrorBody};
use crate::extract::JsonBody;

/// Calls that are to be judged by contracts.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct EvaluateRequest {
    /// The files of the contracts.
    files: Files,
    /// The calls, as a call trace has them: `{seq, at_ms, tool, source, id?, arguments?, proposal?, result?, is_error?}` each, where
    /// `source` is `proposed`, `executed` or `reported`.
    #[schema(value_type = Vec<Object>)]
    trace: CallTrace,
    /// The one on whose behalf the agent acted.
    #[serde(default)]
    principal: Option<Value>,
    /// What calls of tools without a contract come to: `block` or `allow`.
    #[serde(default)]
    unmatched: Unmatched,
    /// The number of violations that still pass.
    #[serde(default)]
    max_violations: u32,
    /// `binary`: 1 or 0; `ratio`: the share of calls without a violation.
    #[serde(default)]
    score: ScoreKind,
    /// True when a session fails that does not end in a terminal phase.
    #[serde(default = "yes")]
    require_terminal_phase: bool,
}

/// What calls of tools without a contract come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Unmatched {
    /// A violation.
    #[default]
    Block,
    /// They pass.
    Allow,
}

/// How the score is computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ScoreKind {
    /// 1 or 0.
    #[default]
    Binary,
    /// The share of calls without a violation.
    Ratio,
}

/// The verdict on calls, as the check `tool_contract` gives it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EvaluateBody {
    /// True when there are few enough violations.
    passed: bool,
    /// The score, from 0 to 1.
    score: f64,
    /// The first violation; empty when it passed.
    message: String,
    /// `{calls, violations, warnings, by_code, first_violation_seq, final_phase, attempted_violations, executed_violations, contract,
    /// findings, session}`.
    #[schema(value_type = Object)]
    details: Value,
}

fn yes() -> bool {
    true
}

/// Judge recorded calls by tool contracts
///
/// Nothing is run and nothing is kept. 422 when the contracts do not compile.
#[utoipa::path(post, path = "/v1/tool-contracts/evaluate", tag = "tool contracts", request_body = EvaluateRequest,
    responses((status = 200, body = EvaluateBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 413, body = ErrorBody), (status = 422, body = ErrorBody)))]
pub(crate) async fn evaluate(
    Reader(_caller): Reader,
    JsonBody(request): JsonBody<EvaluateRequest>,
) -> Result<Json<EvaluateBody>, ApiError> {
    let options = ContractEvaluation {
        principal: request.principal,
        allows_unmatched: request.unmatched == Unmatched::Allow,
        max_violations: request.max_violations,
        is_ratio: request.score == ScoreKind::Ratio,
        require_terminal_phase: request.require_terminal_phase,
    };
    let verdict = evaluate_tool_contracts(request.files.set()?, &options, &request.trace)
        .map_err(|error| does_not_compile(&error))?;
    Ok(Json(EvaluateBody {
        passed: verdict.is_passed(),
        score: verdict.score,
        message: verdict.message.clone(),
        details: verdict.details,
    }))
}
