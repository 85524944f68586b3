//! `touchstone baseline`: the runs that later ones are compared with, by name.

mod list;
mod rm;
mod save;
mod show;

use clap::{Args, Subcommand, ValueEnum};
use scenario::baseline::{BaselineName, BaselineNameError};
use scenario::untrusted;
use serde_json::Value as Json;

use crate::baselines::BaselinePlace;
use crate::client::MaybeServer;
use crate::data_dir::StoreOption;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Keep runs by name, for later ones to be compared with.
///
/// A baseline has one run of each spec, as a copy that outlives its experiment: no retention removes it. It is never replaced
/// by a run that failed, is incomplete or is smaller, unless by force. A branch has a line of its own of each baseline,
/// `NAME@BRANCH`; where it kept nothing of a spec, the baseline itself counts. With a URL, those of that server are meant.
#[derive(Debug, Args)]
pub(crate) struct Baseline {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Save(save::Save),
    List(list::List),
    Show(show::Show),
    Rm(rm::Rm),
}

/// A baseline, and its place.
#[derive(Debug, Args)]
struct Meant {
    /// Its name, such as `main`; `NAME@BRANCH` is what a branch has of it.
    #[arg(value_name = "NAME")]
    name: BaselineName,
    /// The branch; the same as `NAME@BRANCH`.
    #[arg(long, env = "TOUCHSTONE_BRANCH", value_name = "BRANCH")]
    branch: Option<String>,
    #[command(flatten)]
    place: PlaceOptions,
}

/// The place of baselines.
#[derive(Debug, Args)]
struct PlaceOptions {
    #[command(flatten)]
    server: MaybeServer,
    #[command(flatten)]
    store: StoreOption,
}

/// The form in which baselines are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BaselineFormat {
    /// For people.
    Text,
    /// JSON, as the API has it.
    Json,
}

impl Baseline {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        match self.action {
            Action::Save(save) => save.run(output),
            Action::List(list) => list.run(output),
            Action::Show(show) => show.run(output),
            Action::Rm(rm) => rm.run(output),
        }
    }
}

impl Meant {
    /// The name with the branch.
    fn name(&self) -> Result<BaselineName, CommandError> {
        let branch = self.name.branch().or(self.branch.as_deref().filter(|branch| !branch.is_empty()));
        BaselineName::new(self.name.name(), branch).map_err(|error: BaselineNameError| CommandError::usage(error))
    }
}

impl PlaceOptions {
    async fn open(&self) -> Result<BaselinePlace, CommandError> {
        BaselinePlace::open(&self.server, &self.store).await
    }
}

/// A text or number of a line, safe to show.
fn text(line: &Json, field: &str) -> String {
    match &line[field] {
        Json::String(text) => untrusted::line(text, 200),
        Json::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

/// The name of the baseline that a line belongs to, with its branch.
fn name(line: &Json) -> String {
    match line["branch"].as_str() {
        Some(branch) => format!("{}@{}", text(line, "name"), untrusted::line(branch, 200)),
        None => text(line, "name"),
    }
}

/// The run that a line was: `EXPERIMENT#RUN`.
fn run(line: &Json) -> String {
    match line["run"].as_u64() {
        Some(run) if run > 1 => format!("{}#{run}", text(line, "experiment_id")),
        _ => text(line, "experiment_id"),
    }
}
