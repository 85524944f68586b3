//! Does something again and again until the server ends.

use std::future::Future;
use std::time::Duration;

use store::StoreError;
use tokio::time::sleep;

use crate::app::App;

/// The wait after the first failure, and the longest wait.
const WAITS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// The next step after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// There may be more to do.
    AtOnce,
    /// There is nothing to do for some time.
    After(Duration),
}

impl Next {
    /// There is nothing to do until somebody brings something: looked for from time to time.
    pub(super) fn soon(app: &App) -> Self {
        Self::After(app.config.look * 4)
    }
}

/// Takes turns until the server ends. A failure is counted, and waited after: longer, the more failures there were.
pub(super) async fn repeat<F>(app: App, what: &'static str, turn: impl Fn(App) -> F)
where
    F: Future<Output = Result<Next, StoreError>>,
{
    let mut observer = app.retries.observe(what);
    while !app.ending.is_cancelled() {
        let taken = tokio::select! {
            () = app.ending.cancelled() => return,
            taken = turn(app.clone()) => taken,
        };
        let pause = match taken {
            Ok(Next::AtOnce) => {
                observer.succeeded();
                continue;
            }
            Ok(Next::After(pause)) => {
                observer.succeeded();
                pause
            }
            Err(error) => {
                let failures = observer.failed(error);
                let (first, most) = WAITS;
                first.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(most)
            }
        };
        tokio::select! {
            () = app.ending.cancelled() => return,
            () = sleep(pause) => {}
        }
    }
}
