//! Questions to databases.

use scenario::evidence::Answer;

use super::Prober;
use crate::database::{CONNECT_LIMIT, Client, DatabaseError};
use crate::error::EngineError;

impl Prober<'_> {
    /// Queries a database that was healthy before the agent started.
    pub(super) async fn sql(&self, service: &str, query: &str) -> Result<Answer, EngineError> {
        let live = self.world.services.get(service);
        let Some((live, (database, credentials))) = live.and_then(|live| live.database.as_ref().map(|how| (live, how)))
        else {
            let what = format!(
                "the service `{service}` cannot be asked with SQL: its environment names no user and password that are known"
            );
            return Err(EngineError::Unsupported { what });
        };
        if let Err(error) = self.databases.settle(self.world, service).await? {
            return Ok(Answer::Unavailable { reason: error.to_string(), limit: None });
        }
        let settings = self.world.before.activity.get(service).map(|known| known.settings.clone());
        let asked = async {
            let (credentials, dial) = (credentials.clone(), live.dial());
            let mut client = Client::connect_with(*database, credentials, settings, dial, CONNECT_LIMIT).await?;
            client.query_first(query).await
        };
        match asked.await {
            Ok(answer) => Ok(Answer::Sql(answer)),
            Err(DatabaseError::Relay(cause)) => {
                Err(EngineError::Files { operation: format!("reach the service `{service}`"), cause })
            }
            Err(_) if self.world.sandbox.door().is_closed() => self.gone().await,
            Err(error) => {
                // Fails when somebody else removed it.
                live.running.is_running().await?;
                Ok(Answer::Unavailable { reason: broken(service, &error), limit: None })
            }
        }
    }
}

/// The database was ready before the agent started, so what is wrong with it now is the agent's doing.
fn broken(service: &str, error: &DatabaseError) -> String {
    format!("the database `{service}` was ready before the agent started, and now: {error}")
}
