//! `touchstone rerun`: the same spec, seed and parameters once more.

use clap::Args;
use scenario::plan::Scenario;
use scenario::report::Reports;
use scenario::result::RowStatus;
use store::{Clock as _, NewExperiment, Run, RunId, StoredScenario, spec_of};

use super::run::exit;
use super::watch::watch;
use crate::client::{MaybeServer, Server};
use crate::clock::SystemClock;
use crate::documents::{DocumentOptions, Documents};
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::reference::Reference;
use crate::session::{LAST, Session, WorkOptions, new_id};
use crate::submitting::Sent;
use tokio::runtime::Runtime;

/// Run a scenario or a whole experiment again: the same spec, seed and parameters, as they were kept.
///
/// A scenario (EXPERIMENT/SCENARIO), or what did not pass, becomes an experiment of its own; an experiment gets a new run, beside
/// those that it has. With a URL, that server runs it, as a new experiment, which is followed to its end.
#[derive(Debug, Args)]
pub(crate) struct Rerun {
    /// EXPERIMENT/SCENARIO or EXPERIMENT; the experiment's id, the beginning or end of it, `latest`, or `latest~1` for
    /// the one before it.
    what: Reference,
    /// Only scenarios that did not pass, as an experiment of their own.
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

    /// Runs it again on a server, and follows that to its end.
    async fn rerun_at(
        &self,
        server: &Server,
        documents: &Documents,
        output: &mut Output,
    ) -> Result<Exit, CommandError> {
        let run = server.find(&self.what).await?;
        let (report, _) = server.report(&run).await?;
        let accepted = server.rerun(&run, self.failed_only, self.what.scenario.as_deref()).await?;
        output.note(format!("submitted {} again as {}", run.name(), accepted.experiment));
        let sent = Sent { source: None, spec_id: report.spec_id, accepted };
        watch(server, &[sent], documents, output).await
    }

    async fn submit(&self, session: &Session) -> Result<RunId, CommandError> {
        let store = &session.store;
        let (experiment, run) = self.what.find(store).await?;
        let spec = spec_of(store, &run).await?;
        session.check(&experiment, &spec)?;
        let stored = store.scenarios(run.id).await?;
        let now = SystemClock.now();
        if self.what.scenario.is_none() && !self.failed_only {
            let scenarios = stored.into_iter().map(|one| one.scenario).collect();
            let again = session.new_run(&spec, scenarios);
            return Ok(store.submit_again(experiment.id, &run.digest, &again, now).await?);
        }
        let (rerun_of, chosen) = self.chosen(&run, &stored)?;
        let again = NewExperiment::repeating(new_id(), experiment, &run, rerun_of);
        Ok(store.submit(&again, &session.new_run(&spec, chosen), now).await?)
    }

    /// Selects the scenarios to repeat as an experiment of their own, so that no pass rate is computed from selected
    /// scenarios; returns them with a name.
    fn chosen(&self, run: &Run, stored: &[StoredScenario]) -> Result<(String, Vec<Scenario>), CommandError> {
        if self.what.scenario.is_some() {
            let scenario = self.what.scenario(stored)?.scenario.clone();
            return Ok((format!("{}/{}", run.id, scenario.id), vec![scenario]));
        }
        let passed = |one: &StoredScenario| one.result.as_ref().is_some_and(|result| result.status == RowStatus::Pass);
        let chosen: Vec<_> = stored.iter().filter(|one| !passed(one)).map(|one| one.scenario.clone()).collect();
        if chosen.is_empty() {
            return Err(CommandError::Usage(format!(
                "every scenario of {} passed: there is none to run again",
                run.id
            )));
        }
        Ok((run.id.to_string(), chosen))
    }
}
