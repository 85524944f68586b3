//! The runs without faults that the scenarios of one run are compared with, each made once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use scenario::evidence::BaselineRun;
use scenario::plan::{CleanRunKey, Seed};
use tokio::sync::Mutex as Turns;
use tokio_util::sync::CancellationToken;

use crate::error::EngineError;

/// The runs without faults of one run of an experiment, as far as this process made them. Another process makes its own.
#[derive(Debug)]
pub struct Baselines {
    /// The seed of the experiment, from which theirs derive.
    pub(crate) seed: Seed,
    places: Mutex<HashMap<CleanRunKey, Arc<Turns<Option<Made>>>>>,
}

/// A run without faults, with the key of its redaction markers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Made {
    pub(crate) run: BaselineRun,
    pub(crate) marker_key: String,
}

/// A run without faults, and who made it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Found {
    /// The caller made it.
    Own(Made),
    /// Another scenario made it.
    Shared(Made),
}

impl Baselines {
    /// Makes the baselines of an experiment with this seed.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        Self { seed, places: Mutex::default() }
    }

    /// The run with this key. The first who asks makes it, and others wait; when it fails or is cancelled, the next of them makes
    /// it.
    pub(crate) async fn get(
        &self,
        key: CleanRunKey,
        make: impl Future<Output = Result<Made, EngineError>>,
        cancel: &CancellationToken,
    ) -> Result<Found, EngineError> {
        let place = Arc::clone(self.places.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default());
        let mut turn = cancel.run_until_cancelled(place.lock()).await.ok_or(EngineError::Cancelled)?;
        if let Some(made) = &*turn {
            return Ok(Found::Shared(made.clone()));
        }
        let made = make.await?;
        *turn = Some(made.clone());
        Ok(Found::Own(made))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;
    use scenario::evidence::BaselineRun;
    use scenario::plan::{CleanRunKey, PlanOptions, Seed, expand};
    use scenario::spec::load;
    use tokio::sync::oneshot;
    use tokio_util::sync::CancellationToken;

    use super::{Baselines, Found, Made};
    use crate::error::EngineError;

    fn key() -> CleanRunKey {
        let text = "version: 1\nid: t\nbase: debian\ntask: {prompt: x}\nagent: {type: noop}\n\
            contract: {name: x, invariants: [{id: a, type: behavior_unchanged}]}\n";
        let spec = load(text, None).spec.expect("a spec");
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        plan.scenarios[0].clean_run(&spec, plan.seed).expect("a clean run").key
    }

    fn made() -> Made {
        Made { run: BaselineRun::default(), marker_key: "0a1b".to_owned() }
    }

    #[tokio::test]
    async fn several_at_once_wait_for_one_run() {
        let (baselines, cancel, count) =
            (Baselines::new(Seed::new(1)), CancellationToken::new(), AtomicUsize::default());
        let make = || async {
            count.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            Ok(made())
        };
        let found = join_all((0..5).map(|_| baselines.get(key(), make(), &cancel))).await;
        let own = found.iter().filter(|found| matches!(found, Ok(Found::Own(_)))).count();
        assert_eq!((own, count.load(Ordering::SeqCst), found.len()), (1, 1, 5));
    }

    #[tokio::test]
    async fn who_waits_takes_over_from_who_was_cancelled_or_failed() {
        let (baselines, cancel) = (Baselines::new(Seed::new(1)), CancellationToken::new());
        let (begun, has_begun) = oneshot::channel();
        let (fail, is_to_fail) = oneshot::channel::<()>();
        let failing = async {
            begun.send(()).expect("somebody waits");
            let _ = is_to_fail.await;
            Err(EngineError::Cancelled)
        };
        let first = baselines.get(key(), failing, &cancel);
        let second = async {
            has_begun.await.expect("it began");
            let waiting = baselines.get(key(), async { Ok(made()) }, &cancel);
            tokio::pin!(waiting);
            assert!(futures::poll!(&mut waiting).is_pending(), "one at a time");
            fail.send(()).expect("it goes on");
            waiting.await
        };
        let (first, second) = tokio::join!(first, second);
        assert!(matches!(first, Err(EngineError::Cancelled)));
        assert!(matches!(second, Ok(Found::Own(_))), "{second:?}");
    }

    #[tokio::test]
    async fn who_is_cancelled_does_not_wait() {
        let (baselines, cancel) = (Baselines::new(Seed::new(1)), CancellationToken::new());
        let (calm, never) = (CancellationToken::new(), futures::future::pending());
        let holding = baselines.get(key(), never, &calm);
        tokio::pin!(holding);
        assert!(futures::poll!(&mut holding).is_pending());
        cancel.cancel();
        let waiting = baselines.get(key(), async { Ok(made()) }, &cancel).await;
        assert!(matches!(waiting, Err(EngineError::Cancelled)), "{waiting:?}");
    }
}
