//! `touchstone watch`: a server's experiment is followed to its end.

use clap::Args;
use scenario::report::{Report, Reports};
use tokio::runtime::Runtime;

use super::run::exit;
use crate::client::{Followed, RemoteRun, Server, follow};
use crate::documents::Documents;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::remote_experiment::AtServer;
use crate::session::Finish;
use crate::signals::Signals;
use crate::submitting::Sent;

/// Follow an experiment of a server to its end, and show what came of it.
///
/// Ctrl-C stops watching, and the experiment goes on. A server that is away for up to a minute is waited for.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    #[command(flatten)]
    experiment: AtServer,
}

impl Watch {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let (server, documents) = self.experiment.open(output)?;
        Runtime::new()?.block_on(async {
            let run = self.experiment.find(&server).await?;
            let mut signals = Signals::listen()?;
            match follow(&server, &run, &mut signals, output).await? {
                Followed::Ended(report, cancelled) => {
                    let reports = Reports { reports: vec![*report], note: note(cancelled), ..Reports::default() };
                    documents.publish(&reports, exit(Finish::All, &reports), output)
                }
                Followed::Interrupted => Ok(stopped(&server, &[run], output)),
            }
        })
    }
}

/// Follows the submitted runs to their end, and shows the results.
pub(super) async fn watch(
    server: &Server,
    sent: &[Sent],
    documents: &Documents,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let mut signals = Signals::listen()?;
    match gather(server, sent, &mut signals, output).await? {
        Some(reports) => documents.publish(&reports, exit(Finish::All, &reports), output),
        None => Ok(stopped(server, &sent.iter().map(Sent::run).collect::<Vec<_>>(), output)),
    }
}

/// Returns the reports of the submitted runs; `None` when the user asked to stop first.
pub(super) async fn gather(
    server: &Server,
    sent: &[Sent],
    signals: &mut Signals,
    output: &mut Output,
) -> Result<Option<Reports>, CommandError> {
    let mut reports: Vec<Report> = Vec::new();
    let mut any_cancelled = false;
    for one in sent {
        match follow(server, &one.run(), signals, output).await? {
            Followed::Ended(mut report, cancelled) => {
                // The server does not know where the spec is on this machine.
                if let Some(source) = &one.source {
                    report.header.spec_file.clone_from(source);
                    report.header.server = None;
                }
                any_cancelled |= cancelled;
                reports.push(*report);
            }
            Followed::Interrupted => return Ok(None),
        }
    }
    Ok(Some(Reports { reports, note: note(any_cancelled), ..Reports::default() }))
}

fn note(cancelled: bool) -> Option<String> {
    cancelled.then(|| "cancelled on the server: what had not ended was not run".to_owned())
}

fn stopped(server: &Server, runs: &[RemoteRun], output: &mut Output) -> Exit {
    for name in runs.iter().map(RemoteRun::name) {
        let place = server.place();
        output.note(format!(
            "stopped watching, and {name} goes on: `touchstone watch {name} --url {place}` or `touchstone cancel {name} --url {place}`"
        ));
    }
    Exit::Interrupted
}
