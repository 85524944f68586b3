//! Stops a service for a while, or starts it again, while the agent acts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use gateways::faults::{ControlError, ServiceControl};

use super::readiness::Ready;
use crate::backend::RunningService;

/// Stops and starts one service.
#[derive(Debug)]
pub(super) struct LiveControl {
    pub(super) running: Arc<dyn RunningService>,
    pub(super) ready: Ready,
    /// True once it was started again.
    pub(super) restarted: Arc<AtomicBool>,
}

#[async_trait]
impl ServiceControl for LiveControl {
    async fn pause(&self) -> Result<(), ControlError> {
        self.running.pause().await.map_err(ControlError::new)
    }

    async fn resume(&self) -> Result<(), ControlError> {
        self.running.resume().await.map_err(ControlError::new)
    }

    async fn restart(&self) -> Result<(), ControlError> {
        self.restarted.store(true, Ordering::Release);
        self.running.restart().await.map_err(ControlError::new)
    }

    async fn until_ready(&self) -> Result<(), ControlError> {
        self.ready.wait(&*self.running).await.map_err(ControlError::new)
    }
}
