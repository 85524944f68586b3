//! `touchstone show`: an experiment, or one of its scenarios.

mod attempts;
mod events;
mod experiment;
mod scenario;

use std::env;

use ::scenario::untrusted;
use clap::Args;
use store::{Experiment, Run, StoredScenario};
use tokio::runtime::Runtime;

use crate::ci_commands::Form;
use crate::data_dir::{Home, StoreOption};
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::reference::Reference;
use crate::report_format::ReportFormat;
pub(super) use attempts::acted;

/// Show an experiment that is kept, or one of its scenarios.
///
/// Of an experiment: what was run and how, all its runs, and the report of one of them. Of a scenario: every verdict, its
/// attempts, and where its evidence came from. The exit code is 0 whatever the verdict is.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// EXPERIMENT, EXPERIMENT#RUN, EXPERIMENT/SCENARIO or EXPERIMENT#RUN/SCENARIO. An experiment is named by its id, by at
    /// least 4 characters of the id's beginning or end, by `latest`, or by `latest~1` for the one before it. Without a run, the newest
    /// one is meant.
    #[arg(value_name = "REFERENCE")]
    reference: Reference,
    /// How to show it; a scenario is shown as text or json.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// Print what the scenario's agent printed, and nothing else: first its output, then its errors.
    #[arg(long, conflicts_with_all = ["events", "evidence", "format"])]
    output: bool,
    /// Print what happened while it was run: a line for each event, with the time since the first.
    #[arg(long, conflicts_with_all = ["evidence", "format"])]
    events: bool,
    /// Print the scenario's evidence as it was stored, byte for byte, and nothing else.
    #[arg(long, conflicts_with = "format")]
    evidence: bool,
    #[command(flatten)]
    store: StoreOption,
}

/// Adds to an error that `show` reads this machine only, when the environment names a server.
fn of_this_machine(error: CommandError) -> CommandError {
    let url = env::var("TOUCHSTONE_URL").ok().filter(|url| !url.is_empty());
    match (error, url) {
        (CommandError::Usage(problem), Some(url)) => {
            let url = untrusted::line(&url, 200);
            CommandError::Usage(format!("{problem}; `show` is about this machine: `touchstone results` asks {url}"))
        }
        (error, _) => error,
    }
}

/// A run that is shown.
struct Shown {
    home: Home,
    experiment: Experiment,
    run: Run,
    scenarios: Vec<StoredScenario>,
}

impl Show {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        Runtime::new()?.block_on(self.show(output))?;
        Ok(Exit::Passed)
    }

    async fn show(&self, output: &mut Output) -> Result<(), CommandError> {
        let home = self.store.open().await?;
        let (experiment, run) = self.reference.find(&home.store).await.map_err(of_this_machine)?;
        let scenarios = home.store.scenarios(run.id).await?;
        let shown = Shown { home, experiment, run, scenarios };
        if self.output {
            return print_output(&shown, self.scenario(&shown)?, output).await;
        }
        if self.evidence {
            return output.exactly(&evidence(&shown, self.scenario(&shown)?).await?, Form::Json);
        }
        let named = self.reference.scenario.is_some();
        if self.events {
            let only = if named { Some(self.reference.scenario(&shown.scenarios)?) } else { None };
            return events::print(&shown, only, output).await;
        }
        match self.format {
            format if !named => experiment::print(&shown, format, output).await,
            ReportFormat::Text => scenario::text(&shown, self.scenario(&shown)?, output).await,
            ReportFormat::Json => scenario::json(&shown, self.scenario(&shown)?, output).await,
            _ => Err(CommandError::Usage(
                "a scenario is shown as text or json; other formats are for experiments".to_owned(),
            )),
        }
    }

    /// The scenario that is named; the only one of a run need not be.
    fn scenario<'a>(&self, shown: &'a Shown) -> Result<&'a StoredScenario, CommandError> {
        self.reference.scenario(&shown.scenarios)
    }
}

impl Shown {
    /// The name of the run, which means the same when there are more runs.
    fn run_name(&self) -> String {
        format!("{}#{}", self.experiment.id, self.run.id.number)
    }

    /// The name of a scenario.
    fn name(&self, scenario: &StoredScenario) -> String {
        format!("{}/{}", self.run_name(), scenario.scenario.id)
    }
}

/// The evidence of a scenario as it was stored.
async fn evidence(shown: &Shown, scenario: &StoredScenario) -> Result<String, CommandError> {
    let text = match scenario.source {
        Some((job, attempt)) => shown.home.store.evidence_text(job, attempt).await?,
        None => None,
    };
    text.ok_or_else(|| CommandError::Usage(format!("`{}` left no evidence", shown.name(scenario))))
}

async fn print_output(shown: &Shown, scenario: &StoredScenario, output: &mut Output) -> Result<(), CommandError> {
    // Whether there is any evidence at all is told apart from an agent that was silent.
    evidence(shown, scenario).await?;
    if let Some(result) = store::with_output(&shown.home.store, scenario.clone()).await? {
        let printed = result.agent_output + &result.agent_stderr;
        output.exactly(&untrusted::visible(&printed), Form::Text)?;
    }
    Ok(())
}
