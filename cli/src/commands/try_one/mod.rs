//! `touchstone try`: one scenario, run for real, and nothing kept.

mod show;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use engine::attempt::{Attempt, Keep};
use engine::backend::docker::DockerSettings;
use engine::backend::{Identity, Reach};
use engine::bundle::BundleFolder;
use engine::data_dir::DataDir;
use engine::entropy;
use engine::error::EngineError;
use engine::event::{Event, Events};
use engine::run_scenario;
use scenario::evidence::Evidence;
use scenario::plan::{PlanOptions, Scenario, expand};
use scenario::result::{RowStatus, ScenarioResult};
use scenario::spec::{Spec, render};
use scenario::untrusted;
use scenario::verdict::ErrorKind;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use worker::Clock as _;

use crate::acting::{OtherAgent, permissions};
use crate::backend::BackendOptions;
use crate::clock::SystemClock;
use crate::exit_code::Exit;
use crate::home::DataDirOption;
use crate::machine::ModelOptions;
use crate::output::{CommandError, Output};
use crate::secrets::{self, SecretOptions};
use crate::signals::{Asked, Signals};
use crate::source::{Source, has_error, sources};
use crate::verdict_lines::{MOST_LINE, lines};
use crate::whole_number::whole_number;
use show::tell;

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
    #[arg(long, value_enum)]
    agent: Option<OtherAgent>,
    /// How to show the result.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
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
enum Format {
    /// For people.
    Text,
    /// The result and the evidence as one JSON object.
    Json,
}

/// What came of it; `None` when it was cancelled.
type Tried = Option<(ScenarioResult, Evidence)>;

impl Try {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let (sources, readable) = sources(std::slice::from_ref(&self.spec));
        readable?;
        let [source] = sources.as_slice() else {
            return Err(CommandError::Usage(format!("`{}` holds more than one spec; name one", self.spec.display())));
        };
        let Some(spec) = load(source, output)? else { return Ok(Exit::InvalidSpec) };
        let scenario = self.choose(&spec)?;
        let secrets = secrets::resolve(&spec, &self.secrets.read()?).map_err(CommandError::Usage)?;
        let data_dir = self.data_dir.resolve()?;
        let machine = self.models.machine(&data_dir)?;
        machine.providers.warnings().iter().for_each(|warning| output.note(warning));
        let runtime = tokio::runtime::Runtime::new()?;
        let bundle = source.folder.clone().map_or_else(BundleFolder::none, BundleFolder::at);
        let attempt = Attempt {
            spec: &spec,
            scenario: &scenario,
            bundle: &bundle,
            secrets: &secrets,
            identity: identity(&scenario),
            permissions: permissions(self.allow_host_checks)?,
            agent: self.agent.map(OtherAgent::choice),
            machine: &machine,
            started_at: SystemClock.now(),
            keep: Keep::Never,
            snapshot: None,
            sandbox_id: None,
        };
        let tried = runtime.block_on(self.try_it(&attempt, data_dir, output))?;
        // Whatever still runs in the background has no say any more.
        runtime.shutdown_timeout(Duration::from_secs(5));
        let Some((result, evidence)) = tried else { return Ok(Exit::Interrupted) };
        self.show(&result, &evidence, output)?;
        Ok(match result.status {
            RowStatus::Pass => Exit::Passed,
            RowStatus::Fail => Exit::Failed,
            RowStatus::Error => Exit::Infrastructure,
        })
    }

    fn choose(&self, spec: &Spec) -> Result<Scenario, CommandError> {
        let options = PlanOptions { seed: self.seed, ..PlanOptions::default() };
        let plan = expand(spec, options).map_err(|error| CommandError::Usage(error.to_string()))?;
        let wanted = |scenario: &&Scenario| self.scenario.as_ref().is_none_or(|id| scenario.id.as_str() == id);
        plan.scenarios.iter().find(wanted).cloned().ok_or_else(|| {
            let ids: Vec<_> = plan.scenarios.iter().map(|scenario| scenario.id.as_str()).collect();
            let wanted = self.scenario.as_deref().unwrap_or_default();
            CommandError::Usage(format!("the spec has no scenario `{wanted}`; it has {}", ids.join(", ")))
        })
    }

    /// Runs the scenario, telling of its progress; Ctrl-C ends it, and cleans up.
    async fn try_it(
        &self,
        attempt: &Attempt<'_>,
        data_dir: DataDir,
        output: &mut Output,
    ) -> Result<Tried, CommandError> {
        let started = tokio::time::Instant::now();
        let cancel = CancellationToken::new();
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let events = Events::to(move |event| {
            let _ = sender.send(event);
        });
        let running = self.attempt_it(attempt, data_dir, &events, &cancel);
        tokio::pin!(running);
        let mut signals = Signals::listen()?;
        let ran = loop {
            tokio::select! {
                ran = &mut running => break ran,
                Some(event) = receiver.recv() => tell(&event, output),
                asked = signals.next() => match asked {
                    Asked::Once => {
                        output.note("interrupted: cleaning up");
                        cancel.cancel();
                    }
                    Asked::Again => {
                        output.note("interrupted again: the next run cleans up");
                        return Ok(None);
                    }
                },
            }
        };
        while let Ok(event) = receiver.try_recv() {
            tell(&event, output);
        }
        let wall_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(match ran {
            Ok(Some(evidence)) => {
                let result = ScenarioResult::judge(attempt.spec, attempt.scenario, &evidence);
                Some((ScenarioResult { wall_ms, ..result }, evidence))
            }
            Ok(None) => None,
            Err(problem) => {
                let (kind, message) = problem;
                let result = ScenarioResult::failed_to_run(attempt.scenario, kind, message);
                Some((ScenarioResult { wall_ms, ..result }, Evidence::default()))
            }
        })
    }

    /// What was found; nothing when it was cancelled, and whose mistake it is with words for people when it could not be run.
    async fn attempt_it(
        &self,
        attempt: &Attempt<'_>,
        data_dir: DataDir,
        events: &Events,
        cancel: &CancellationToken,
    ) -> Result<Option<Evidence>, (ErrorKind, String)> {
        let settings =
            DockerSettings { runtime: self.runtime.clone(), pull: !self.no_pull, ..DockerSettings::default() };
        let connected = self.backend.connect(&data_dir, settings, &[attempt.spec]).await;
        let connected = connected.map_err(|error| (ErrorKind::Infrastructure, error.to_string()))?;
        if let Some(notice) = connected.notice {
            events.tell(Event::Note(format!("touchstone: {notice}")));
        }
        let backend = connected.backend;
        // What an earlier try left behind, because it was killed, goes first. If it cannot, that is no reason not to run.
        if let Err(error) = backend.sweep(Reach::Gone).await {
            events.tell(Event::Note(format!("what an earlier run left behind is still there: {error}")));
        }
        match run_scenario(backend.as_ref(), attempt, events, cancel).await {
            Err(EngineError::Cancelled) => Ok(None),
            ran => ran.map(Some).map_err(|error| (error.kind(), error.to_string())),
        }
    }

    fn show(&self, result: &ScenarioResult, evidence: &Evidence, output: &mut Output) -> Result<(), CommandError> {
        if self.format == Format::Json {
            let both = serde_json::json!({ "result": result, "evidence": evidence });
            return output.json(&both);
        }
        for note in &result.notes {
            output.line(format!("note: {}", untrusted::line(note, MOST_LINE)))?;
        }
        for line in lines(result) {
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

fn identity(scenario: &Scenario) -> Identity {
    Identity { experiment: "try".to_owned(), scenario: scenario.id.to_string(), job: entropy::uuid(), attempt: 1 }
}
