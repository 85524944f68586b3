//! Works on runs of one's own until they have ended: what `run`, `rerun` and `try` share.

mod control_group;
mod finish;
mod machine;
mod options;
mod progress;
mod submission;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use engine::attempt::Permissions;
use engine::backend::Backend;
use engine::backend::docker::DockerSettings;
use engine::data_dir::DataDir;
use engine::owner::{self, Life};
use scenario::report::Report;
use scenario::spec::Spec;
use store::{Experiment, Lane, Numbers, Run, RunId, Store, WorkerId};
use uuid::Uuid;
use worker::{Config, NoSnapshots, Notice, OnBackend, OwnersOf, Parts, RandomIds, Unavailable};

use crate::backend::Connected;
use crate::clock::SystemClock;
use crate::output::{CommandError, Output};
use crate::reference::Reference;
use crate::secrets::{self, Forwarded};
pub(crate) use finish::{Finish, LAST};
pub(crate) use machine::Available;
pub(crate) use options::WorkOptions;
use progress::Progress;
pub(crate) use progress::step;
pub(crate) use submission::{Submission, new_id};

/// A process that works on runs of its own.
#[derive(Debug)]
pub(crate) struct Session {
    /// The database.
    pub(crate) store: Store,
    /// The lane that limits its jobs to this session's worker.
    pub(crate) lane: Lane,
    data_dir: DataDir,
    backend: Arc<dyn Backend>,
    /// A remark about the backend, for people.
    notice: Option<String>,
    config: Config,
    options: WorkOptions,
    /// Values of secrets that were given.
    forwarded: Forwarded,
}

/// The location of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// In the data directory.
    History,
    /// In a folder that goes with the process.
    Nothing,
}

/// Reports progress to users.
pub(crate) trait Teller {
    /// Reports an event.
    fn tell(&mut self, notice: &Notice, output: &mut Output);

    /// Removes the live view.
    fn end(&mut self) {}
}

impl Session {
    /// Connects to the backend as an owner, and opens the store.
    pub(crate) async fn begin(
        options: WorkOptions,
        keeping: Keeping,
        permissions: Permissions,
        specs: &[&Spec],
    ) -> Result<Self, CommandError> {
        let data_dir = options.store.data_dir()?;
        let forwarded = options.secrets.read()?;
        let mut machine = options.models.machine(&data_dir)?;
        if keeping == Keeping::Nothing {
            machine.judgements = None;
        }
        let settings =
            DockerSettings { runtime: options.runtime.clone(), pull: !options.no_pull, ..DockerSettings::default() };
        let Connected { backend, owner, scratch, notice } = options.backend.connect(&data_dir, settings, specs).await?;
        let folder = match keeping {
            Keeping::History => data_dir.path().to_owned(),
            Keeping::Nothing => scratch.clone(),
        };
        let store = match keeping {
            Keeping::History => options.store.open().await?.store,
            Keeping::Nothing => Store::open(&folder).await?,
        };
        // Found out before an agent has worked for an hour and what it did cannot be kept.
        store.probe_artifacts(&owner.to_string()).await?;
        let available = Available::to(&*backend);
        let config =
            Config { machine, ..config(&options, available, (data_dir.id(), owner), folder, scratch, permissions) };
        Ok(Self { store, lane: Lane::Own(owner), data_dir, backend, notice, config, options, forwarded })
    }

    /// Begins a session for a stored experiment: the backend is chosen for its spec.
    pub(crate) async fn begin_again(
        options: WorkOptions,
        permissions: Permissions,
        what: &Reference,
    ) -> Result<Self, CommandError> {
        let store = options.store.open().await?.store;
        let (_, run) = what.find(&store).await?;
        let spec = store::spec_of(&store, &run).await?;
        store.close().await;
        Self::begin(options, Keeping::History, permissions, &[&spec]).await
    }

    /// Reports the problems with the backend and its configuration to the machine's owner.
    pub(crate) fn warn(&self, output: &mut Output) {
        if let Some(notice) = &self.notice {
            output.notice(notice);
        }
        self.config.machine.providers.warnings().iter().for_each(|warning| output.note(warning));
    }

    /// Runs that processes of this data directory left, because they were killed.
    pub(crate) async fn left_behind(&self) -> Result<Vec<Run>, CommandError> {
        let runs = self.store.open_runs().await?;
        Ok(runs.into_iter().filter(|run| self.is_left(run)).collect())
    }

    fn is_left(&self, run: &Run) -> bool {
        match run.lane {
            Lane::Shared => false,
            Lane::Own(owner) => owner::life_of(&self.data_dir, owner).is_ok_and(|life| life == Life::Gone),
        }
    }

    /// Finds out whether a stored spec can be run here and now, before a run of it is begun or taken over: otherwise its
    /// scenarios would end as errors for good.
    pub(crate) fn check(&self, experiment: &Experiment, spec: &Spec) -> Result<(), CommandError> {
        let agent = experiment.settings.agent_override();
        let agent = agent.map_err(|unknown| CommandError::Infrastructure(unknown.to_string()))?;
        if let Some(reason) = engine::unsupported(spec, agent.as_ref(), &self.config.permissions, engine::Uploads::None)
        {
            return Err(CommandError::Infrastructure(format!("{}: {reason}", experiment.spec.spec_id)));
        }
        if let Some(reason) = self.misfit(spec) {
            return Err(CommandError::Infrastructure(format!("{}: {reason}", experiment.spec.spec_id)));
        }
        if let Some(reason) = engine::judges::missing(spec, &self.config.machine.providers) {
            return Err(CommandError::Infrastructure(format!("{}: {reason}", experiment.spec.spec_id)));
        }
        secrets::resolve(spec, &self.forwarded)
            .map(drop)
            .map_err(|problem| CommandError::Usage(format!("{}: {problem}", experiment.spec.spec_id)))
    }

    /// Returns why the backend cannot run a spec.
    pub(crate) fn misfit(&self, spec: &Spec) -> Option<String> {
        self.backend.misfit(spec)
    }

    /// Takes over an unfinished run: the scenarios that had ended stay, and the rest will be run.
    pub(crate) async fn take_over(&self, run: &Run) -> Result<(), CommandError> {
        if !self.is_left(run) || !self.store.adopt(run.id, run.lane, self.lane).await? {
            return Err(CommandError::Usage(format!("{} is being worked on by another process", run.id)));
        }
        let numbers = Numbers::of(&self.store, run.id).await?;
        let now = store::Clock::now(&SystemClock);
        for held in self.store.held().await?.into_iter().filter(|held| held.run == run.id) {
            let message = "its process ended";
            if self.store.release(&held.lease, message, now).await? == store::Kept::Stale {
                self.store.give_up(&held.lease, run.id, message, now, &numbers).await?;
            }
        }
        Ok(())
    }

    /// Builds the parts of a worker.
    fn parts(&self, observer: worker::Observer) -> Parts {
        Parts {
            config: self.config.clone(),
            store: self.store.clone(),
            sandboxes: Arc::new(OnBackend(Arc::clone(&self.backend))),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            peers: Arc::new(OwnersOf(self.data_dir.clone())),
            secrets: Arc::new(FromSpec(self.forwarded.clone())),
            snapshots: Arc::new(NoSnapshots),
            observer,
        }
    }

    /// Works on these runs until they have ended, telling of progress. Ctrl-C ends them, and cleans up.
    pub(crate) async fn work(&self, runs: &[RunId], output: &mut Output) -> Result<Finish, CommandError> {
        let mut progress = Progress::begin(self, runs, output).await?;
        self.work_telling(runs, &mut progress, output).await
    }

    /// Does the same, and tells of progress in another way.
    pub(crate) async fn work_telling(
        &self,
        runs: &[RunId],
        teller: &mut dyn Teller,
        output: &mut Output,
    ) -> Result<Finish, CommandError> {
        finish::work(self, runs, teller, output).await
    }

    /// Ends the connections to the store.
    pub(crate) async fn end(&self) {
        self.store.close().await;
    }

    /// The reports of runs.
    pub(crate) async fn reports(&self, runs: &[RunId]) -> Result<Vec<Report>, CommandError> {
        let mut reports = Vec::new();
        for run in runs {
            let experiment = self.store.experiment(run.experiment).await?;
            let run = self.store.run(*run).await?;
            reports.push(store::report(&self.store, &experiment, &run).await?);
        }
        Ok(reports)
    }
}

fn config(
    options: &WorkOptions,
    available: Available,
    (data_dir, owner): (Uuid, Uuid),
    folder: PathBuf,
    scratch: PathBuf,
    permissions: Permissions,
) -> Config {
    let worker = WorkerId { data_dir, owner };
    let slots = options.max_concurrent.map_or_else(|| available.usual_slots(), std::num::NonZeroUsize::get);
    Config {
        slots,
        budget: available.budget(options.max_concurrent.is_some()),
        keep: options.keep(),
        permissions,
        ..Config::new(Lane::Own(owner), worker, folder, scratch)
    }
}

/// Secrets that were given, or from where their specs say that they are.
#[derive(Debug)]
struct FromSpec(Forwarded);

#[async_trait]
impl worker::Secrets for FromSpec {
    async fn resolve(&self, _experiment: &Experiment, spec: &Spec) -> Result<BTreeMap<String, String>, Unavailable> {
        secrets::resolve(spec, &self.0).map_err(Unavailable::Missing)
    }
}
