//! Interface to the engine that runs scenarios and makes sandboxes, or to its stand-in in tests.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use engine::attempt::Attempt;
use engine::backend::{Backend, Reach, Space, Swept};
use engine::error::EngineError;
use engine::event::Events;
use engine::session::Session;
use scenario::evidence::Evidence;
use scenario::interactive::{Ask, Refusal, Reply, ServiceState};
use tokio_util::sync::CancellationToken;

/// Runs scenarios.
#[async_trait]
pub trait Sandboxes: Debug + Send + Sync {
    /// Runs one attempt and returns its evidence. Its sandbox is gone when this returns.
    async fn run(
        &self,
        attempt: &Attempt<'_>,
        events: &Events,
        cancel: &CancellationToken,
    ) -> Result<Evidence, EngineError>;

    /// Prepares the world of an attempt as an interactive sandbox. Nothing is left when this fails.
    async fn open(
        &self,
        attempt: &Attempt<'_>,
        events: &Events,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn LiveSandbox>, EngineError>;

    /// Removes leftovers of dead processes.
    async fn sweep(&self) -> Result<Swept, EngineError>;

    /// Makes room on the disk when less than this is free; returns the space that is free then.
    async fn make_room(&self, watermark: u64) -> Result<Space, EngineError>;

    /// Fails when the engine is unavailable.
    async fn answers(&self) -> Result<(), EngineError>;
}

/// An interactive sandbox.
#[async_trait]
pub trait LiveSandbox: Debug + Send + Sync {
    /// Answers a request.
    async fn answer(&self, ask: Ask) -> Result<Reply, Refusal>;

    /// Returns the addresses and states of its services, by name.
    fn services(&self) -> BTreeMap<String, ServiceState>;

    /// Waits until it cannot go on, and says why. It is still to be destroyed then.
    async fn ended(&self) -> String;

    /// Removes it. Can be called again.
    async fn destroy(&self) -> Result<(), EngineError>;
}

#[async_trait]
impl LiveSandbox for Session {
    async fn answer(&self, ask: Ask) -> Result<Reply, Refusal> {
        Self::answer(self, ask).await
    }

    fn services(&self) -> BTreeMap<String, ServiceState> {
        Self::services(self).clone()
    }

    async fn ended(&self) -> String {
        Self::ended(self).await
    }

    async fn destroy(&self) -> Result<(), EngineError> {
        Self::destroy(self).await
    }
}

/// Runs scenarios in sandboxes of a backend.
#[derive(Debug, Clone)]
pub struct OnBackend(pub Arc<dyn Backend>);

#[async_trait]
impl Sandboxes for OnBackend {
    async fn run(
        &self,
        attempt: &Attempt<'_>,
        events: &Events,
        cancel: &CancellationToken,
    ) -> Result<Evidence, EngineError> {
        engine::run_scenario(&*self.0, attempt, events, cancel).await
    }

    async fn open(
        &self,
        attempt: &Attempt<'_>,
        events: &Events,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn LiveSandbox>, EngineError> {
        Ok(Arc::new(Session::open(&*self.0, attempt, events, cancel).await?))
    }

    async fn sweep(&self) -> Result<Swept, EngineError> {
        self.0.sweep(Reach::Gone).await
    }

    async fn make_room(&self, watermark: u64) -> Result<Space, EngineError> {
        self.0.make_room(watermark).await
    }

    async fn answers(&self) -> Result<(), EngineError> {
        self.0.answers().await
    }
}
