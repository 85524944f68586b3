//! Calls of the Docker engine: each is bounded in time, and each error says what was tried.

use std::time::Duration;

use bollard::errors::Error;

use crate::error::EngineError;

/// How long the engine may take for anything that moves no data.
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

/// What the engine said, as one of our errors.
pub(super) fn refused(operation: &str, error: &Error) -> EngineError {
    let reason = match error {
        Error::DockerResponseServerError { message, .. } => message.trim().to_owned(),
        Error::DockerStreamError { error } => error.trim().to_owned(),
        other => with_causes(other),
    };
    EngineError::Docker { operation: operation.to_owned(), reason }
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
