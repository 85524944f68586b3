//! Evidence that pages showed a moment ago: a story has many parts, and is taken apart once.

use std::sync::Arc;

use scenario::evidence::Evidence;
use store::JobId;

use crate::app::App;
use crate::cache::Cache;
use crate::error::ApiError;
use crate::results::why_lost;

/// The size of the cache of evidence in bytes.
const REMEMBERED: usize = 64 << 20;
/// Larger evidence is read in a thread of its own, so that nobody else waits.
const LARGE: usize = 256 * 1024;

/// Evidence, as far as it is remembered.
#[derive(Debug)]
pub(crate) struct Stories(Cache<(JobId, u32), Arc<Evidence>>);

impl Default for Stories {
    fn default() -> Self {
        Self(Cache::new(REMEMBERED))
    }
}

/// The evidence, or why it is not here.
type Told = (Option<Arc<Evidence>>, Option<String>);

impl Stories {
    /// Reads the evidence of an attempt. When it cannot be read, the verdicts are still shown.
    pub(crate) async fn of(&self, app: &App, job: JobId, attempt: u32) -> Result<Told, ApiError> {
        if let Some(known) = self.0.get(&(job, attempt)) {
            return Ok((Some(known), None));
        }
        let _room = app.heavy.acquire().await.map_err(|_| ApiError::busy("the server is ending"))?;
        let text = match app.store.evidence_text(job, attempt).await {
            Ok(Some(text)) => text,
            Ok(None) => return Ok((None, None)),
            Err(error) if error.is_about_evidence() => {
                return Ok((None, Some(format!("The evidence of this attempt cannot be read: {}.", why_lost(&error)))));
            }
            Err(error) => return Err(error.into()),
        };
        let size = text.len();
        match read(text).await {
            Ok(evidence) => {
                let evidence = Arc::new(evidence);
                self.0.put((job, attempt), Arc::clone(&evidence), size);
                Ok((Some(evidence), None))
            }
            Err(error) => Ok((None, Some(format!("This version cannot read the evidence: {error}")))),
        }
    }
}

async fn read(text: String) -> Result<Evidence, String> {
    let is_large = text.len() > LARGE;
    let read = move || serde_json::from_str(&text).map_err(|error| error.to_string());
    if is_large { tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())? } else { read() }
}
