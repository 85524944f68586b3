//! Notifications of a Postgres server.

use std::time::Duration;

use sqlx::postgres::{PgListener, PgPool};
use tokio::time::timeout;

use super::Server;
use crate::error::StoreError;

/// Where all of our processes listen.
pub(super) const CHANNEL: &str = "touchstone";
/// Silence after which the connection is tested. One that was cut without a word would be silent for ever.
const SILENCE: Duration = Duration::from_secs(30);
/// Timeout of an answer.
const ANSWER: Duration = Duration::from_secs(10);

/// Somebody who listens.
#[derive(Debug)]
pub(crate) struct Listener {
    pool: PgPool,
    server: Server,
    /// `None` after the connection was lost.
    connected: Option<PgListener>,
}

impl Listener {
    /// Begins to listen.
    pub(super) async fn new(pool: PgPool, server: Server) -> Result<Self, StoreError> {
        let mut listener = Self { pool, server, connected: None };
        listener.connect().await?;
        Ok(listener)
    }

    /// Waits for the next notification; `None` after a reconnect, before which something may have been missed.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, StoreError> {
        loop {
            let Some(connected) = &mut self.connected else {
                self.connect().await?;
                return Ok(None);
            };
            match timeout(SILENCE, connected.try_recv()).await {
                Ok(Ok(Some(told))) => return Ok(Some(told.payload().to_owned())),
                Err(_silence) if answers(connected).await => {}
                Err(_) | Ok(Ok(None) | Err(_)) => self.connected = None,
            }
        }
    }

    async fn connect(&mut self) -> Result<(), StoreError> {
        let refused = |error| self.server.refused(error);
        let mut listener = PgListener::connect_with(&self.pool).await.map_err(refused)?;
        listener.eager_reconnect(false);
        listener.listen(CHANNEL).await.map_err(refused)?;
        self.connected = Some(listener);
        Ok(())
    }
}

async fn answers(connected: &mut PgListener) -> bool {
    timeout(ANSWER, sqlx::query("SELECT 1").execute(connected)).await.is_ok_and(|answer| answer.is_ok())
}
