//! Reading again when the database does not answer for a moment. Clients give up when one of many polls fails.

use std::future::Future;
use std::time::Duration;

use store::Retries;
use tokio::time::{Instant, sleep};

use crate::error::ApiError;

/// The time limit of all retries: clients wait for 30 s.
const PATIENCE: Duration = Duration::from_secs(15);
/// The first pause, which doubles.
const FIRST: Duration = Duration::from_millis(50);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(1);

/// Does something that only reads, again and again while it is the database that fails.
pub(crate) async fn patiently<T, F>(retries: &Retries, read: impl FnMut() -> F) -> Result<T, ApiError>
where
    F: Future<Output = Result<T, ApiError>>,
{
    within(PATIENCE, retries, read).await
}

async fn within<T, F>(patience: Duration, retries: &Retries, mut read: impl FnMut() -> F) -> Result<T, ApiError>
where
    F: Future<Output = Result<T, ApiError>>,
{
    let deadline = Instant::now() + patience;
    let mut pause = FIRST;
    let mut observer = retries.observe("reading from the database");
    loop {
        match read().await {
            Err(error) if error.may_pass() && Instant::now() + pause < deadline => {
                observer.failed(error.message());
                sleep(pause).await;
            }
            done => return done,
        }
        pause = (pause * 2).min(LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use store::{Retries, StoreError};

    use super::within;
    use crate::error::ApiError;

    /// Fails so often; how often it was tried, and whether it went well.
    async fn check(failures: u32, fail: fn() -> ApiError) -> (u32, bool) {
        let tried = Cell::new(0);
        let read = async || {
            tried.set(tried.get() + 1);
            if tried.get() <= failures { Err(fail()) } else { Ok(()) }
        };
        let went_well = within(Duration::from_millis(500), &Retries::told_to(drop), read).await.is_ok();
        (tried.get(), went_well)
    }

    #[tokio::test]
    async fn only_a_database_that_does_not_answer_is_asked_again() {
        let away = || ApiError::from(StoreError::Damaged("the connection is gone".to_owned()));
        assert_eq!(check(2, away).await, (3, true));
        assert_eq!(check(1, || ApiError::not_found("x")).await, (1, false));
        assert_eq!(check(1, || ApiError::busy("x")).await, (1, false));
        let (tried, went_well) = check(u32::MAX, away).await;
        assert!(!went_well && (2..10).contains(&tried), "{tried}");
    }
}
