//! What runs scenarios: the engine, or a stand-in in tests.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use engine::attempt::Attempt;
use engine::backend::{Backend, Reach, Space, Swept};
use engine::error::EngineError;
use engine::event::Events;
use scenario::evidence::Evidence;
use tokio_util::sync::CancellationToken;

/// Runs scenarios.
#[async_trait]
pub trait Sandboxes: Debug + Send + Sync {
    /// Runs one attempt and returns what was observed. Its sandbox is gone when this returns.
    async fn run(
        &self,
        attempt: &Attempt<'_>,
        events: &Events,
        cancel: &CancellationToken,
    ) -> Result<Evidence, EngineError>;

    /// Removes what dead processes left.
    async fn sweep(&self) -> Result<Swept, EngineError>;

    /// Makes room on the disk when less than this is free; what is free then.
    async fn make_room(&self, watermark: u64) -> Result<Space, EngineError>;
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

    async fn sweep(&self) -> Result<Swept, EngineError> {
        self.0.sweep(Reach::Gone).await
    }

    async fn make_room(&self, watermark: u64) -> Result<Space, EngineError> {
        self.0.make_room(watermark).await
    }
}
