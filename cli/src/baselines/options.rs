//! The options of a pipeline about baselines: one to compare with, and one to keep.

use clap::Args;
use scenario::baseline::{BaselineName, BaselineNameError};
use scenario::count_noun;
use scenario::report::{Report, Reports};
use store::SaveTerms;
use tokio::runtime::Runtime;

use super::{BaselineChoice, BaselinePlace, Kept, from_file, missing};
use crate::client::Server;
use crate::data_dir::StoreOption;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// The baselines of a pipeline: one to compare with, and one to keep.
#[derive(Debug, Clone, Args)]
pub(crate) struct BaselineOptions {
    /// A baseline to compare with: the report of an earlier run, written with `-o FILE.json`, or the name of a baseline that is kept
    /// (`touchstone baseline save NAME`), here or by the server.
    #[arg(long, env = "TOUCHSTONE_BASELINE", value_name = "FILE|NAME")]
    baseline: Option<BaselineChoice>,
    /// The branch whose line of a named baseline is meant; where it kept nothing of a spec, the baseline itself counts.
    #[arg(long, env = "TOUCHSTONE_BRANCH", value_name = "BRANCH")]
    branch: Option<String>,
    /// Go on without a baseline when there is none yet, as on the first run of a pipeline.
    #[arg(long)]
    allow_missing_baseline: bool,
    /// Keep this run as the baseline of this name once it has passed. One that is smaller than what is kept is refused, and
    /// makes the exit code 1.
    #[arg(long, value_name = "NAME")]
    save_baseline: Option<BaselineName>,
}

/// The place of the named baselines of a pipeline: a server, or this machine.
pub(crate) struct PlaceOf<'a> {
    /// The server that runs everything, if one does.
    pub(crate) server: Option<Server>,
    /// The store of this machine.
    pub(crate) store: &'a StoreOption,
}

impl BaselineOptions {
    /// The file that is compared with, if it is one.
    pub(crate) fn file(&self) -> Option<&std::path::Path> {
        self.baseline.as_ref().and_then(BaselineChoice::file)
    }

    /// Compares with the baseline that a suite names, unless another is given.
    pub(crate) fn use_of_suite(&mut self, named: &str) -> Result<(), BaselineNameError> {
        if self.baseline.is_none() {
            self.baseline = Some(named.parse()?);
        }
        Ok(())
    }

    /// Reads the baseline, and gives its name with it.
    pub(crate) fn read(
        &self,
        place: PlaceOf<'_>,
        output: &mut Output,
    ) -> Result<Option<(String, Vec<Report>)>, CommandError> {
        let Some(choice) = self.choice()? else { return Ok(None) };
        let found = match &choice {
            BaselineChoice::File(path) if path.exists() => Some(from_file(path)?),
            BaselineChoice::File(_) => None,
            BaselineChoice::Named(name) => {
                let read = async { BaselinePlace::of(place.server, place.store).await?.reports(name).await };
                Runtime::new()?.block_on(read)?
            }
        };
        match found {
            Some(reports) => Ok(Some((choice.to_string(), reports))),
            None if self.allow_missing_baseline => {
                output.note(format!("there is no baseline `{}` yet: nothing is compared", choice.shown()));
                Ok(None)
            }
            None => Err(absent(&choice)),
        }
    }

    /// Stores the reports as the named baseline, if one is named and the run passed. When the baseline is refused, the
    /// exit code is 1.
    pub(crate) fn keep(
        &self,
        exit: Exit,
        reports: &Reports,
        place: PlaceOf<'_>,
        output: &mut Output,
    ) -> Result<Exit, CommandError> {
        let Some(name) = &self.save_baseline else { return Ok(exit) };
        if exit != Exit::Passed {
            output.note(format!("the baseline `{name}` stays as it is, because this run did not pass"));
            return Ok(exit);
        }
        let name = self.named(name).map_err(CommandError::usage)?;
        // What failed, and passed the gate all the same, is in quarantine.
        let terms = SaveTerms { passed_gate: reports.quarantine.is_some(), ..SaveTerms::default() };
        let save = async {
            BaselinePlace::of(place.server, place.store).await?.save(&name, reports.reports.clone(), &terms).await
        };
        match Runtime::new()?.block_on(save)? {
            Kept::Lines(lines) => {
                output.note(format!("kept {} as the baseline `{name}`", count_noun(lines.len(), "run")));
                Ok(exit)
            }
            Kept::Refused(reasons) => {
                output.note(format!(
                    "problem: the baseline `{name}` stays as it is: {reasons}; `touchstone baseline save {name} --force` replaces it all the same"
                ));
                Ok(Exit::Failed)
            }
        }
    }

    /// The baseline that is compared with, on the branch that is meant.
    fn choice(&self) -> Result<Option<BaselineChoice>, CommandError> {
        let choice = self.baseline.clone().map(|choice| choice.of_branch(self.branch()));
        choice.transpose().map_err(CommandError::usage)
    }

    /// The name on the branch that is meant.
    fn named(&self, name: &BaselineName) -> Result<BaselineName, BaselineNameError> {
        BaselineName::new(name.name(), name.branch().or(self.branch()))
    }

    fn branch(&self) -> Option<&str> {
        self.branch.as_deref().filter(|branch| !branch.is_empty())
    }
}

/// Returns the error for a missing baseline.
fn absent(choice: &BaselineChoice) -> CommandError {
    match choice {
        BaselineChoice::Named(name) => missing(name),
        BaselineChoice::File(path) => CommandError::Usage(format!(
            "there is no baseline `{}`; `--allow-missing-baseline` goes on without one, `-o FILE.json` writes one, and a name such as `main` means one that `touchstone baseline save` keeps",
            path.display()
        )),
    }
}
