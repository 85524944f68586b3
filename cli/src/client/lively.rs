//! Answers that arrive in parts: they may take as long as they want, as long as something arrives.

use std::fmt::Display;
use std::time::Duration;

use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt as _};
use tokio::time::timeout;

/// How long nothing may arrive. A server sends something every 15 seconds, also when nothing happens.
pub(super) const SILENCE: Duration = Duration::from_secs(60);

/// The parts of an answer, until it ends, breaks, or nothing arrives for too long: then nobody is there any more.
pub(super) fn lively<T, E>(
    parts: impl Stream<Item = Result<T, E>> + Send + 'static,
    silence: Duration,
) -> BoxStream<'static, Result<T, String>>
where
    T: Send + 'static,
    E: Display + Send + 'static,
{
    let next = move |parts: Option<BoxStream<'static, Result<T, E>>>| async move {
        let mut parts = parts?;
        match timeout(silence, parts.next()).await {
            Ok(Some(Ok(part))) => Some((Ok(part), Some(parts))),
            Ok(Some(Err(error))) => Some((Err(error.to_string()), None)),
            Ok(None) => None,
            Err(_) => Some((Err(format!("nothing arrived for {} s", silence.as_secs())), None)),
        }
    };
    stream::unfold(Some(parts.boxed()), next).boxed()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::{StreamExt as _, stream};

    use super::lively;

    async fn parts(of: impl futures::Stream<Item = Result<u8, String>> + Send + 'static) -> Vec<Result<u8, String>> {
        lively(of, Duration::from_millis(20)).collect().await
    }

    #[tokio::test]
    async fn whoever_says_nothing_any_more_is_not_waited_for() {
        let ends = stream::iter([Ok(1), Ok(2)]);
        assert_eq!(parts(ends).await, [Ok(1), Ok(2)]);
        let breaks = stream::iter([Ok(1), Err("broken".to_owned()), Ok(2)]);
        assert_eq!(parts(breaks).await, [Ok(1), Err("broken".to_owned())]);
        let is_silent = stream::iter([Ok(1)]).chain(stream::pending());
        assert_eq!(parts(is_silent).await, [Ok(1), Err("nothing arrived for 0 s".to_owned())]);
    }
}
