//! `touchstone images`: images for a machine without a registry.

use std::cell::RefCell;
use std::error::Error;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use comfy_table::{ContentArrangement, Table};
use engine::backend::docker::build::{self, BuildOptions, Built, Progress, State};
use engine::data_dir::DataDir;
use engine::images::recipe::{all, find};
use engine::images::{Aliases, Recipe};
use tokio::signal::unix::{SignalKind, signal};

use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::table::table;
use crate::whole_number::whole_number;

/// Make images that stand in for well-known ones, on a machine that cannot pull those.
#[derive(Debug, Args)]
pub(crate) struct Images {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Build(Build),
    List(List),
}

/// Make the images from Debian packages, and use them where a spec names an image that cannot be had.
#[derive(Debug, Args)]
struct Build {
    /// Which ones, such as `postgres`; all of them without it.
    names: Vec<String>,
    /// Make them again even when they are up to date.
    #[arg(long)]
    force: bool,
    /// Write the system of one image to this file, for `--rootfs`, instead of giving it to a Docker engine.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["force", "parallel"])]
    tar: Option<PathBuf>,
    /// How many are made at once.
    #[arg(long, default_value_t = BuildOptions::default().parallel, value_parser = whole_number::<usize>)]
    parallel: usize,
    #[command(flatten)]
    data_dir: DataDirArgument,
}

/// Show the images that can be made, which of them are there, and what they stand in for.
#[derive(Debug, Args)]
struct List {
    #[command(flatten)]
    data_dir: DataDirArgument,
}

/// Where Touchstone keeps its things.
#[derive(Debug, Args)]
struct DataDirArgument {
    /// The folder in which Touchstone keeps its things; without it, that of `TOUCHSTONE_DATA_DIR`, or the usual place for state.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

impl DataDirArgument {
    fn resolve(self) -> Result<DataDir, CommandError> {
        DataDir::resolve(self.data_dir)
            .map_err(|error| CommandError::Infrastructure(format!("cannot use the data directory: {error}")))
    }
}

impl Images {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| infrastructure(&error))?;
        runtime.block_on(async {
            match self.command {
                Command::Build(command) => until_interrupted(command.run(output)).await,
                Command::List(command) => until_interrupted(command.run(output)).await,
            }
        })
    }
}

/// Does the work, unless a signal ends the program first; dropping the work undoes what is not finished.
async fn until_interrupted(work: impl Future<Output = Result<Exit, CommandError>>) -> Result<Exit, CommandError> {
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| infrastructure(&error))?;
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| infrastructure(&error))?;
    tokio::select! {
        result = work => result,
        _ = interrupt.recv() => Ok(Exit::Interrupted),
        _ = terminate.recv() => Ok(Exit::Interrupted),
    }
}

impl Build {
    async fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let recipes = recipes(&self.names)?;
        if let Some(file) = &self.tar {
            return write(&recipes, file, output).await;
        }
        let options = BuildOptions { force: self.force, parallel: self.parallel };
        let data_dir = self.data_dir.resolve()?;
        let mut aliases = Aliases::read(&data_dir).map_err(|error| infrastructure(&error))?;
        let docker = build::connect().await.map_err(|error| infrastructure(&error))?;
        let built = {
            let shared = RefCell::new(&mut *output);
            // A line that cannot be shown is no reason to stop.
            let show = |progress| drop(shared.borrow_mut().line(line(&progress)));
            build::build_images(&docker, &recipes, options, &show).await.map_err(|error| infrastructure(&error))?
        };
        let changed: usize = recipes.iter().map(|recipe| aliases.register(recipe)).sum();
        if changed > 0 {
            aliases.write().map_err(|error| infrastructure(&error))?;
        }
        output.line(summary(&recipes, &built).to_string())?;
        Ok(Exit::Passed)
    }
}

/// Writes the system of one image to a file.
async fn write(recipes: &[Recipe], file: &Path, output: &mut Output) -> Result<Exit, CommandError> {
    let [recipe] = recipes else {
        return Err(CommandError::Usage(
            "`--tar` takes one image: name it, such as `touchstone images build debian --tar debian.tar`".to_owned(),
        ));
    };
    output.line(line(&Progress::Started { name: recipe.name }))?;
    let bytes = build::write_archive(recipe, file).await.map_err(|error| infrastructure(&error))?;
    let path = file.display();
    output.line(format!("wrote      {path}, {}: use it with `--backend local --rootfs {path}`", megabytes(bytes)))?;
    Ok(Exit::Passed)
}

impl List {
    async fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let data_dir = self.data_dir.resolve()?;
        let aliases = Aliases::read(&data_dir).map_err(|error| infrastructure(&error))?;
        let docker = build::connect().await.map_err(|error| infrastructure(&error))?;
        let mut table = wide(&["image", "state", "size", "used for"]);
        for recipe in all() {
            let state = build::state(&docker, recipe).await.map_err(|error| infrastructure(&error))?;
            let (state, size) = describe(state);
            let names = recipe.stands_in_for.iter().filter(|name| aliases.resolve(name) == Some(recipe.name));
            let names: Vec<_> = names.copied().collect();
            table.add_row([recipe.name.to_owned(), state.to_owned(), size, names.join(" ")]);
        }
        output.line(table.to_string())?;
        output.line("make or renew them with: touchstone images build")?;
        Ok(Exit::Passed)
    }
}

/// The recipes that were asked for, each once.
fn recipes(names: &[String]) -> Result<Vec<Recipe>, CommandError> {
    let wanted = names.iter().map(|name| find(name).ok_or_else(|| unknown(name)));
    let wanted: Vec<_> = wanted.collect::<Result<_, _>>()?;
    Ok(all().iter().filter(|recipe| names.is_empty() || wanted.contains(recipe)).copied().collect())
}

fn unknown(name: &str) -> CommandError {
    let names: Vec<_> = all().iter().map(Recipe::short_name).collect();
    CommandError::Usage(format!("there is no recipe for `{name}`; there are {}", names.join(", ")))
}

fn line(progress: &Progress) -> String {
    match progress {
        Progress::Started { name } => format!("making     {name}"),
        Progress::Finished(Built { name, took: None, .. }) => format!("up to date {name}"),
        Progress::Finished(Built { name, took: Some(took), size_bytes }) => {
            format!("made       {name} in {}, {}", seconds(*took), megabytes(*size_bytes))
        }
    }
}

fn summary(recipes: &[Recipe], built: &[Built]) -> Table {
    let mut table = wide(&["image", "size", "time", "what it is", "used for"]);
    for (recipe, built) in recipes.iter().zip(built) {
        let time = built.took.map_or_else(|| "-".to_owned(), seconds);
        let size = megabytes(built.size_bytes);
        let names = recipe.stands_in_for.join(" ");
        table.add_row([recipe.name.to_owned(), size, time, recipe.description.to_owned(), names]);
    }
    table
}

/// Width of a table.
const WIDTH: u16 = 120;

fn wide(header: &[&str]) -> Table {
    let mut table = table(header.iter().copied());
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    table
}

fn describe(state: State) -> (&'static str, String) {
    match state {
        State::Missing => ("missing", "-".to_owned()),
        State::Outdated { size_bytes } => ("outdated", megabytes(size_bytes)),
        State::Current { size_bytes } => ("current", megabytes(size_bytes)),
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}

/// An error with its causes, as something that is wrong with the machine.
fn infrastructure(error: &(dyn Error + 'static)) -> CommandError {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    let message = causes.fold(error.to_string(), |message, cause| {
        let cause = cause.to_string();
        if message.contains(&cause) { message } else { format!("{message}: {cause}") }
    });
    CommandError::Infrastructure(message)
}
