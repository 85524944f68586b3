//! Does something again and again until the server ends.

use std::future::Future;
use std::time::Duration;

use store::StoreError;
use tokio::time::sleep;

use crate::app::App;

/// How long a task waits after the first failure, and at most.
const WAITS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// What comes after a turn.
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

/// Takes turns until the server ends. A failure is logged, and waited after: longer, the more failures there were.
pub(super) async fn repeat<F>(app: App, what: &'static str, turn: impl Fn(App) -> F)
where
    F: Future<Output = Result<Next, StoreError>>,
{
    let mut failures = 0_u32;
    while !app.ending.is_cancelled() {
        let taken = tokio::select! {
            () = app.ending.cancelled() => return,
            taken = turn(app.clone()) => taken,
        };
        let pause = match taken {
            Ok(Next::AtOnce) => {
                failures = 0;
                continue;
            }
            Ok(Next::After(pause)) => {
                failures = 0;
                pause
            }
            Err(error) => {
                tracing::error!(%error, "{what} failed: {error}");
                let (first, most) = WAITS;
                let pause = first.saturating_mul(1 << failures.min(10)).min(most);
                failures += 1;
                pause
            }
        };
        tokio::select! {
            () = app.ending.cancelled() => return,
            () = sleep(pause) => {}
        }
    }
}
