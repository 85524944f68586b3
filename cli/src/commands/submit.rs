//! `touchstone submit`: specs are run by a server.

use std::path::PathBuf;

use clap::Args;
use scenario::count_noun;
use tokio::runtime::Runtime;

use super::watch::watch;
use crate::choices::Choices;
use crate::client::ServerOptions;
use crate::documents::DocumentOptions;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::secrets::SecretOptions;
use crate::submitting::{outgoing, submit};

/// Submit specs to a server, which runs them.
///
/// Specs are checked here first, and are sent with the files beside them and with the values of secrets that can be found here.
/// The ids of the experiments are printed, one on each line; with --watch, they are followed to their end and reported as
/// `touchstone run` does, with the same exit codes.
#[derive(Debug, Args)]
pub(crate) struct Submit {
    /// Spec files, folders (searched for specs), patterns such as 'specs/check-*', or - for standard input.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Wait until all have ended, and show what came of them.
    #[arg(long, short)]
    watch: bool,
    /// What to call the experiments.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Which go first: from -100 to 100.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    priority: Option<i64>,
    /// A name for this submission, such as the number of a build: submitting again under the same name submits nothing new.
    #[arg(long, value_name = "TEXT")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    choices: Choices,
    #[command(flatten)]
    documents: DocumentOptions,
    #[command(flatten)]
    secrets: SecretOptions,
    #[command(flatten)]
    server: ServerOptions,
}

impl Submit {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let documents = self.documents.check(output)?;
        let server = self.server.required("; `touchstone run` runs specs on this machine")?;
        let Some(outgoing) = outgoing(&self.paths, &self.choices, &self.secrets, output)? else {
            return Ok(Exit::InvalidSpec);
        };
        Runtime::new()?.block_on(async {
            let key = self.idempotency_key.as_deref();
            let sent = submit(&server, outgoing, self.name.as_deref(), self.priority, key).await?;
            for one in &sent {
                let (id, source) = (&one.accepted.experiment, one.source.as_ref().unwrap_or(&one.spec_id));
                output.note(format!("submitted {source} as {id}: {}", count_noun(one.accepted.total, "scenario")));
            }
            if self.watch {
                return watch(&server, &sent, &documents, output).await;
            }
            for one in &sent {
                output.line(one.run().name())?;
            }
            Ok(Exit::Passed)
        })
    }
}
