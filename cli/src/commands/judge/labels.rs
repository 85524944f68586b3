//! `touchstone judge labels`: labels between files and the history.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use scenario::count_noun;
use scenario::judge_calibration::{HumanLabel, Label, labels_as_lines};
use store::{Clock as _, Ids as _, LabelFilter, NewLabel, Page, Run, Store, StoredLabel, experiment_name};
use tokio::runtime::Runtime;
use worker::RandomIds;

use super::{label_file, place};
use crate::ci_commands::Form;
use crate::clock::SystemClock;
use crate::data_dir::StoreOption;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// The name of who labels where a file does not say it.
const NOBODY: &str = "unknown";

/// Move labels between files and the history.
#[derive(Debug, Subcommand)]
pub(super) enum Labels {
    Export(Export),
    Import(Import),
}

/// Write the labels of a run as JSON lines.
#[derive(Debug, Args)]
pub(super) struct Export {
    /// EXPERIMENT, EXPERIMENT#RUN, or a SPEC, whose newest experiment is meant.
    #[arg(value_name = "SPEC|EXPERIMENT")]
    what: String,
    #[command(flatten)]
    store: StoreOption,
}

/// Keep the labels of a file beside a run, as its page does.
///
/// A label of the same person about the same output replaces the one that is there. All are kept, or none.
#[derive(Debug, Args)]
pub(super) struct Import {
    /// EXPERIMENT, EXPERIMENT#RUN, or a SPEC, whose newest experiment is meant.
    #[arg(value_name = "SPEC|EXPERIMENT")]
    what: String,
    /// The labels: YAML, JSON, JSON lines or CSV.
    #[arg(long, value_name = "FILE")]
    labels: PathBuf,
    #[command(flatten)]
    store: StoreOption,
}

impl Labels {
    pub(super) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        match self {
            Self::Export(export) => export.run(output),
            Self::Import(import) => import.run(output),
        }
    }
}

impl Export {
    fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        Runtime::new()?.block_on(async {
            let store = self.store.open().await?.store;
            let (_, run) = place::find(&store, &self.what).await?;
            let lines = labels_as_lines(&kept(&store, &run).await?);
            if !lines.is_empty() {
                output.document(lines.trim_end(), Form::Json)?;
            }
            Ok(Exit::Passed)
        })
    }
}

impl Import {
    fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let Some(labels) = label_file::read(&self.labels, output)? else { return Ok(Exit::Usage) };
        Runtime::new()?.block_on(async {
            let store = self.store.open().await?.store;
            let (_, run) = place::find(&store, &self.what).await?;
            let labels = checked(&store, &run, labels).await?;
            let number = store.keep_labels(&labels, SystemClock.now()).await?;
            output.line(format!("kept {} of {}", count_noun(number, "label"), run.id.experiment))?;
            Ok(Exit::Passed)
        })
    }
}

/// The labels that are kept for the run that acted, oldest first.
pub(super) async fn kept(store: &Store, run: &Run) -> Result<Vec<Label>, CommandError> {
    let acted = store.acted(run).await?.id;
    let filter = LabelFilter { owner: None, experiment: Some(acted.experiment), run: Some(acted.number) };
    let mut labels: Vec<_> = store.labels(filter, Page::ALL).await?.items.into_iter().filter_map(read).collect();
    labels.reverse();
    Ok(labels)
}

fn read(stored: StoredLabel) -> Option<Label> {
    let new = stored.new;
    Some(Label {
        experiment: Some(experiment_name(new.run)),
        scenario: new.scenario,
        invariant: new.invariant,
        label: HumanLabel::read(&new.label)?,
        by: new.person,
        note: new.note,
    })
}

/// The labels to keep. One that is about nothing of this run is refused, with all others.
async fn checked(store: &Store, run: &Run, labels: Vec<Label>) -> Result<Vec<NewLabel>, CommandError> {
    let reading = store.judged_outputs(run).await?;
    let (experiment, mut new) = (reading.experiment(), Vec::new());
    let scenarios = store.scenarios(run.id).await?;
    for label in labels {
        let of_other = label.experiment.as_ref().filter(|named| **named != experiment);
        let stored = scenarios.iter().find(|stored| stored.scenario.id.as_str() == label.scenario);
        let is_judged = stored.is_some_and(|stored| reading.judges_of(stored).contains(&label.invariant));
        if let Some(other) = of_other {
            return Err(CommandError::Usage(format!(
                "a label is of the experiment `{other}`, and not of `{experiment}`"
            )));
        }
        if !is_judged {
            let Label { scenario, invariant, .. } = &label;
            let problem = format!("a label is about `{scenario}/{invariant}`, and no judge of this run rates that");
            return Err(CommandError::Usage(problem));
        }
        new.push(NewLabel {
            id: format!("lb_{}", RandomIds.hex(12)),
            run: reading.acted,
            scenario: label.scenario,
            invariant: label.invariant,
            label: label.label.to_string(),
            person: if label.by.is_empty() { NOBODY.to_owned() } else { label.by },
            note: label.note,
        });
    }
    Ok(new)
}
