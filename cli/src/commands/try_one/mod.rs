//! `touchstone try`: one scenario of a spec, in a session like that of `run --ephemeral`, shown in full.

mod show;

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use scenario::evidence::Evidence;
use scenario::plan::{AgentOverride, Plan, PlanOptions, Scenario, expand};
use scenario::result::{RowStatus, ScenarioResult};
use scenario::spec::{Spec, render};
use scenario::untrusted;
use scenario::verdict::ErrorKind;
use store::{RunId, Settings, StoredAgent};
use tokio::runtime::Runtime;

use crate::agent_override::agent;
use crate::backend::BackendOptions;
use crate::data_dir::{DataDirOption, StoreOption};
use crate::exit_code::Exit;
use crate::machine::ModelOptions;
use crate::output::{CommandError, Output};
use crate::secrets::{self, SecretOptions};
use crate::session::{Finish, Keeping, LAST, Session, Submission, WorkOptions};
use crate::source::{Source, content, has_error, sources};
use crate::verdict_lines::{MOST_LINE, lines, own_status};
use crate::whole_number::whole_number;
use show::Steps;

/// Run one scenario of a spec in a sandbox, show what came of it, and keep nothing.
#[derive(Debug, Args)]
pub(crate) struct Try {
    /// A spec file, or the folder that holds it.
    spec: PathBuf,
    /// The scenario to run, by its id; the first one of the plan without it.
    #[arg(long)]
    scenario: Option<String>,
    /// Use this seed instead of the spec's own.
    #[arg(long, value_parser = whole_number::<u64>)]
    seed: Option<u64>,
    /// Who acts instead of the spec's own agent.
    #[arg(long, value_name = "AGENT", value_parser = agent)]
    agent: Option<AgentOverride>,
    /// How to show the result.
    #[arg(long, value_enum, default_value_t = TryFormat::Text)]
    format: TryFormat,
    /// Let `custom` checks with `runs_in: host` run on this machine.
    #[arg(long)]
    allow_host_checks: bool,
    #[command(flatten)]
    backend: BackendOptions,
    /// Never pull an image.
    #[arg(long, env = "TOUCHSTONE_NO_PULL", value_parser = BoolishValueParser::new())]
    no_pull: bool,
    /// What starts containers: `runc` or `crun`; the engine's own choice without it.
    #[arg(long, env = "TOUCHSTONE_RUNTIME")]
    runtime: Option<String>,
    #[command(flatten)]
    models: ModelOptions,
    #[command(flatten)]
    secrets: SecretOptions,
    #[command(flatten)]
    data_dir: DataDirOption,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TryFormat {
    /// For people.
    Text,
    /// The result and the evidence as one JSON object.
    Json,
}

/// The result and its evidence; `None` when the run was interrupted.
type Tried = Option<(ScenarioResult, Evidence)>;

impl Try {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let (sources, readable) = sources(std::slice::from_ref(&self.spec));
        readable?;
        let [source] = sources.as_slice() else {
            return Err(CommandError::Usage(format!("`{}` holds more than one spec; name one", self.spec.display())));
        };
        let Some(spec) = load(source, output)? else { return Ok(Exit::InvalidSpec) };
        let plan = self.plan(&spec)?;
        secrets::resolve(&spec, &self.secrets.read()?).map_err(CommandError::Usage)?;
        // Mistakes are told before anything is made.
        self.models.machine(&self.data_dir.resolve()?)?;
        let runtime = Runtime::new()?;
        let tried = runtime.block_on(self.try_it(source, &spec, plan, output))?;
        // Whatever still runs in the background has no say any more.
        runtime.shutdown_timeout(LAST);
        let Some((result, evidence)) = tried else { return Ok(Exit::Interrupted) };
        self.show(&result, &evidence, output)?;
        Ok(match result.status {
            RowStatus::Pass => Exit::Passed,
            RowStatus::Fail => Exit::Failed,
            RowStatus::Error => Exit::Infrastructure,
        })
    }

    /// A plan with the scenario that was chosen, and no other.
    fn plan(&self, spec: &Spec) -> Result<Plan, CommandError> {
        let options = PlanOptions { seed: self.seed, ..PlanOptions::default() };
        let mut plan = expand(spec, options).map_err(|error| CommandError::Usage(error.to_string()))?;
        let is_chosen = |scenario: &Scenario| self.scenario.as_ref().is_none_or(|id| scenario.id.as_str() == id);
        let Some(index) = plan.scenarios.iter().position(is_chosen) else {
            let ids: Vec<_> = plan.scenarios.iter().map(|scenario| scenario.id.as_str()).collect();
            let chosen = self.scenario.as_deref().unwrap_or_default();
            return Err(CommandError::Usage(format!("the spec has no scenario `{chosen}`; it has {}", ids.join(", "))));
        };
        plan.scenarios = vec![plan.scenarios.swap_remove(index)];
        Ok(plan)
    }

    /// Runs the scenario in a session of its own. When no session can be started, that is the result.
    async fn try_it(
        &self,
        source: &Source,
        spec: &Spec,
        plan: Plan,
        output: &mut Output,
    ) -> Result<Tried, CommandError> {
        let options = self.work_options();
        let permissions = options.permissions()?;
        let session = match Session::begin(options, Keeping::Nothing, permissions, &[spec]).await {
            Ok(session) => session,
            Err(error) => return Ok(plan.scenarios.first().map(|scenario| not_run(scenario, &error))),
        };
        session.warn(output);
        let run = self.submit(&session, source, spec, plan).await?;
        let mut steps = Steps::default();
        let finish = session.work_telling(&[run], &mut steps, output).await?;
        let tried = match steps.result {
            Some(result) => Some((result, evidence(&session, run).await?)),
            None if matches!(finish, Finish::Interrupted | Finish::Abandoned) => None,
            None => {
                let reason = finish.note().unwrap_or("the scenario ended without a result");
                return Err(CommandError::Infrastructure(reason.to_owned()));
            }
        };
        session.end().await;
        Ok(tried)
    }

    async fn submit(&self, session: &Session, source: &Source, spec: &Spec, plan: Plan) -> Result<RunId, CommandError> {
        let settings = Settings {
            agent: self.agent.clone().map(StoredAgent::from),
            backend: self.backend.insisted().map(ToOwned::to_owned),
            ..Settings::default()
        };
        let (content, source, Plan { seed, scenarios, .. }) = (&content(source)?, &source.name, plan);
        session.submit(Submission { spec, content, source, seed, scenarios, settings }).await
    }

    /// Returns the options of a session that runs one scenario.
    fn work_options(&self) -> WorkOptions {
        WorkOptions {
            max_concurrent: None,
            timeout: None,
            fail_fast: false,
            keep_sandbox: None,
            backend: self.backend.clone(),
            allow_host_checks: self.allow_host_checks,
            no_pull: self.no_pull,
            runtime: self.runtime.clone(),
            verbose: false,
            models: self.models.clone(),
            secrets: self.secrets.clone(),
            store: StoreOption::beside(self.data_dir.clone()),
        }
    }

    fn show(&self, result: &ScenarioResult, evidence: &Evidence, output: &mut Output) -> Result<(), CommandError> {
        if self.format == TryFormat::Json {
            let both = serde_json::json!({ "result": result, "evidence": evidence });
            return output.json(&both);
        }
        for note in &result.notes {
            output.line(format!("note: {}", untrusted::line(note, MOST_LINE)))?;
        }
        for line in lines(result, own_status(result)) {
            output.line(line)?;
        }
        Ok(())
    }
}

fn load(source: &Source, output: &mut Output) -> Result<Option<Spec>, CommandError> {
    let loaded = source.load();
    for diagnostic in loaded.diagnostics.iter().filter(|_| has_error(&loaded.diagnostics)) {
        output.line(format!("{}\n", render::text(diagnostic, &source.name, &source.text, output.style())))?;
    }
    Ok(loaded.spec)
}

/// The result of a scenario for which there could be no session.
fn not_run(scenario: &Scenario, error: &CommandError) -> (ScenarioResult, Evidence) {
    let result = ScenarioResult::failed_to_run(scenario, ErrorKind::Infrastructure, error.to_string());
    (result, Evidence::default())
}

/// The evidence of the only scenario of a run; empty when it could not be run.
async fn evidence(session: &Session, run: RunId) -> Result<Evidence, CommandError> {
    let stored = session.store.scenarios(run).await?;
    let Some((job, attempt)) = stored.first().and_then(|one| one.source) else { return Ok(Evidence::default()) };
    Ok(session.store.evidence(job, attempt).await?.unwrap_or_default())
}
