//! `touchstone health`: asks a server or a worker whether it is well. Images have no other program that could.

use std::time::Duration;

use clap::Args;
use tokio::runtime::Builder;

use crate::exit_code::Exit;
use crate::http_client::client;
use crate::output::{CommandError, Output};

/// Timeout of an answer.
const PATIENCE: Duration = Duration::from_secs(4);

/// Ask a server or a worker whether it is well.
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct Health {
    /// Where to ask, such as `http://127.0.0.1:8012/readyz`.
    url: String,
}

impl Health {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(self.ask()).map_err(CommandError::Infrastructure)?;
        output.line("well")?;
        Ok(Exit::Passed)
    }

    async fn ask(&self) -> Result<(), String> {
        let failed = |error: reqwest::Error| format!("`{}` does not answer: {error}", self.url);
        let answer = client().map_err(failed)?.get(&self.url).timeout(PATIENCE).send().await.map_err(failed)?;
        if answer.status().is_success() {
            return Ok(());
        }
        Err(format!("`{}` answers {}", self.url, answer.status()))
    }
}
