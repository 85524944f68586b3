//! Calls of the Docker engine: each is bounded in time, and each error says what was tried.

use std::time::Duration;

use bollard::errors::Error;

use crate::advice::with_advice;
use crate::error::EngineError;

/// Timeout of calls to the engine that move no data.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for a call, for so long.
pub(super) async fn call<T>(operation: &str, future: impl Future<Output = Result<T, Error>>) -> Result<T, EngineError> {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(result) => result.map_err(|error| refused(operation, &error)),
        Err(_) => Err(EngineError::DockerTimeout { operation: operation.to_owned(), seconds: PATIENCE.as_secs() }),
    }
}

/// Waits for a call whose object may be gone already: `None` then.
pub(super) async fn call_if_there<T>(
    operation: &str,
    future: impl Future<Output = Result<T, Error>>,
) -> Result<Option<T>, EngineError> {
    let found = async {
        match future.await {
            Err(Error::DockerResponseServerError { status_code: 404, .. }) => Ok(None),
            other => other.map(Some),
        }
    };
    call(operation, found).await
}

/// Turns an error of the engine into one of ours.
pub(super) fn refused(operation: &str, error: &Error) -> EngineError {
    let reason = match error {
        Error::DockerResponseServerError { message, .. } => message.trim().to_owned(),
        Error::DockerStreamError { error } => error.trim().to_owned(),
        other => with_causes(other),
    };
    EngineError::Docker { operation: operation.to_owned(), reason: with_advice(reason) }
}

/// An error with what caused it: some of them say nothing by themselves.
fn with_causes(error: &Error) -> String {
    let mut texts = vec![error.to_string()];
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        texts.push(error.to_string());
        cause = error.source();
    }
    texts.dedup();
    texts.retain(|text| !text.is_empty());
    texts.join(": ")
}

#[cfg(test)]
mod tests {
    use bollard::errors::Error;

    use super::refused;

    #[test]
    fn a_refusal_says_what_was_tried_what_was_said_and_what_to_do() {
        let message = "no space left on device\n".to_owned();
        let error =
            refused("create the container `x`", &Error::DockerResponseServerError { status_code: 500, message });
        insta::assert_snapshot!(error.to_string(), @"cannot create the container `x`: no space left on device; the disk is full: `touchstone gc --images` removes what is old, `docker system prune` what the engine does not need");
    }
}
