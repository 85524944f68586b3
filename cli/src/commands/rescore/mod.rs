//! `touchstone rescore`: judges stored evidence again.

mod answers;
mod changes;

use std::path::{Path, PathBuf};

use clap::Args;
use scenario::plan::Plan;
use scenario::report::Report;
use scenario::result::ScenarioResult;
use scenario::score::ScoreOptions;
use scenario::spec::{Spec, render};
use store::{Experiment, Rescored, Run, RunId, RunKind, RunState, SpecContent, Store, StoredScenario};
use tokio::runtime::Runtime;
use worker::{Clock as _, read_spec};

use crate::clock::SystemClock;
use crate::exit_code::Exit;
use crate::home::DataDirOption;
use crate::output::{CommandError, Output};
use crate::reference::Reference;
use crate::report_format::ReportFormat;
use crate::source::{content, has_error, sources};
use crate::stored_report::{header, with_output};
use answers::{Version, answering, check_parameters, check_records};
use changes::Changes;

/// Judge the stored evidence of a run again, without running anything.
///
/// By the spec of that run, or by a changed one: then it says which verdicts change. A check that asks for something that
/// was not looked at, such as another file, could not be judged then. The outcome is kept as a new run of the same
/// experiment; the old one stays.
#[derive(Debug, Args)]
pub(crate) struct Rescore {
    /// EXPERIMENT or EXPERIMENT#RUN; without a run, the newest one is meant.
    #[arg(value_name = "REFERENCE")]
    reference: Reference,
    /// Judge by this spec file or folder instead of the spec of the run; its id must be the same.
    #[arg(long, value_name = "PATH")]
    spec: Option<PathBuf>,
    /// Only show what would come of it; keep nothing.
    #[arg(long)]
    dry_run: bool,
    /// How to show the report.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    #[command(flatten)]
    data_dir: DataDirOption,
}

/// Scenarios of a run, as they were judged and as they are judged now.
struct Judged {
    before: Vec<Option<ScenarioResult>>,
    now: Vec<Rescored>,
}

impl Rescore {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        if self.reference.scenario.is_some() {
            return Err(CommandError::Usage("a run is judged as a whole; leave `/SCENARIO` away".to_owned()));
        }
        let given = match &self.spec {
            Some(path) => match given(path, output)? {
                Some(given) => Some(given),
                None => return Ok(Exit::InvalidSpec),
            },
            None => None,
        };
        Runtime::new()?.block_on(self.rescore(given, output))
    }

    async fn rescore(&self, given: Option<(Spec, SpecContent)>, output: &mut Output) -> Result<Exit, CommandError> {
        let store = self.data_dir.open().await?.store;
        let (experiment, run) = self.reference.find(&store).await?;
        if run.state == RunState::Open {
            return Err(CommandError::Usage(format!("the run `{}` has not ended", run.id)));
        }
        let now = match given {
            Some((spec, content)) => Version { spec: same_id(spec, &experiment)?, content },
            None => version(&store, &run.digest).await?,
        };
        let judged = judge(&store, &now, &run).await?;
        let mut report = report(&experiment, &run, &now.spec, &judged.now);
        if !self.dry_run {
            let digest = if self.spec.is_some() {
                let id = &experiment.spec.spec_id;
                store.keep_spec(id, &now.content, SystemClock.now()).await?.digest
            } else {
                run.digest.clone()
            };
            let kept = store.keep_rescored(run.id, &digest, &judged.now, &report.score, SystemClock.now()).await?;
            report.header = header(&experiment, &store.run(kept).await?);
        }
        output.line(self.format.render(&report))?;
        self.tell(&judged, &report, output)?;
        Ok(match report.score.exit_code() {
            0 => Exit::Passed,
            1 => Exit::Failed,
            _ => Exit::Infrastructure,
        })
    }

    /// Says what changed, and where it is kept; beside a report that a program reads.
    fn tell(&self, judged: &Judged, report: &Report, output: &mut Output) -> Result<(), CommandError> {
        let kept = if self.dry_run {
            "a dry run: nothing is kept".to_owned()
        } else {
            format!("kept as {}#{}", report.header.experiment_id, report.header.run)
        };
        for line in [Changes::between(&judged.before, &judged.now).to_string(), kept] {
            if self.format == ReportFormat::Text { output.line(line)? } else { output.note(line) }
        }
        Ok(())
    }
}

/// The spec that was given, and what is kept of it; shows what is wrong when it is not valid.
fn given(path: &Path, output: &mut Output) -> Result<Option<(Spec, SpecContent)>, CommandError> {
    let (sources, readable) = sources(&[path.to_owned()]);
    readable?;
    let [source] = sources.as_slice() else {
        return Err(CommandError::Usage(format!("`{}` holds more than one spec; name one", path.display())));
    };
    let loaded = source.load();
    for diagnostic in loaded.diagnostics.iter().filter(|_| has_error(&loaded.diagnostics)) {
        output.line(format!("{}\n", render::text(diagnostic, &source.name, &source.text, output.style())))?;
    }
    loaded.spec.map(|spec| Ok((spec, content(source)?))).transpose()
}

fn same_id(spec: Spec, experiment: &Experiment) -> Result<Spec, CommandError> {
    let (given, wanted) = (spec.id.to_string(), &experiment.spec.spec_id);
    if given == *wanted {
        return Ok(spec);
    }
    Err(CommandError::Usage(format!("the experiment is of the spec `{wanted}`, and the given one is `{given}`")))
}

/// A version of the spec that is kept.
async fn version(store: &Store, digest: &str) -> Result<Version, CommandError> {
    let content = store.spec(digest).await?;
    let spec = read_spec(&content).map_err(CommandError::Infrastructure)?;
    Ok(Version { spec, content })
}

/// The version of the spec by which the evidence of a run was collected.
async fn asked(store: &Store, run: &Run) -> Result<Version, CommandError> {
    let mut acted = run.clone();
    while let RunKind::Rescored { of } = acted.kind {
        acted = store.run(RunId { number: of, ..acted.id }).await?;
    }
    version(store, &acted.digest).await
}

async fn judge(store: &Store, version: &Version, run: &Run) -> Result<Judged, CommandError> {
    let mut judged = Judged { before: Vec::new(), now: Vec::new() };
    let asked = asked(store, run).await?;
    check_records(&version.spec, &asked.spec)?;
    let scenarios = store.scenarios(run.id).await?;
    check_parameters(&version.spec, &scenarios.iter().map(|stored| &stored.scenario).collect::<Vec<_>>())?;
    for stored in scenarios {
        let StoredScenario { scenario, source, .. } = stored.clone();
        let before = with_output(store, stored).await?;
        let evidence = match source {
            Some((job, attempt)) => store.evidence(job, attempt).await?,
            None => None,
        };
        let result = match (&before, evidence) {
            (Some(before), Some(evidence)) => {
                let evidence = answering(version, &asked, &scenario, evidence);
                let result = ScenarioResult::judge(&version.spec, &scenario, &evidence);
                Some(ScenarioResult { wall_ms: before.wall_ms, ..result })
            }
            // Without evidence there is nothing to judge.
            (before, _) => before.clone(),
        };
        judged.before.push(before);
        judged.now.push(Rescored { scenario, result, source });
    }
    Ok(judged)
}

fn report(experiment: &Experiment, run: &Run, spec: &Spec, now: &[Rescored]) -> Report {
    let scenarios = now.iter().map(|one| one.scenario.clone()).collect();
    let plan = Plan { spec_id: experiment.spec.spec_id.clone(), seed: experiment.seed, scenarios };
    let options = ScoreOptions { min_pass_rate: experiment.settings.min_pass_rate };
    let results = now.iter().filter_map(|one| one.result.clone()).collect();
    Report::new(header(experiment, run), spec, &plan, results, options)
}
