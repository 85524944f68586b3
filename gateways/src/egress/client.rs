//! A connection of a client, as faults of hosts end it.

use std::sync::Arc;
use std::time::Duration;

use scenario::spec::sections::ToolMode;
use tokio::time::sleep;

use super::gate::Gate;
use crate::faults::milliseconds;
use crate::listener::{Activity, Reset};

/// A connection of a client to the egress gateway.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) gate: Arc<Gate>,
    /// Makes it end with a reset.
    pub(super) reset: Reset,
    /// Keeps it from being idle while a fault lets it wait.
    pub(super) activity: Arc<Activity>,
}

impl Client {
    /// Carries the faults of an encrypted connection to this host out; `false` when the connection ends with that.
    pub(super) async fn may_connect(&self, host: &str) -> bool {
        let Some(faults) = self.gate.faults_of(host) else { return true };
        let _under_way = self.activity.begin();
        let decision = faults.encrypted();
        sleep(decision.delay).await;
        match decision.fault.map(|fault| fault.mode) {
            None => true,
            Some(ToolMode::Timeout(timeout)) => {
                sleep(Duration::from_millis(milliseconds(timeout.delay_ms.get()))).await;
                false
            }
            Some(_) => {
                self.reset.arm();
                false
            }
        }
    }
}
