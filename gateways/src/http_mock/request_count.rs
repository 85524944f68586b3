//! The number of requests that a mock got so far, by its journal.

use scenario::evidence::{Blob, Body, Exchange};

use super::HttpMocks;
use super::mock::Mock;

/// A mock whose requests cannot be counted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CountError {
    /// No mock has this name.
    #[error("there is no mock `{0}`")]
    NoSuchMock(String),
    /// The mock keeps no journal.
    #[error("the mock `{0}` does not keep its requests; add `record: true` to it")]
    NotRecorded(String),
    /// The journal is full, so that later requests are not known well enough.
    #[error("the mock `{0}` got more requests than its journal keeps")]
    Full(String),
}

impl HttpMocks {
    /// Counts the requests that reached a mock so far: all of them, or those to a path. A request stands in the journal before
    /// it is answered, and one that a fault kept from the mock or that was refused by tool contracts does not count.
    ///
    /// # Errors
    ///
    /// Fails when there is no such mock, or its journal does not have the answer.
    pub fn request_count(&self, name: &str, path: Option<&str>) -> Result<u64, CountError> {
        let mock = self.mocks.get(name).ok_or_else(|| CountError::NoSuchMock(name.to_owned()))?;
        mock.request_count(path)
    }
}

impl Mock {
    fn request_count(&self, path: Option<&str>) -> Result<u64, CountError> {
        let asked = path.map(|path| self.as_recorded(path));
        let state = self.state();
        let recorder = state.recorder.as_ref().ok_or_else(|| CountError::NotRecorded(self.name.clone()))?;
        if recorder.counted() > 0 {
            return Err(CountError::Full(self.name.clone()));
        }
        let is_meant = |exchange: &&Exchange| {
            let plain = asked.as_ref().map(Exchange::plain_path);
            exchange.has_reached() && plain.is_none_or(|path| path == exchange.plain_path())
        };
        Ok(recorder.exchanges().iter().filter(is_meant).count() as u64)
    }

    /// A request to a path in the form in which it would be kept: with secrets taken out.
    fn as_recorded(&self, path: &str) -> Exchange {
        let mut exchange = Exchange {
            method: "GET".to_owned(),
            path: path.to_owned(),
            query: Vec::new(),
            headers: Vec::new(),
            body: Body::Kept(Blob(Vec::new())),
            status: 200,
            at_ms: 0,
            fault: None,
            answer: None,
        };
        (self.context.redact)(&mut exchange);
        exchange
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::CountError;
    use crate::http_mock::testing::Running;
    use crate::http_mock::{MockContext, MockLimits};
    use crate::recorder::JournalLimits;

    #[tokio::test]
    async fn requests_are_counted_in_all_and_by_path() {
        let running = Running::new("record: true");
        for path in ["/send", "/send?copy=1", "/other"] {
            running.get(path).await;
        }
        let count = |path| running.mocks.request_count("mock", path);
        assert_eq!((count(None), count(Some("/send")), count(Some("/sen"))), (Ok(3), Ok(2), Ok(0)));
    }

    #[tokio::test]
    async fn a_path_with_a_secret_is_found_in_the_journal_without_it() {
        let redact = Arc::new(|exchange: &mut scenario::evidence::Exchange| {
            exchange.path = exchange.path.replace("hunter2", "[redacted]");
        });
        let context = MockContext { redact, ..MockContext::default() };
        let running = Running::with("record: true", context, MockLimits::default());
        running.get("/users/hunter2").await;
        assert_eq!(running.mocks.request_count("mock", Some("/users/hunter2")), Ok(1));
    }

    #[tokio::test]
    async fn what_is_not_kept_is_not_counted() {
        let deaf = Running::new("record: false");
        assert_eq!(deaf.mocks.request_count("mock", None), Err(CountError::NotRecorded("mock".to_owned())));
        assert_eq!(deaf.mocks.request_count("none", None), Err(CountError::NoSuchMock("none".to_owned())));
        let journal = JournalLimits { exchanges: 1, ..JournalLimits::default() };
        let small = Running::with_limits("record: true", MockLimits { journal, ..MockLimits::default() });
        small.get("/one").await;
        assert_eq!(small.mocks.request_count("mock", None), Ok(1));
        small.get("/two").await;
        assert_eq!(small.mocks.request_count("mock", None), Err(CountError::Full("mock".to_owned())));
    }
}
