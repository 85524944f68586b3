//! The way to workers, which a server is given.

use std::fmt::Debug;

use async_trait::async_trait;
use scenario::interactive::{Ask, Refusal, Reply};

/// The way to the workers that have interactive sandboxes: in memory, or over their control ports.
#[async_trait]
pub trait Workers: Debug + Send + Sync {
    /// Asks a worker about one of its sandboxes. `worker` is its id and `url` its control port, empty when it has none.
    async fn ask(&self, worker: &str, url: &str, ask: Ask) -> Result<Reply, Refusal>;
}
