//! Stops a service for a while, or starts it again, while the agent acts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use gateways::faults::ServiceControl;

use super::readiness::Ready;
use crate::backend::RunningService;
use crate::error::EngineError;

/// Stops and starts one service.
#[derive(Debug)]
pub(super) struct LiveControl {
    pub(super) running: Arc<dyn RunningService>,
    pub(super) ready: Ready,
    /// Set when it was started again.
    pub(super) restarted: Arc<AtomicBool>,
}

#[async_trait]
impl ServiceControl for LiveControl {
    async fn pause(&self) -> Result<(), String> {
        self.running.pause().await.map_err(|error| words(&error))
    }

    async fn resume(&self) -> Result<(), String> {
        self.running.resume().await.map_err(|error| words(&error))
    }

    async fn restart(&self) -> Result<(), String> {
        self.restarted.store(true, Ordering::Release);
        self.running.restart().await.map_err(|error| words(&error))
    }

    async fn until_ready(&self) -> Result<(), String> {
        self.ready.wait(&*self.running).await
    }
}

fn words(error: &EngineError) -> String {
    error.to_string()
}
