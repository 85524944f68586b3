//! `POST /v1/tool-contracts/compile`.

use axum::Json;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool_contracts::options::{Principal, Profile};
use tool_contracts::{CompileError, CompileOptions};
use utoipa::ToSchema;

use super::body::{Files, ProblemBody};
use crate::auth::Reader;
use crate::error::{ApiError, ErrorBody};
use crate::extract::JsonBody;

/// A set that is to be compiled.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct CompileRequest {
    /// The files.
    files: Files,
    /// The one on whose behalf the agent acts. Without it, policies are not looked at yet.
    #[serde(default)]
    principal: Option<Value>,
    /// True when all ten fields of a tool file are required.
    #[serde(default)]
    strict: bool,
}

/// The result of compiling.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CompileBody {
    /// True when the set compiles.
    ok: bool,
    /// The hash of what it says.
    #[schema(required = true)]
    hash: Option<String>,
    /// The tools that have a contract.
    tools: Vec<String>,
    /// Everything that is wrong with it.
    errors: Vec<ProblemBody>,
    /// Rules that cannot work together, and other remarks.
    warnings: Vec<ProblemBody>,
}

/// Compile tool contracts, and show everything that is wrong with them
///
/// The answer is 200 also when they do not compile: `ok` says so. With `workflow.yaml` among the files, all its roles are compiled,
/// and hash and tools are those of the first.
#[utoipa::path(post, path = "/v1/tool-contracts/compile", tag = "tool contracts", request_body = CompileRequest,
    responses((status = 200, body = CompileBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 413, body = ErrorBody)))]
pub(crate) async fn compile(
    Reader(_caller): Reader,
    JsonBody(request): JsonBody<CompileRequest>,
) -> Result<Json<CompileBody>, ApiError> {
    let profile = if request.strict { Profile::Strict } else { Profile::Lenient };
    let principal = request.principal.map_or(Principal::Later, Principal::Given);
    let options = CompileOptions { profile, principal, ..CompileOptions::default() };
    let (compiled, found) = match request.files.set()?.compile(&options) {
        Ok((compiled, warnings)) => (compiled, warnings),
        Err(CompileError { diagnostics }) => (None, diagnostics),
    };
    let (errors, warnings): (Vec<_>, Vec<_>) = found.iter().partition(|one| one.is_error());
    Ok(Json(CompileBody {
        ok: compiled.is_some(),
        hash: compiled.as_ref().map(|set| set.hash.clone()),
        tools: compiled.iter().flat_map(|set| set.tool_names()).map(ToString::to_string).collect(),
        errors: errors.into_iter().map(ProblemBody::of).collect(),
        warnings: warnings.into_iter().map(ProblemBody::of).collect(),
    }))
}
