//! Stopping containers for a while, and starting them again: faults that hit a service as a whole.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// A service that could not be stopped, started or waited for.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ControlError(Box<dyn Error + Send + Sync>);

impl ControlError {
    /// Wraps the error of a control.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}

/// Stops the container of a service, and starts it again.
#[async_trait]
pub trait ServiceControl: Debug + Send + Sync {
    /// Stops all its processes where they are.
    ///
    /// # Errors
    ///
    /// The reason why that was not possible.
    async fn pause(&self) -> Result<(), ControlError>;

    /// Resumes its processes.
    ///
    /// # Errors
    ///
    /// The reason why that was not possible.
    async fn resume(&self) -> Result<(), ControlError>;

    /// Ends it as a crash does, and starts it with the data that it has. It need not be ready then.
    ///
    /// # Errors
    ///
    /// The reason why that was not possible.
    async fn restart(&self) -> Result<(), ControlError>;

    /// Waits until it is ready.
    ///
    /// # Errors
    ///
    /// The reason why it is not.
    async fn until_ready(&self) -> Result<(), ControlError>;
}

/// A service that is not back after a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostService {
    /// The service.
    pub service: String,
    /// Reason why it is not back.
    pub reason: String,
    /// True when it was started again, and then did not become ready: it would have, had nobody changed it before. Otherwise it
    /// could not be stopped or started, which is our own failure.
    pub is_changed: bool,
}

/// The containers that faults stop and start.
#[derive(Debug, Default)]
pub(super) struct Controls {
    services: Mutex<BTreeMap<String, Arc<Controlled>>>,
    tasks: Mutex<JoinSet<()>>,
    shared: Arc<Shared>,
}

/// The state that all tasks share.
#[derive(Debug, Default)]
struct Shared {
    lost: Mutex<Option<LostService>>,
    released: CancellationToken,
}

#[derive(Debug)]
struct Controlled {
    service: String,
    control: Arc<dyn ServiceControl>,
    standing: tokio::sync::Mutex<Standing>,
}

/// The state of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// The service runs as it was started.
    Runs,
    /// Its processes are stopped.
    Paused,
    /// The service was started again.
    Restarted,
}

impl Controls {
    /// Registers the control that stops and starts a service.
    pub(super) fn add(&self, service: &str, control: Arc<dyn ServiceControl>) {
        let standing = tokio::sync::Mutex::new(Standing::Runs);
        let controlled = Controlled { service: service.to_owned(), control, standing };
        self.services().insert(service.to_owned(), Arc::new(controlled));
    }

    /// Stops a service for so long, or until the agent ends; `false` when nothing was stopped.
    pub(super) async fn pause(&self, service: &str, time: Duration) -> bool {
        self.carry_out(service, move |controlled, shared, done| async move {
            let before = match controlled.pause(&shared).await {
                Some(before) => before,
                None => return,
            };
            let _ = done.send(());
            tokio::select! {
                () = sleep(time) => {}
                () = shared.released.cancelled() => {}
            }
            controlled.resume(&shared, before).await;
        })
        .await
    }

    /// Ends a service and starts it again; `false` when that was not done.
    pub(super) async fn restart(&self, service: &str) -> bool {
        self.carry_out(service, |controlled, shared, done| async move {
            if controlled.restart(&shared).await {
                let _ = done.send(());
            }
        })
        .await
    }

    /// Works on a service in a task of its own: a client that hangs up must not leave it half done.
    async fn carry_out<Work: Future<Output = ()> + Send + 'static>(
        &self,
        service: &str,
        work: impl FnOnce(Arc<Controlled>, Arc<Shared>, oneshot::Sender<()>) -> Work,
    ) -> bool {
        let Some(controlled) = self.services().get(service).cloned() else { return false };
        let (done, is_done) = oneshot::channel();
        self.tasks().spawn(work(controlled, Arc::clone(&self.shared), done));
        is_done.await.is_ok()
    }

    /// Resumes everything, because the agent has ended, and waits until services that were started again are ready.
    pub(super) async fn release(&self) {
        self.shared.released.cancel();
        let mut tasks = std::mem::take(&mut *self.tasks());
        while tasks.join_next().await.is_some() {}
        let all = self.services().clone();
        for controlled in all.values() {
            if *controlled.standing.lock().await == Standing::Restarted
                && let Err(error) = controlled.control.until_ready().await
            {
                self.shared.lose(&controlled.service, &error, true);
            }
        }
    }

    /// The first service that could not be brought back.
    pub(super) fn lost(&self) -> Option<LostService> {
        self.shared.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn services(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Controlled>>> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Controlled {
    /// Stops it; its standing before, and nothing when it was not stopped.
    async fn pause(&self, shared: &Shared) -> Option<Standing> {
        let mut standing = self.standing.lock().await;
        if *standing == Standing::Paused || shared.released.is_cancelled() {
            return None;
        }
        match self.control.pause().await {
            Ok(()) => Some(std::mem::replace(&mut *standing, Standing::Paused)),
            Err(error) => {
                shared.lose(&self.service, &error, false);
                None
            }
        }
    }

    async fn resume(&self, shared: &Shared, before: Standing) {
        let mut standing = self.standing.lock().await;
        match self.control.resume().await {
            Ok(()) => *standing = before,
            Err(error) => shared.lose(&self.service, &error, false),
        }
    }

    async fn restart(&self, shared: &Shared) -> bool {
        let mut standing = self.standing.lock().await;
        if *standing == Standing::Paused || shared.released.is_cancelled() {
            return false;
        }
        match self.control.restart().await {
            Ok(()) => *standing = Standing::Restarted,
            Err(error) => shared.lose(&self.service, &error, false),
        }
        *standing == Standing::Restarted
    }
}

impl Shared {
    fn lose(&self, service: &str, error: &ControlError, is_changed: bool) {
        let reason = error.to_string();
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.get_or_insert(LostService { service: service.to_owned(), reason, is_changed });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use async_trait::async_trait;

    use super::{ControlError, Controls, LostService, ServiceControl};

    /// Control that records its calls, and fails at one of them.
    #[derive(Debug, Default)]
    struct Told {
        all: Mutex<Vec<&'static str>>,
        fails_at: &'static str,
    }

    impl Told {
        fn tell(&self, what: &'static str) -> Result<(), ControlError> {
            self.all.lock().expect("nobody panics").push(what);
            if self.fails_at == what { Err(ControlError::new("broken")) } else { Ok(()) }
        }

        fn all(&self) -> String {
            self.all.lock().expect("nobody panics").join(" ")
        }
    }

    #[async_trait]
    impl ServiceControl for Told {
        async fn pause(&self) -> Result<(), ControlError> {
            self.tell("pause")
        }

        async fn resume(&self) -> Result<(), ControlError> {
            self.tell("resume")
        }

        async fn restart(&self) -> Result<(), ControlError> {
            let told = self.tell("restart");
            tokio::task::yield_now().await;
            told
        }

        async fn until_ready(&self) -> Result<(), ControlError> {
            self.tell("ready")
        }
    }

    fn controls(fails_at: &'static str) -> (Controls, Arc<Told>) {
        let (controls, told) = (Controls::default(), Arc::new(Told { fails_at, ..Told::default() }));
        controls.add("db", Arc::<Told>::clone(&told));
        (controls, told)
    }

    #[tokio::test]
    async fn a_paused_service_goes_on_when_its_time_or_the_agents_is_over() {
        let (controls, told) = controls("");
        assert!(controls.pause("db", Duration::from_secs(1000)).await);
        assert!(!controls.pause("db", Duration::ZERO).await, "it stands still already");
        assert!(!controls.restart("db").await && !controls.pause("other", Duration::ZERO).await);
        controls.release().await;
        assert_eq!(told.all(), "pause resume");
        assert!(!controls.pause("db", Duration::ZERO).await, "the agent has ended");
        assert_eq!((told.all().as_str(), controls.lost()), ("pause resume", None));
    }

    #[tokio::test]
    async fn what_was_begun_is_finished_when_the_client_hangs_up() {
        let (controls, told) = controls("");
        let mut restart = Box::pin(controls.restart("db"));
        assert!(futures::poll!(&mut restart).is_pending());
        while told.all().is_empty() {
            tokio::task::yield_now().await;
        }
        drop(restart);
        controls.release().await;
        assert_eq!(told.all(), "restart ready");
    }

    #[tokio::test]
    async fn a_service_that_cannot_be_started_again_is_our_failure_and_one_that_is_not_ready_then_was_changed() {
        for (fails_at, is_restarted, is_changed) in [("restart", false, false), ("ready", true, true)] {
            let (controls, _) = controls(fails_at);
            assert_eq!(controls.restart("db").await, is_restarted);
            controls.release().await;
            let lost = LostService { service: "db".to_owned(), reason: "broken".to_owned(), is_changed };
            assert_eq!(controls.lost(), Some(lost));
        }
    }
}
