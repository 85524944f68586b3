//! `touchstone shell`: looks into a sandbox that was kept.

mod proxy;
mod raw_mode;

use std::io::{self, IsTerminal as _};

use clap::Args;
use engine::kept::{self, Visit, VisitError};
use tokio::runtime::Runtime;

use crate::data_dir::StoreOption;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::reference::Reference;

/// The command to start when none is given: bash if it is installed, otherwise sh.
const SHELL: [&str; 3] = ["sh", "-c", "if command -v bash >/dev/null 2>&1; then exec bash --norc; fi; exec sh"];

/// Enter a sandbox that was kept, on either backend.
///
/// `touchstone run --keep-sandbox on-failure` keeps the sandboxes of scenarios that did not pass. The agent's processes are gone;
/// its files are as it left them. You are the agent's user inside, behind the same walls; what you start ends when you leave.
/// `touchstone sweep --kept` removes what is kept.
#[derive(Debug, Args)]
pub(crate) struct Shell {
    /// EXPERIMENT/SCENARIO, or the name of a sandbox; the only one that is kept without it.
    #[arg(value_name = "SCENARIO")]
    sandbox: Option<String>,
    /// What to run inside instead of a shell, after `--`.
    #[arg(last = true)]
    command: Vec<String>,
    #[command(flatten)]
    store: StoreOption,
}

impl Shell {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        Runtime::new()?.block_on(self.visit(output))
    }

    async fn visit(self, output: &mut Output) -> Result<Exit, CommandError> {
        let data_dir = self.store.data_dir()?;
        let name = match &self.sandbox {
            Some(name) if kept::is_marked(&data_dir, name)? => name.clone(),
            Some(reference) => self.named(reference).await?,
            None => kept::only_kept(&data_dir)?,
        };
        let visit = Visit::begin(&data_dir, &name).await?;
        if self.command.is_empty() && io::stdin().is_terminal() {
            output.notice(&format!("this is the sandbox {name}, as the agent left it; `exit` leads out of it"));
        }
        let shell = || SHELL.map(ToOwned::to_owned).to_vec();
        let words = if self.command.is_empty() { shell() } else { self.command };
        proxy::attend(&visit, &words, output).await
    }

    /// The sandbox of a scenario.
    async fn named(&self, reference: &str) -> Result<String, CommandError> {
        let reference: Reference = reference.parse().map_err(CommandError::usage)?;
        let home = self.store.open().await?;
        let (_, run) = reference.find(&home.store).await?;
        let scenarios = home.store.scenarios(run.id).await?;
        let scenario = reference.scenario(&scenarios)?;
        let name = scenario.result.as_ref().map(|result| result.sandbox_id.clone()).unwrap_or_default();
        home.store.close().await;
        Ok(name)
    }
}

impl From<VisitError> for CommandError {
    fn from(error: VisitError) -> Self {
        let message = error.to_string();
        match error {
            VisitError::NotKept { .. } | VisitError::EarlierVersion(_) | VisitError::Occupied(_) => {
                Self::Usage(message)
            }
            VisitError::NoAnswer { .. } | VisitError::Files { .. } => Self::Infrastructure(message),
        }
    }
}
