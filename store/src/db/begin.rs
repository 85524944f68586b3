//! Beginning changes on a server.
//!
//! Whoever begins may be gone before the server has answered: a request whose client hung up, a worker that ends. The driver
//! then hands the connection to the next one with the changes begun and unknown to it, so that what the next one writes is
//! never kept. So beginning is not broken off: it goes on by itself, and what nobody waits for is taken back.

use sqlx::{Error, Postgres, Transaction};
use tokio::task::JoinError;

/// Runs a transaction to its end, also when nobody waits for it any more.
pub(super) async fn begun(
    begin: impl Future<Output = Result<Transaction<'static, Postgres>, Error>> + Send + 'static,
) -> Result<Transaction<'static, Postgres>, Error> {
    let ended = tokio::spawn(begin).await;
    ended.unwrap_or_else(|error: JoinError| Err(Error::Protocol(format!("beginning changes did not end: {error}"))))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt as _;
    use sqlx::{Connection as _, PgConnection};
    use tokio::time::timeout;

    use crate::Store;
    use crate::testing::TestDatabase;

    /// Timeout for rolling back what was broken off. A server does it by itself after ten seconds.
    const PATIENCE: Duration = Duration::from_secs(5);

    /// Counts connections of this database with an open transaction that nobody works on, when none is busy.
    async fn left_open(observer: &mut PgConnection) -> i64 {
        let states = "SELECT CASE WHEN bool_or(state = 'active') THEN 1 ELSE count(*) FILTER (WHERE state LIKE 'idle in %') END \
                      FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
        sqlx::query_scalar(states).fetch_one(observer).await.expect("a count")
    }

    #[tokio::test]
    async fn changes_whose_beginning_nobody_waits_for_are_taken_back() {
        let Some(database) = TestDatabase::new().await else { return };
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::connect(&database.url(), folder.path()).await.expect("a store");
        let mut observer = PgConnection::connect(&database.url()).await.expect("a connection");
        for polls in (0..8).cycle().take(400) {
            // Broken off before it is begun, while it is, and just after.
            let mut begin = Box::pin(store.db.begin());
            for _ in 0..polls {
                if (&mut begin).now_or_never().is_some() {
                    break;
                }
                tokio::task::yield_now().await;
            }
            drop(begin);
            let taken_back = async { while left_open(&mut observer).await > 0 {} };
            timeout(PATIENCE, taken_back).await.unwrap_or_else(|_| panic!("left open after {polls} polls"));
        }
    }
}
