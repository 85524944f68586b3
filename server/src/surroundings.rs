//! What a server is given instead of taking it: the time, ids, and the way to workers.

use std::fmt::Debug;

use async_trait::async_trait;
use jiff::Timestamp;
use scenario::interactive::{Ask, Refusal, Reply};
use uuid::Uuid;

/// Says what time it is.
pub trait Clock: Debug + Send + Sync {
    /// The time.
    fn now(&self) -> Timestamp;
}

/// Makes ids and tokens.
pub trait Ids: Debug + Send + Sync {
    /// A new id, later than those before it.
    fn id(&self) -> Uuid;

    /// So many bytes that nobody can guess.
    fn random(&self, bytes: &mut [u8]);

    /// So many letters of hex that nobody can guess.
    fn hex(&self, letters: usize) -> String {
        let mut bytes = vec![0; letters.div_ceil(2)];
        self.random(&mut bytes);
        let mut text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        text.truncate(letters);
        text
    }
}

/// The way to the workers that have interactive sandboxes: in memory, or over their control ports.
#[async_trait]
pub trait Workers: Debug + Send + Sync {
    /// Asks a worker about one of its sandboxes. `worker` is its id and `url` its control port, empty when it has none.
    async fn ask(&self, worker: &str, url: &str, ask: Ask) -> Result<Reply, Refusal>;
}
