//! The way to workers that have interactive sandboxes: in memory to the one in this process, over their control ports to
//! others.

use std::time::Duration;

use async_trait::async_trait;
use reqwest::Client;
use scenario::interactive::{Answer, Ask, Refusal, RefusalKind, Reply};
use server::Workers;
use store::MasterKey;
use worker::Interactive;

use super::worker_service::Station;
use crate::http_client::client;
use crate::output::CommandError;

/// Timeout of an answer, on top of the command's own timeout.
const PATIENCE: Duration = Duration::from_secs(60);
/// Timeout of a command that gives none.
const COMMAND: Duration = Duration::from_secs(3600);

/// The way to workers.
#[derive(Debug)]
pub(crate) struct ToWorkers {
    client: Client,
    key: MasterKey,
    /// The worker in this process.
    here: Option<(String, Interactive)>,
}

impl ToWorkers {
    /// The way to all workers; the one in this process is asked without a detour.
    pub(crate) fn new(key: MasterKey, here: Option<&Station>) -> Result<Self, CommandError> {
        let client =
            client().map_err(|error| CommandError::Infrastructure(format!("workers cannot be asked: {error}")))?;
        let here = here.map(|station| (station.id.to_string(), station.interactive.clone()));
        Ok(Self { client, key, here })
    }
}

#[async_trait]
impl Workers for ToWorkers {
    async fn ask(&self, worker: &str, url: &str, ask: Ask) -> Result<Reply, Refusal> {
        if let Some((id, interactive)) = &self.here
            && id == worker
        {
            return interactive.ask(ask).await;
        }
        if url.is_empty() {
            return Err(Refusal::new(
                RefusalKind::Gone,
                "the worker that has this sandbox is in another process and has no control port; give it `--control-listen`",
            ));
        }
        let asked = self.client.post(format!("{}/v1/ask", url.trim_end_matches('/')));
        let asked = asked.bearer_auth(self.key.control_token(worker)).timeout(patience(&ask)).json(&ask);
        let answer = asked.send().await.map_err(unreachable)?;
        let answer = answer.error_for_status().map_err(unreachable)?;
        answer.json::<Answer>().await.map_err(unreachable)?.into()
    }
}

fn patience(ask: &Ask) -> Duration {
    match ask {
        Ask::Command { timeout_ms, .. } => timeout_ms.map_or(COMMAND, Duration::from_millis) + PATIENCE,
        _ => PATIENCE,
    }
}

fn unreachable(error: reqwest::Error) -> Refusal {
    let kind = if error.is_timeout() { RefusalKind::TimedOut } else { RefusalKind::Gone };
    Refusal::new(kind, format!("the worker that has this sandbox does not answer: {error}"))
}
