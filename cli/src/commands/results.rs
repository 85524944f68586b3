//! `touchstone results`: the results of a server's experiment.

use clap::Args;
use scenario::report::Reports;
use tokio::runtime::Runtime;

use super::run::exit;
use crate::client::RemoteStatus;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::remote_experiment::AtServer;
use crate::session::Finish;

/// Show what came of an experiment of a server, or has come of it so far.
///
/// The exit code is that of `touchstone run`: 4 while it has not ended.
#[derive(Debug, Args)]
pub(crate) struct Results {
    #[command(flatten)]
    experiment: AtServer,
}

impl Results {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let (server, documents) = self.experiment.open(output)?;
        Runtime::new()?.block_on(async {
            let run = self.experiment.find(&server).await?;
            let (report, status) = server.report(&run).await?;
            let note = match status {
                RemoteStatus::Finished => None,
                RemoteStatus::Cancelled => Some("cancelled: what had not ended was not run".to_owned()),
                RemoteStatus::Open => {
                    Some(format!("it has not ended yet; `touchstone watch {}` follows it", run.name()))
                }
            };
            let reports = Reports { reports: vec![report], note, ..Reports::default() };
            documents.publish(&reports, exit(Finish::All, &reports), output)
        })
    }
}
