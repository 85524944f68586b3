//! `touchstone rerun`: the same spec, seed and parameters once more.

use clap::Args;
use scenario::report::Reports;
use store::{ExperimentId, NewExperiment, RunId, Settings};
use worker::{Clock as _, Ids as _, RandomIds};

use super::run::exit;
use super::watch::watch;
use crate::client::{MaybeServer, Server};
use crate::clock::SystemClock;
use crate::documents::{DocumentOptions, Documents};
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::reference::Reference;
use crate::session::{LAST, Session, WorkOptions, new_run};
use crate::submitting::Sent;
use store::spec_of;
use tokio::runtime::Runtime;

/// Run a scenario or a whole experiment again: the same spec, seed and parameters, as they were kept.
///
/// A scenario (EXPERIMENT/SCENARIO) becomes an experiment of its own; an experiment gets a new run, beside those that it has.
/// With a URL, that server runs it, as a new experiment, which is followed to its end.
#[derive(Debug, Args)]
pub(crate) struct Rerun {
    /// EXPERIMENT/SCENARIO or EXPERIMENT; the experiment's id, the beginning or end of it, `latest`, or `latest~1` for
    /// the one before it.
    what: Reference,
    /// Only scenarios that did not pass; on a server.
    #[arg(long)]
    failed_only: bool,
    #[command(flatten)]
    server: MaybeServer,
    #[command(flatten)]
    documents: DocumentOptions,
    #[command(flatten)]
    work: WorkOptions,
}

impl Rerun {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let documents = self.documents.check(output)?;
        if let Some(server) = self.server.named()? {
            return Runtime::new()?.block_on(self.rerun_at(&server, &documents, output));
        }
        if self.failed_only {
            let why = "--failed-only is for servers; here, `touchstone rerun EXPERIMENT/SCENARIO` runs one again";
            return Err(CommandError::Usage(why.to_owned()));
        }
        let runtime = tokio::runtime::Runtime::new()?;
        let (finish, reports) = runtime.block_on(async {
            let session = Session::begin_again(self.work.clone(), self.work.permissions()?, &self.what).await?;
            session.warn(output);
            let run = self.submit(&session).await?;
            let finish = session.work(&[run], output).await?;
            let reports = session.reports(&[run]).await?;
            session.end().await;
            Ok::<_, CommandError>((finish, reports))
        })?;
        runtime.shutdown_timeout(LAST);
        let note = finish.note().map(ToOwned::to_owned);
        let reports = Reports { reports, note, ..Reports::default() };
        documents.publish(&reports, exit(finish, &reports), output)
    }

    /// Lets a server run it again, and follows that to its end.
    async fn rerun_at(
        &self,
        server: &Server,
        documents: &Documents,
        output: &mut Output,
    ) -> Result<Exit, CommandError> {
        if self.what.scenario.is_some() {
            let why = "a server runs whole experiments again, or with --failed-only what did not pass; leave `/SCENARIO` away";
            return Err(CommandError::Usage(why.to_owned()));
        }
        let run = server.find(&self.what).await?;
        let (report, _) = server.report(&run).await?;
        let accepted = server.rerun(&run, self.failed_only).await?;
        output.note(format!("submitted {} again as {}", run.name(), accepted.experiment));
        let sent = Sent { source: report.header.spec_file, spec_id: report.spec_id, accepted };
        watch(server, &[sent], documents, output).await
    }

    async fn submit(&self, session: &Session) -> Result<RunId, CommandError> {
        let store = &session.store;
        let (experiment, run) = self.what.find(store).await?;
        let spec = spec_of(store, &run).await?;
        session.check(&experiment, &spec)?;
        let stored = store.scenarios(run.id).await?;
        let now = SystemClock.now();
        if self.what.scenario.is_none() {
            let scenarios = stored.into_iter().map(|one| one.scenario).collect();
            let again = new_run(session.lane, &spec, scenarios);
            return Ok(store.submit_again(experiment.id, &run.digest, &again, now).await?);
        }
        let scenario = self.what.scenario(&stored)?.scenario.clone();
        let rerun_of = Some(format!("{}/{}", run.id, scenario.id));
        let again = NewExperiment {
            id: ExperimentId(RandomIds.id()),
            spec: store::SpecVersion { digest: run.digest.clone(), ..experiment.spec },
            source: experiment.source,
            seed: experiment.seed,
            settings: Settings { rerun_of, ..experiment.settings },
            owner: experiment.owner,
            name: experiment.name,
            secrets: None,
        };
        Ok(store.submit(&again, &new_run(session.lane, &spec, vec![scenario]), now).await?)
    }
}
