//! What the agent's side asks and tells: requests to the model, its responses, executions and what came of them.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use tool_contracts::remote::{
    CompletionTold, ExecutionTold, ModelRequestTold, OutcomeTold, ProposalTold, RemoteAnswer, RemoteRequest,
    ResultTold, StepTold,
};
use utoipa::ToSchema;

use super::body::{ModelBody, StepBody};
use super::standing::{found, look, take};
use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, JsonBody};

/// The most calls of a step, and tools and results of a request.
const MOST: usize = 1000;

/// A request to a model that is about to be sent.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ModelRequestBody {
    /// The provider, as `provider_constraints` of the contracts calls it.
    #[serde(default)]
    #[schema(example = "openai")]
    provider: String,
    /// The request as it would be sent.
    #[serde(default)]
    #[schema(value_type = Object)]
    body: Value,
    /// The tools that it offers.
    #[serde(default)]
    offered: Vec<OfferedBody>,
    /// The results of tools that it brings.
    #[serde(default)]
    results: Vec<ResultBody>,
}

/// A tool that a request offers.
#[derive(Debug, Deserialize, ToSchema)]
struct OfferedBody {
    /// Its name.
    name: String,
    /// The JSON Schema of its arguments.
    #[serde(default)]
    #[schema(value_type = Object)]
    schema: Option<Value>,
}

/// A result of a tool that the agent reports to the model.
#[derive(Debug, Deserialize, ToSchema)]
struct ResultBody {
    /// The model's id of the call.
    id: String,
    /// The text.
    text: String,
    /// True when it is an error.
    #[serde(default)]
    is_error: bool,
}

/// The calls of a response of the model.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct StepRequest {
    /// The calls, in their order; none for a response in text.
    calls: Vec<ProposalBody>,
    /// The request and the response, for assertions and response formats. Without it those rules are `not_evaluable`.
    #[serde(default)]
    exchange: Option<ExchangeBody>,
    /// The cost of the response, in millionths of a dollar.
    #[serde(default)]
    cost_micros: u64,
}

/// A request to a model and its response, in one form for all providers.
#[derive(Debug, Deserialize, ToSchema)]
struct ExchangeBody {
    /// `{model, messages, tools, tool_choice}`.
    #[schema(value_type = Object)]
    request: Value,
    /// `{content, finish_reason, tool_calls: [{name, arguments}]}`.
    #[schema(value_type = Object)]
    response: Value,
}

/// A call that a response proposes.
#[derive(Debug, Deserialize, ToSchema)]
struct ProposalBody {
    /// The model's id of it.
    #[serde(default)]
    id: String,
    /// The tool.
    tool: String,
    /// The arguments; a string when the model wrote no JSON.
    arguments: Value,
}

/// A call that is about to be carried out.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ExecutionRequest {
    /// The tool.
    tool: String,
    /// The arguments.
    arguments: Value,
    /// The model's id of the call, where it is known.
    #[serde(default)]
    call: Option<String>,
}

/// What came of a call.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct CompletionRequest {
    /// The call's id in the session.
    call: String,
    /// `ok`, `error`, or `lost` when no reply came.
    outcome: OutcomeWord,
    /// The output, or the error: `{status, code, message}`.
    #[serde(default)]
    #[schema(value_type = Object)]
    output: Value,
    /// The time that it took, in milliseconds.
    #[serde(default)]
    latency_ms: Option<u64>,
}

/// A kind of outcome.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum OutcomeWord {
    /// It succeeded.
    Ok,
    /// It failed.
    Error,
    /// No reply came.
    Lost,
}

/// Ask whether a request may go to the model, and which tools it may show
///
/// The pre-check counts towards the circuit breaker. Results of tools that the request brings complete their calls first. 409 while
/// a call waits for an approval.
#[utoipa::path(post, path = "/v1/tool-contracts/sessions/{id}/requests", tag = "tool contracts", request_body = ModelRequestBody,
    params(("id" = String, Path, description = "The session's id")),
    responses((status = 200, body = ModelBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
        (status = 413, body = ErrorBody)))]
pub(crate) async fn model_request(
    State(app): State<App>,
    caller: Caller,
    At(id): At<String>,
    JsonBody(request): JsonBody<ModelRequestBody>,
) -> Result<Json<ModelBody>, ApiError> {
    found(&app, &caller, &id, true).await?;
    require_few(request.offered.len().max(request.results.len()))?;
    let result = |result: ResultBody| ResultTold { id: result.id, text: result.text, is_error: result.is_error };
    let told = ModelRequestTold {
        provider: request.provider,
        body: request.body,
        offered: request.offered.into_iter().map(|tool| (tool.name, tool.schema)).collect(),
        results: request.results.into_iter().map(result).collect(),
    };
    match take(&app, &id, &RemoteRequest::ModelRequest(told)).await? {
        RemoteAnswer::Model(answer) => Ok(Json(answer.into())),
        RemoteAnswer::Step(_) | RemoteAnswer::Done => Err(ApiError::internal("an answer of another kind")),
    }
}

/// Decide on the calls of a response of the model
///
/// Only calls that are `released` may be carried out. While a call is held, `status` is `held` and nothing is released; ask for the
/// step again until it is `decided`.
#[utoipa::path(post, path = "/v1/tool-contracts/sessions/{id}/steps", tag = "tool contracts", request_body = StepRequest,
    params(("id" = String, Path, description = "The session's id")),
    responses((status = 200, body = StepBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
        (status = 413, body = ErrorBody)))]
pub(crate) async fn step(
    State(app): State<App>,
    caller: Caller,
    At(id): At<String>,
    JsonBody(request): JsonBody<StepRequest>,
) -> Result<Json<StepBody>, ApiError> {
    found(&app, &caller, &id, true).await?;
    require_few(request.calls.len())?;
    let call = |call: ProposalBody| ProposalTold { id: call.id, tool: call.tool, arguments: call.arguments };
    let told = StepTold {
        calls: request.calls.into_iter().map(call).collect(),
        exchange: request.exchange.map(|exchange| (exchange.request, exchange.response)),
        cost_micros: request.cost_micros,
    };
    decided(take(&app, &id, &RemoteRequest::Step(told)).await?)
}

/// A step as it stands
#[utoipa::path(get, path = "/v1/tool-contracts/sessions/{id}/steps/{step}", tag = "tool contracts",
    params(("id" = String, Path, description = "The session's id"), ("step" = u64, Path, description = "The step's number")),
    responses((status = 200, body = StepBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub(crate) async fn step_again(
    State(app): State<App>,
    caller: Caller,
    At((id, step)): At<(String, u64)>,
) -> Result<Json<StepBody>, ApiError> {
    found(&app, &caller, &id, false).await?;
    let body = look(&app, &id, |session| session.step(step).map(StepBody::from)).await?;
    body.map(Json).ok_or_else(|| ApiError::not_found(format!("there is no step {step}")))
}

/// Ask for leave to carry a call out
///
/// A call whose proposal was released passes once. One that nobody proposed, or with other arguments, is judged by itself.
#[utoipa::path(post, path = "/v1/tool-contracts/sessions/{id}/executions", tag = "tool contracts", request_body = ExecutionRequest,
    params(("id" = String, Path, description = "The session's id")),
    responses((status = 200, body = StepBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
        (status = 413, body = ErrorBody)))]
pub(crate) async fn execution(
    State(app): State<App>,
    caller: Caller,
    At(id): At<String>,
    JsonBody(request): JsonBody<ExecutionRequest>,
) -> Result<Json<StepBody>, ApiError> {
    found(&app, &caller, &id, true).await?;
    let ExecutionRequest { tool, arguments, call } = request;
    decided(take(&app, &id, &RemoteRequest::Execution(ExecutionTold { tool, arguments, call })).await?)
}

/// Tell what came of a call
///
/// With the session's token the agent itself says so, and the result is self-reported: for destructive, admin and financial tools it
/// is uncertain then, unless the session was opened with `trust_self_reported`.
#[utoipa::path(post, path = "/v1/tool-contracts/sessions/{id}/completions", tag = "tool contracts", request_body = CompletionRequest,
    params(("id" = String, Path, description = "The session's id")),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
        (status = 413, body = ErrorBody)))]
pub(crate) async fn completion(
    State(app): State<App>,
    caller: Caller,
    At(id): At<String>,
    JsonBody(request): JsonBody<CompletionRequest>,
) -> Result<StatusCode, ApiError> {
    found(&app, &caller, &id, true).await?;
    let output = match (request.outcome, request.output) {
        (OutcomeWord::Error, Value::Null) => json!({}),
        (_, output) => output,
    };
    let told = CompletionTold {
        call: request.call,
        outcome: match request.outcome {
            OutcomeWord::Ok => OutcomeTold::Ok,
            OutcomeWord::Error => OutcomeTold::Error,
            OutcomeWord::Lost => OutcomeTold::Lost,
        },
        output,
        latency_ms: request.latency_ms,
        is_self_reported: caller.sandbox.is_some(),
    };
    take(&app, &id, &RemoteRequest::Completion(told)).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn decided(answer: RemoteAnswer) -> Result<Json<StepBody>, ApiError> {
    match answer {
        RemoteAnswer::Step(step) => Ok(Json(StepBody::from(&step))),
        RemoteAnswer::Model(_) | RemoteAnswer::Done => Err(ApiError::internal("an answer of another kind")),
    }
}

fn require_few(count: usize) -> Result<(), ApiError> {
    if count > MOST { Err(ApiError::invalid(format!("there may be {MOST} at once"))) } else { Ok(()) }
}
