//! The prompt of a mutation that a model writes. It is there before the sandbox is made.

use scenario::plan::{Values, prompt_request};

use crate::attempt::Attempt;
use crate::error::EngineError;
use crate::judges::{self, WrittenPrompt};

/// Asks the model for the prompt of a mutation; `None` for any other scenario.
pub(super) async fn prompt(attempt: &Attempt<'_>) -> Result<Option<WrittenPrompt>, EngineError> {
    let Some(mutation) = attempt.scenario.purpose.mutation() else { return Ok(None) };
    let original = Values::with_secrets(attempt.spec, attempt.scenario, attempt.secrets).original_prompt();
    let settings = attempt.spec.mutations.as_ref();
    let Some(request) = prompt_request(mutation, settings, &original) else { return Ok(None) };
    // Nothing leaves this machine that could not be kept.
    if attempt.secrets.values().any(|secret| !secret.is_empty() && original.contains(secret)) {
        let what = "a prompt with a secret in it is not sent to the model that writes mutations".to_owned();
        return Err(EngineError::Unsupported { what });
    }
    let written = judges::write(attempt.machine, &request).await;
    let (kind, model) = (mutation.kind, request.model);
    written.map(Some).map_err(|error| EngineError::NoPrompt { kind, model, reason: error.to_string() })
}
