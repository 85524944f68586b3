//! Answers that arrive in parts: they may take as long as they want, as long as something arrives.

use std::time::Duration;

use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt as _};
use tokio::time::timeout;

/// Idle timeout of a stream. A server sends something every 15 seconds, even when nothing happens.
pub(super) const SILENCE: Duration = Duration::from_secs(60);

/// The reason why an answer does not arrive any further.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PartsError<E> {
    /// The stream broke.
    #[error("{0}")]
    Broken(E),
    /// Nothing arrived within the timeout.
    #[error("nothing arrived for {} s", .0.as_secs())]
    Silence(Duration),
}

/// Returns the parts of an answer until it ends, breaks, or nothing arrives within the timeout.
pub(super) fn with_idle_timeout<T, E>(
    parts: impl Stream<Item = Result<T, E>> + Send + 'static,
    silence: Duration,
) -> BoxStream<'static, Result<T, PartsError<E>>>
where
    T: Send + 'static,
    E: Send + 'static,
{
    let next = move |parts: Option<BoxStream<'static, Result<T, E>>>| async move {
        let mut parts = parts?;
        match timeout(silence, parts.next()).await {
            Ok(Some(Ok(part))) => Some((Ok(part), Some(parts))),
            Ok(Some(Err(error))) => Some((Err(PartsError::Broken(error)), None)),
            Ok(None) => None,
            Err(_) => Some((Err(PartsError::Silence(silence)), None)),
        }
    };
    stream::unfold(Some(parts.boxed()), next).boxed()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::{StreamExt as _, stream};

    use super::{PartsError, with_idle_timeout};

    /// A cut that a test makes.
    #[derive(Debug, PartialEq, Eq)]
    struct Cut;

    const PATIENCE: Duration = Duration::from_millis(20);

    async fn parts(
        of: impl futures::Stream<Item = Result<u8, Cut>> + Send + 'static,
    ) -> Vec<Result<u8, PartsError<Cut>>> {
        with_idle_timeout(of, PATIENCE).collect().await
    }

    #[tokio::test]
    async fn whoever_says_nothing_any_more_is_not_waited_for() {
        let ends = stream::iter([Ok(1), Ok(2)]);
        assert_eq!(parts(ends).await, [Ok(1), Ok(2)]);
        let breaks = stream::iter([Ok(1), Err(Cut), Ok(2)]);
        assert_eq!(parts(breaks).await, [Ok(1), Err(PartsError::Broken(Cut))]);
        let is_silent = stream::iter([Ok(1)]).chain(stream::pending());
        assert_eq!(parts(is_silent).await, [Ok(1), Err(PartsError::Silence(PATIENCE))]);
    }
}
