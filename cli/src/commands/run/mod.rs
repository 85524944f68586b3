//! `touchstone run`: specs, run for real, and kept.

mod plan;
mod recording;
mod replayed;

use std::path::PathBuf;

use clap::Args;
use scenario::count_noun;
use scenario::report::{Report, Reports, SuiteOutcome};
use store::{RunId, Settings, StoredAgent, spec_of};

use crate::choices::Choices;
use crate::documents::DocumentOptions;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::reference::Reference;
use crate::session::{Finish, Keeping, LAST, Session, Submission, WorkOptions};
use crate::suite_files::{self, SuiteFile};
pub(crate) use plan::read as read_specs;
pub(super) use plan::{Planned, Plans, plans};
pub(super) use replayed::Replayed;

/// Maximum number of unfinished experiments that are mentioned.
const MOST_LEFT: usize = 3;

/// Run specs in sandboxes, judge what the agents left, and keep all of it.
///
/// Each spec becomes one experiment, and each of its scenarios is run in a sandbox of its own, several at once. What came
/// of it is shown, and kept in the data directory: see `touchstone list` and `touchstone show`.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Spec files, folders (searched for specs), patterns such as 'specs/check-*', - for standard input, or one suite: its file,
    /// or the folder with its `suite.yaml`.
    #[arg(required_unless_present = "resume", conflicts_with = "resume")]
    pub(super) paths: Vec<PathBuf>,
    /// Finish an experiment that was left because its process was killed: its id, the beginning or end of it, or `latest`.
    #[arg(long, value_name = "EXPERIMENT", conflicts_with_all = ["replicas", "param", "seed", "filter", "agent", "ephemeral"])]
    pub(super) resume: Option<Reference>,
    #[command(flatten)]
    pub(super) choices: Choices,
    /// Keep nothing: no history, no evidence.
    #[arg(long)]
    ephemeral: bool,
    #[command(flatten)]
    pub(super) documents: DocumentOptions,
    #[command(flatten)]
    pub(super) work: WorkOptions,
    /// Whether specs without a contract are left out, as `touchstone contract` does.
    #[arg(skip)]
    pub(super) only_contracts: bool,
    /// Make it an error when a spec of the suite names a capability that the suite's list does not have.
    #[arg(long)]
    pub(super) strict_tags: bool,
    /// Whether the specs are certified: their mutations, their replays and the cells of their chaos matrix are left out.
    #[arg(skip)]
    for_certificate: bool,
    /// Sessions that are run in place of the specs' own scenarios.
    #[arg(skip)]
    replayed: Option<Replayed>,
    /// The suite that the paths name.
    #[arg(skip)]
    suite: Option<SuiteFile>,
}

impl Run {
    /// A run of sessions in place of the specs' own scenarios.
    pub(super) fn of_sessions(
        paths: Vec<PathBuf>,
        replayed: Replayed,
        (choices, ephemeral, documents, work): (Choices, bool, DocumentOptions, WorkOptions),
    ) -> Self {
        let replayed = Some(replayed);
        let (only_contracts, strict_tags) = (false, false);
        Self {
            paths,
            resume: None,
            choices,
            ephemeral,
            documents,
            work,
            only_contracts,
            strict_tags,
            for_certificate: false,
            replayed,
            suite: None,
        }
    }

    /// A run in the plain world of each spec, in which an agent acts instead of its own.
    pub(super) fn for_certificate(paths: Vec<PathBuf>, choices: Choices, work: WorkOptions) -> Self {
        Self {
            paths,
            resume: None,
            choices,
            ephemeral: true,
            documents: DocumentOptions::default(),
            work,
            only_contracts: false,
            strict_tags: false,
            for_certificate: true,
            replayed: None,
            suite: None,
        }
    }

    /// The same for specs with a contract alone.
    pub(super) fn of_contracts(self) -> Self {
        Self { only_contracts: true, ..self }
    }

    /// Puts the specs of a suite, where the paths name one, in its place, with the bars that it adds; false when something is
    /// wrong with it, after saying what.
    pub(super) fn open_suite(&mut self, output: &mut Output) -> Result<bool, CommandError> {
        let mut files = suite_files::read(&self.paths)?;
        if self.strict_tags {
            files.be_strict();
        }
        files.show(output)?;
        if !files.are_valid() {
            return Ok(false);
        }
        let Some(suite) = files.only()? else { return Ok(true) };
        self.paths = suite.specs();
        let floor = suite.suite.floors.pass_rate.map(|floor| floor.get());
        self.choices.min_pass_rate = self.choices.min_pass_rate.into_iter().chain(floor).reduce(f64::max);
        if self.choices.agent.is_none() {
            self.choices.agent = suite.suite.agent.as_ref().map(|agent| agent.agent().clone());
            self.choices.agent_files = suite.suite.agent_files.as_ref().map(|folder| suite.path(folder));
        }
        self.suite = Some(suite);
        Ok(true)
    }

    /// Adds what the experiments come to as a suite, where they are one.
    pub(super) fn as_suite(&self, reports: Reports) -> Reports {
        Reports { outcome: self.outcome(&reports.reports), ..reports }
    }

    /// What experiments come to as the suite that is run.
    pub(super) fn outcome(&self, reports: &[Report]) -> SuiteOutcome {
        self.suite.as_ref().map(|suite| suite.outcome(reports)).unwrap_or_default()
    }

    /// The suite that is run.
    pub(super) fn suite(&self) -> Option<&SuiteFile> {
        self.suite.as_ref()
    }

    pub(crate) fn run(mut self, output: &mut Output) -> Result<Exit, CommandError> {
        let documents = self.documents.check(output)?;
        let worked = match self.open_suite(output) {
            Ok(true) => self.reports(output),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        if let Some(excuse) = excuse(&worked) {
            documents.excuse(&excuse, output);
        }
        let Some((finish, reports)) = worked? else { return Ok(Exit::InvalidSpec) };
        documents.publish(&reports, exit(finish, &reports), output)
    }

    /// Runs everything; `None` when a spec is not valid, after saying why.
    pub(super) fn reports(&self, output: &mut Output) -> Result<Option<(Finish, Reports)>, CommandError> {
        let mut plans = match &self.resume {
            Some(_) => Plans::default(),
            None => match plans(self, output)? {
                Some(plans) => plans,
                None => return Ok(None),
            },
        };
        let runtime = tokio::runtime::Runtime::new()?;
        let (finish, reports) = runtime.block_on(self.work(&mut plans, output))?;
        // Whatever still runs in the background has no say any more.
        runtime.shutdown_timeout(LAST);
        let note = finish.note().map(ToOwned::to_owned);
        let reports = Reports { reports, skipped: plans.skipped, note, ..Reports::default() };
        Ok(Some((finish, self.as_suite(reports))))
    }

    async fn work(&self, plans: &mut Plans, output: &mut Output) -> Result<(Finish, Vec<Report>), CommandError> {
        let keeping = if self.ephemeral { Keeping::Nothing } else { Keeping::History };
        let (options, permissions) = (self.work.clone(), self.work.permissions()?);
        let specs: Vec<_> = plans.planned.iter().map(|planned| &planned.spec).collect();
        let session = match &self.resume {
            Some(what) => Session::begin_again(options, permissions, what).await?,
            None => Session::begin(options, keeping, permissions, &specs).await?,
        };
        session.warn(output);
        plans.refuse(|spec| session.misfit(spec))?;
        let runs = match &self.resume {
            Some(reference) => vec![resume(&session, reference).await?],
            None => {
                tell_what_was_left(&session, output).await?;
                self.submit(&session, &plans.planned).await?
            }
        };
        let finish = session.work(&runs, output).await?;
        let reports = session.reports(&runs).await?;
        recording::keep(&session, &plans.planned, &runs, output).await?;
        session.end().await;
        Ok((finish, reports))
    }

    /// Stores all experiments, with a job for each scenario.
    async fn submit(&self, session: &Session, planned: &[Planned]) -> Result<Vec<RunId>, CommandError> {
        let mut runs = Vec::new();
        for one in planned {
            let settings = Settings {
                agent: self.choices.agent.clone().map(StoredAgent::from),
                agent_files: self.choices.agent_files.as_ref().map(|folder| folder.display().to_string()),
                backend: self.work.backend.insisted().map(ToOwned::to_owned),
                parameters: one.parameters.clone(),
                replicas: self.choices.replicas,
                min_pass_rate: self.choices.min_pass_rate,
                filter: self.choices.filter.clone(),
                chaos: self.choices.chaos_cells(),
                ..Settings::default()
            };
            let submission = Submission {
                spec: &one.spec,
                content: &one.content,
                source: &one.source,
                seed: one.plan.seed,
                scenarios: one.plan.scenarios.clone(),
                settings,
            };
            runs.push(session.submit(submission).await?);
        }
        Ok(runs)
    }
}

/// Resumes an experiment that was left unfinished.
async fn resume(session: &Session, reference: &Reference) -> Result<RunId, CommandError> {
    if reference.scenario.is_some() {
        return Err(CommandError::Usage("a run is finished as a whole; leave `/SCENARIO` away".to_owned()));
    }
    let (experiment, run) = reference.find(&session.store).await?;
    if run.state != store::RunState::Open {
        return Err(CommandError::Usage(format!("{} has ended: there is nothing to finish", run.id)));
    }
    session.check(&experiment, &spec_of(&session.store, &run).await?)?;
    session.take_over(&run).await?;
    Ok(run.id)
}

/// Reports experiments that were left unfinished because their processes were killed.
async fn tell_what_was_left(session: &Session, output: &mut Output) -> Result<(), CommandError> {
    let left = session.left_behind().await?;
    for run in left.iter().take(MOST_LEFT) {
        let (id, ended, total) = (run.id, run.ended, count_noun(run.total, "scenario"));
        output.note(format!(
            "the experiment {id} was left unfinished ({ended} of {total} ended): finish it with `touchstone run --resume {id}`, or end it with `touchstone cancel {id}`"
        ));
    }
    if left.len() > MOST_LEFT {
        let more = count_noun(left.len() - MOST_LEFT, "more experiment");
        output.note(format!("and {more}; `touchstone list` shows them as interrupted"));
    }
    Ok(())
}

/// Returns the note for a report without results: nothing was run, or the outcome is not known.
pub(super) fn excuse<T>(worked: &Result<Option<T>, CommandError>) -> Option<Reports> {
    let why = match worked {
        Ok(Some(_)) => return None,
        Ok(None) => "a spec is not valid, so nothing was run".to_owned(),
        Err(error) => error.to_string(),
    };
    Some(Reports { note: Some(why), ..Reports::default() })
}

/// The exit code of a command that worked on runs.
pub(crate) fn exit(finish: Finish, reports: &Reports) -> Exit {
    match (finish, reports.exit_code()) {
        (Finish::Interrupted | Finish::Abandoned, _) => Exit::Interrupted,
        (_, 0) => Exit::Passed,
        (_, 1) => Exit::Failed,
        (Finish::FailedFast, _) if reports.reports.iter().any(|report| report.score.failed > 0) => Exit::Failed,
        _ => Exit::Infrastructure,
    }
}
