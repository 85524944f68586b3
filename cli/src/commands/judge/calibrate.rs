//! `touchstone judge calibrate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use engine::judges::judge_kept;
use engine::machine::Machine;
use scenario::evidence::{Answer, Evidence};
use scenario::judge_calibration::{self, Calibration, JudgedOutput, Unasked};
use store::{JudgedOutputs, Run, Store, StoredScenario};
use tokio::runtime::Runtime;

use super::{label_file, labels, place};
use crate::ci_commands::Form;
use crate::data_dir::StoreOption;
use crate::exit_code::Exit;
use crate::machine::ModelOptions;
use crate::output::{CommandError, Output};

/// Compare the judges of a run with people.
///
/// Shows for each judged invariant how far the judge and people agree (the share, and Cohen's κ), where they do not, and which
/// threshold would agree best. The judge's replies are those that are kept; no model is asked unless `--ask` says so. The exit
/// code is 0 whatever comes of it.
#[derive(Debug, Args)]
pub(super) struct Calibrate {
    /// EXPERIMENT, EXPERIMENT#RUN, or a SPEC, whose newest experiment is meant.
    #[arg(value_name = "SPEC|EXPERIMENT")]
    what: String,
    /// The labels: YAML, JSON, JSON lines or CSV. Without it, those that people gave on the experiment's page or imported.
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Ask models for the scores that are not kept. It may cost money, and what they say is not kept with the experiment.
    #[arg(long)]
    ask: bool,
    /// The format.
    #[arg(long, value_enum, default_value_t = CalibrationFormat::Text)]
    format: CalibrationFormat,
    #[command(flatten)]
    models: ModelOptions,
    #[command(flatten)]
    store: StoreOption,
}

/// A format of a calibration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CalibrationFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl Calibrate {
    pub(super) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let given = match &self.labels {
            Some(path) => match label_file::read(path, output)? {
                Some(given) => Some(given),
                None => return Ok(Exit::Usage),
            },
            None => None,
        };
        Runtime::new()?.block_on(async {
            let home = self.store.open().await?;
            let (_, run) = place::find(&home.store, &self.what).await?;
            let machine = match self.ask {
                true => Some(self.models.machine(&home.data_dir)?),
                false => None,
            };
            let outputs = outputs(&home.store, &run, machine.as_ref()).await?;
            let labels = match given {
                Some(given) => given,
                None => labels::kept(&home.store, &run).await?,
            };
            let calibration = judge_calibration::calibrate(&outputs, &labels);
            require_some(&calibration, outputs.len(), labels.len())?;
            self.show(&calibration, output)
        })
    }

    fn show(&self, calibration: &Calibration, output: &mut Output) -> Result<Exit, CommandError> {
        match self.format {
            CalibrationFormat::Text => output.line(judge_calibration::text(calibration).trim_end())?,
            CalibrationFormat::Json => {
                let json = serde_json::to_string_pretty(calibration).map_err(std::io::Error::from)?;
                output.document(&json, Form::Json)?;
            }
        }
        let unscored: usize = calibration.invariants.iter().map(|invariant| invariant.unscored).sum();
        if unscored > 0 && !self.ask {
            output.note("some outputs have no score that is kept: `--ask` asks their judges again");
        }
        Ok(Exit::Passed)
    }
}

/// Says what is missing when there is nothing to compare.
fn require_some(calibration: &Calibration, outputs: usize, labels: usize) -> Result<(), CommandError> {
    let problem = match (outputs, labels) {
        (0, _) => "no judge rates an output of this run, or its evidence is gone",
        (_, 0) => {
            "there is no label: label outputs on the experiment's page (`touchstone serve`), or give `--labels FILE`"
        }
        _ if calibration.invariants.is_empty() => {
            "no label is about an output of this run: look at `experiment`, `scenario` and `invariant` of the labels"
        }
        _ => return Ok(()),
    };
    Err(CommandError::Usage(problem.to_owned()))
}

/// All outputs of a run that judges rate, in the order of the plan.
async fn outputs(store: &Store, run: &Run, machine: Option<&Machine>) -> Result<Vec<JudgedOutput>, CommandError> {
    let reading = store.judged_outputs(run).await?;
    let mut outputs = Vec::new();
    for stored in store.scenarios(run.id).await? {
        let Some(mut evidence) = reading.evidence(store, &stored).await? else { continue };
        if let Some(machine) = machine {
            ask(machine, &reading, &stored, &mut evidence).await;
        }
        outputs.extend(reading.within(&stored, &evidence));
    }
    Ok(outputs)
}

/// Asks for the scores that a scenario lacks.
async fn ask(machine: &Machine, reading: &JudgedOutputs, stored: &StoredScenario, evidence: &mut Evidence) {
    for Unasked { invariant, requests, timeout } in reading.unasked(stored, evidence) {
        let replies = judge_kept(machine, requests, evidence.marker_key.clone(), timeout).await;
        let answers = evidence.answers.entry(invariant).or_default();
        answers.retain(|answer| !matches!(answer, Answer::Judge(_)));
        answers.extend(replies.into_iter().map(Answer::Judge));
    }
}
