//! `touchstone gc`: removes what is old.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use engine::backend::Backend as _;
use engine::data_dir::DataDir;
use engine::owner::{Life, life_of};
use jiff::Timestamp;
use scenario::count_noun;
use store::{Clock as _, ExperimentId, Garbage, Lane, Prune, Pruned, Store};
use tokio::runtime::Runtime;
use walkdir::WalkDir;
use worker::bundle_folder;

use crate::backend::docker;
use crate::clock::SystemClock;
use crate::data_dir::StoreOption;
use crate::exit_code::Exit;
use crate::machine;
use crate::output::{CommandError, Output};
use crate::times::{bytes_of, length, second, size};
use crate::whole_number::whole_number;

/// Remove old experiments with their evidence, and everything that nothing uses any more.
///
/// Experiments that have not ended stay, those of processes that still live, pinned ones, and the newest ones. With them go
/// the versions of specs that no other experiment uses, the unpacked files of such specs, and replies of judges that were
/// kept longer ago. Evidence of experiments that this database does not know stays, unless `--orphans-older-than` says
/// otherwise. What killed processes left of sandboxes is removed by `touchstone sweep`.
///
/// A folder or bucket with evidence belongs to one database; `gc` refuses one that belongs to another, or to another copy of
/// this one.
#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// Remove experiments that were submitted longer ago than this.
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = length)]
    older_than: Duration,
    /// Never remove the newest ones, of which so many stay.
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = whole_number::<u32>)]
    keep: u32,
    /// Remove the oldest ones too until their evidence has no more bytes than this: `500MB`, `20GB`.
    #[arg(long, value_name = "SIZE", value_parser = bytes_of)]
    max_size: Option<u64>,
    /// Remove evidence too that belongs to no experiment of this database and was not written to for that long, such as 7d;
    /// at least 1d.
    #[arg(long, value_name = "TIME", value_parser = length)]
    orphans_older_than: Option<Duration>,
    /// Make the folder or bucket with evidence this database's own, and remove nothing: after the database was restored, moved
    /// or upgraded, and when no other one uses the place.
    #[arg(long, conflicts_with_all = ["orphans_older_than", "max_size", "images", "dry_run"])]
    adopt_artifacts: bool,
    /// Make a SQLite database this machine's own, and remove nothing: after it was moved or copied here from another machine,
    /// and when that machine no longer uses it.
    #[arg(long, conflicts_with_all = ["adopt_artifacts", "orphans_older_than", "max_size", "images", "dry_run"])]
    adopt_database: bool,
    /// Only say what would be removed.
    #[arg(long)]
    dry_run: bool,
    /// Remove images with baked-in packages too that were not used for that long; needs Docker.
    #[arg(long)]
    images: bool,
    #[command(flatten)]
    store: StoreOption,
}

/// The shortest age of evidence without an experiment that is removed: what is being written now is never that old.
const YOUNGEST_ORPHAN: Duration = Duration::from_secs(24 * 60 * 60);

/// Data that can be removed.
struct Refuse {
    experiments: Vec<ExperimentId>,
    /// Experiments that are not kept, and still have evidence.
    orphans: Vec<ExperimentId>,
    /// Unpacked files of specs that nothing uses.
    bundles: Vec<PathBuf>,
    /// Replies of judges that were kept that long ago.
    judgements: Vec<PathBuf>,
    /// The versions of specs that nothing will use.
    specs: Vec<String>,
    bytes: u64,
}

impl Gc {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        Runtime::new()?.block_on(self.collect(output))
    }

    async fn collect(&self, output: &mut Output) -> Result<Exit, CommandError> {
        let (before, orphans_before) = (self.before()?, self.orphans_before()?);
        if self.adopt_database {
            return self.adopt_database(output).await;
        }
        let home = self.store.open_shared().await?;
        if self.adopt_artifacts {
            return adopt_artifacts(&home.store, output).await;
        }
        home.store.require_own_artifacts().await?;
        let garbage = Garbage { before, keep: self.keep.into(), most_bytes: self.max_size };
        let refuse = refuse(&home.store, &home.data_dir, garbage, orphans_before).await?;
        if self.dry_run {
            return self.list(&home.store, &refuse, output).await;
        }
        let removed = home.store.collect(&refuse.experiments).await?;
        let orphans = match orphans_before {
            Some(before) => home.store.remove_orphans(before).await?,
            None => 0,
        };
        // Asked again: somebody may have submitted an old spec meanwhile.
        let mut used: HashSet<_> = home.store.digests().await?.into_iter().map(|(_, digest)| digest).collect();
        used.extend(home.store.sandbox_digests().await?);
        for folder in refuse.bundles.iter().filter(|folder| !used.iter().any(|digest| folder.ends_with(digest))) {
            remove(folder)?;
        }
        for reply in &refuse.judgements {
            // Another process may have been faster.
            let _ = fs::remove_file(reply);
        }
        self.prune(&home.store, before, output).await?;
        output.line(format!(
            "removed {}, {}, {}, {} and {}: {} of files",
            count_noun(removed.experiments, "experiment"),
            count_noun(orphans, "orphaned folder"),
            count_noun(removed.specs, "version") + " of specs",
            count_noun(refuse.bundles.len(), "unpacked bundle"),
            judgements(&refuse),
            size(refuse.bytes)
        ))?;
        if self.images {
            self.evict(&home.data_dir, output).await?;
        }
        Ok(Exit::Passed)
    }

    /// Assigns the database to this machine.
    async fn adopt_database(&self, output: &mut Output) -> Result<Exit, CommandError> {
        let (_, before) = self.store.open_moved().await?;
        output.line(match before {
            Some(machine) => format!("the database belongs to this machine now, and no longer to `{machine}`"),
            None => "the database belongs to this machine now".to_owned(),
        })?;
        Ok(Exit::Passed)
    }

    /// Removes what servers keep for some time only.
    async fn prune(&self, store: &Store, before: Timestamp, output: &mut Output) -> Result<(), CommandError> {
        let prune = Prune { before, traces_before: before, traces_of_owner: u64::MAX, traces_of_sandbox: u64::MAX };
        let pruned = store.prune(prune).await?;
        let bundles = store.prune_bundles(before).await?;
        if pruned == Pruned::default() && bundles == 0 {
            return Ok(());
        }
        output.line(format!(
            "removed {}, {}, {}, {} and {} of a server",
            count_noun(pruned.traces, "trace"),
            count_noun(pruned.sandboxes, "row") + " of sandboxes",
            count_noun(pruned.deliveries, "message"),
            count_noun(bundles, "unused agent"),
            count_noun(pruned.replies, "kept request"),
        ))
    }

    fn before(&self) -> Result<Timestamp, CommandError> {
        ago("--older-than", self.older_than)
    }

    /// Since when evidence that belongs to no experiment was not written to, when such evidence is to go.
    fn orphans_before(&self) -> Result<Option<Timestamp>, CommandError> {
        match self.orphans_older_than {
            Some(age) if age < YOUNGEST_ORPHAN => Err(CommandError::Usage(
                "--orphans-older-than is less than 1d: younger evidence may still be written to; give 1d or more"
                    .to_owned(),
            )),
            age => age.map(|age| ago("--orphans-older-than", age)).transpose(),
        }
    }

    /// Lists the data that would be removed.
    async fn list(&self, store: &Store, refuse: &Refuse, output: &mut Output) -> Result<Exit, CommandError> {
        for id in &refuse.experiments {
            let experiment = store.experiment(*id).await?;
            let spec = &experiment.spec;
            output.line(format!(
                "experiment {id} {} v{} {}",
                spec.spec_id,
                spec.version,
                second(experiment.created_at)
            ))?;
        }
        for id in &refuse.orphans {
            output.line(format!("orphaned   {}", store.evidence_place(*id)))?;
        }
        for digest in &refuse.specs {
            output.line(format!("spec       {digest}"))?;
        }
        for folder in &refuse.bundles {
            output.line(format!("bundle     {}", folder.display()))?;
        }
        output.line(format!(
            "would remove {}, {}, {}, {} and {}: {} of files",
            count_noun(refuse.experiments.len(), "experiment"),
            count_noun(refuse.orphans.len(), "orphaned folder"),
            count_noun(refuse.specs.len(), "version") + " of specs",
            count_noun(refuse.bundles.len(), "unpacked bundle"),
            judgements(refuse),
            size(refuse.bytes)
        ))?;
        if self.images {
            output.line("images are not looked at in a dry run")?;
        }
        Ok(Exit::Passed)
    }

    async fn evict(&self, data_dir: &DataDir, output: &mut Output) -> Result<(), CommandError> {
        let backend = docker(data_dir).await?;
        let evicted = backend.evict(self.older_than).await;
        let evicted = evicted
            .map_err(|error| CommandError::Infrastructure(format!("not all images could be removed: {error}")))?;
        for image in &evicted {
            output.line(format!("image      {image}"))?;
        }
        output.line(format!("removed {}", count_noun(evicted.len(), "image")))
    }
}

/// Returns the time that lies this long in the past.
fn ago(option: &str, age: Duration) -> Result<Timestamp, CommandError> {
    let too_long = |_| CommandError::Usage(format!("{option} is longer than time itself"));
    SystemClock.now().checked_sub(age).map_err(too_long)
}

/// Assigns the artifact storage to this database.
async fn adopt_artifacts(store: &Store, output: &mut Output) -> Result<Exit, CommandError> {
    let before = store.adopt_artifacts().await?;
    let place = store.artifacts().whole_place();
    output.line(match before {
        Some(owner) => format!("`{place}` belongs to this database now, and no longer to {owner}"),
        None => format!("`{place}` belongs to this database now"),
    })?;
    Ok(Exit::Passed)
}

async fn refuse(
    store: &Store,
    data_dir: &DataDir,
    garbage: Garbage,
    orphans_before: Option<Timestamp>,
) -> Result<Refuse, CommandError> {
    // Listed before the rows are read: what is unpacked meanwhile is not in the list.
    let unpacked = unpacked(data_dir)?;
    let mut experiments = Vec::new();
    for experiment in store.garbage(garbage).await? {
        if !is_in_use(store, data_dir, experiment).await? {
            experiments.push(experiment);
        }
    }
    let going: HashSet<_> = experiments.iter().copied().collect();
    let uses = store.digests().await?;
    let staying = uses.into_iter().filter(|(experiment, _)| !going.contains(experiment));
    let mut staying: HashSet<String> = staying.map(|(_, digest)| digest).collect();
    staying.extend(store.sandbox_digests().await?);
    let specs = store.kept_specs().await?.into_iter().filter(|digest| !staying.contains(digest)).collect();
    let bundles = data_dir.path().join("bundles");
    let unused = unpacked.iter().filter(|digest| !staying.contains(*digest));
    let bundles: Vec<_> = unused.map(|digest| bundle_folder(&bundles, digest)).collect();
    let orphans = match orphans_before {
        Some(before) => store.orphans(before).await?,
        None => Vec::new(),
    };
    let mut evidence = 0;
    for id in experiments.iter().chain(&orphans) {
        evidence += store.evidence_bytes(*id).await?;
    }
    let judgements = old_files(&machine::judgements(data_dir), garbage.before);
    let files = bundles.iter().chain(&judgements).map(|path| bytes(path));
    let bytes = evidence + files.sum::<u64>();
    Ok(Refuse { experiments, orphans, bundles, judgements, specs, bytes })
}

/// Returns true if a process that ran the experiment still lives: it is about to report the outcome.
async fn is_in_use(store: &Store, data_dir: &DataDir, experiment: ExperimentId) -> Result<bool, CommandError> {
    let runs = store.runs(experiment).await?;
    Ok(runs.iter().any(|run| match run.lane {
        Lane::Shared => false,
        Lane::Own(owner) => life_of(data_dir, owner).is_ok_and(|life| life != Life::Gone),
    }))
}

/// The digests of specs whose files are unpacked.
fn unpacked(data_dir: &DataDir) -> Result<Vec<String>, CommandError> {
    let folder = data_dir.path().join("bundles");
    let unreadable =
        |error: io::Error| CommandError::Infrastructure(format!("cannot list `{}`: {error}", folder.display()));
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(unreadable)?,
    };
    let names: Result<Vec<_>, _> = entries.map(|entry| Ok(entry?.file_name())).collect();
    let mut names: Vec<_> = names.map_err(unreadable)?.into_iter().filter_map(|name| name.into_string().ok()).collect();
    names.sort();
    Ok(names)
}

fn remove(folder: &Path) -> Result<(), CommandError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(CommandError::Infrastructure(format!("cannot remove `{}`: {error}", folder.display())))
        }
        _ => Ok(()),
    }
}

/// The files of a folder that were written before a time.
fn old_files(folder: &Path, before: Timestamp) -> Vec<PathBuf> {
    let is_old = |entry: &walkdir::DirEntry| {
        let written = entry.metadata().ok().and_then(|file| Timestamp::try_from(file.modified().ok()?).ok());
        entry.file_type().is_file() && written.is_some_and(|written| written < before)
    };
    let entries = WalkDir::new(folder).into_iter().filter_map(Result::ok);
    entries.filter(is_old).map(walkdir::DirEntry::into_path).collect()
}

fn judgements(refuse: &Refuse) -> String {
    match refuse.judgements.len() {
        1 => "1 reply of judges".to_owned(),
        replies => format!("{replies} replies of judges"),
    }
}

/// Returns the size of all files of a folder, in bytes.
fn bytes(folder: &Path) -> u64 {
    let files = WalkDir::new(folder).into_iter().filter_map(Result::ok).filter(|entry| entry.file_type().is_file());
    files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}
