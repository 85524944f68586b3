//! `touchstone compare`: what became worse since a baseline.

use std::path::Path;

use clap::{Args, ValueEnum};
use scenario::baseline::BaselineName;
use scenario::regression::RunComparison;
use scenario::report::{Report, markdown_comparison, terminal_comparison};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::baselines::{BaselinePlace, from_file, missing};
use crate::client::MaybeServer;
use crate::data_dir::StoreOption;
use crate::exit_code::Exit;
use crate::gate_options::GateOptions;
use crate::output::{CommandError, Output};
use crate::reference::Reference;
use crate::table::table;

/// The beginning of a word that names a baseline.
const BASELINE: &str = "baseline:";

/// Compare two experiments, cell by cell and invariant by invariant.
///
/// A drop of a pass rate is a regression when chance is an unlikely reason for it (Boschloo's exact test, at 5 %, corrected for the
/// number of comparisons); otherwise it is called insufficient evidence, with the number of replicas that would tell. All specs
/// together are worse, better, equivalent or inconclusive against a margin. The exit code is 1 when anything has regressed, or is
/// missing although the baseline has it.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// What was before: EXPERIMENT or EXPERIMENT#RUN, such as `latest~1`; a report that was written with `-o FILE.json`; or
    /// `baseline:NAME` for a baseline that is kept. Of a baseline, the specs that the other side has are compared.
    baseline: String,
    /// What is now, likewise.
    #[arg(default_value = "latest")]
    candidate: String,
    /// How to show it.
    #[arg(long, value_enum, default_value_t = CompareFormat::Text)]
    format: CompareFormat,
    #[command(flatten)]
    gate: GateOptions,
    /// Pass also when specs, cells or invariants of the baseline are missing.
    #[arg(long)]
    allow_removed: bool,
    #[command(flatten)]
    server: MaybeServer,
    #[command(flatten)]
    store: StoreOption,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CompareFormat {
    /// For people.
    Text,
    /// One JSON object.
    Json,
    /// For a comment on a pull request.
    Markdown,
}

impl Compare {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let gate = self.gate.gate()?;
        let (baseline, candidate) = Runtime::new()?.block_on(async {
            Ok::<_, CommandError>((self.reports(&self.baseline).await?, self.reports(&self.candidate).await?))
        })?;
        self.require_two(&baseline, &candidate)?;
        let (baseline, candidate) = self.of_the_same_specs(baseline, candidate);
        let comparison = RunComparison::gated(&self.baseline, &baseline, &candidate, &gate);
        let comparison = if self.allow_removed { comparison } else { comparison.without_removal() };
        match self.format {
            CompareFormat::Text => output.report(text(&comparison).trim_end())?,
            CompareFormat::Json => {
                let (regressed, summary) = (comparison.regressed(), comparison.summary());
                let value = json!({ "regressed": regressed, "summary": summary, "details": comparison });
                output.json(&value)?;
            }
            CompareFormat::Markdown => output.line(markdown_comparison(&comparison).trim_end())?,
        }
        Ok(if comparison.fails() { Exit::Failed } else { Exit::Passed })
    }

    /// Refuses to compare an experiment with itself, which would always say that nothing has changed.
    fn require_two(&self, baseline: &[Report], candidate: &[Report]) -> Result<(), CommandError> {
        let is_file = |word: &str| Path::new(word).is_file();
        let name = |report: &Report| (report.header.experiment_id.clone(), report.header.run);
        let is_same = baseline.iter().map(name).eq(candidate.iter().map(name));
        let is_kept = |word: &str| is_file(word) || is_baseline(word);
        if !is_same || is_kept(&self.baseline) || is_kept(&self.candidate) {
            return Ok(());
        }
        Err(CommandError::Usage(format!(
            "`{}` and `{}` are the same run; `touchstone compare latest~1` compares the newest experiment with the one before it",
            self.baseline, self.candidate
        )))
    }

    /// Leaves of a baseline what the other side is about: it has all specs, and an experiment has one.
    fn of_the_same_specs(&self, mut baseline: Vec<Report>, mut candidate: Vec<Report>) -> (Vec<Report>, Vec<Report>) {
        let specs = |reports: &[Report]| reports.iter().map(|report| report.spec_id.clone()).collect::<Vec<_>>();
        let (before, now) = (specs(&baseline), specs(&candidate));
        match (is_baseline(&self.baseline), is_baseline(&self.candidate)) {
            (true, false) => baseline.retain(|report| now.contains(&report.spec_id)),
            (false, true) => candidate.retain(|report| before.contains(&report.spec_id)),
            _ => {}
        }
        (baseline, candidate)
    }

    /// The reports that a word means: those of a file, of a baseline, or of an experiment.
    async fn reports(&self, word: &str) -> Result<Vec<Report>, CommandError> {
        if let Some(name) = word.strip_prefix(BASELINE) {
            let name: BaselineName = name.parse().map_err(CommandError::usage)?;
            let place = BaselinePlace::open(&self.server, &self.store).await?;
            return place.reports(&name).await?.ok_or_else(|| missing(&name));
        }
        if Path::new(word).is_file() {
            return from_file(Path::new(word));
        }
        let reference: Reference = word.parse().map_err(CommandError::usage)?;
        if reference.scenario.is_some() {
            return Err(CommandError::Usage("experiments are compared as a whole; leave `/SCENARIO` away".to_owned()));
        }
        if let Some(server) = self.server.named()? {
            let run = server.find(&reference).await?;
            return Ok(vec![server.report(&run).await?.0]);
        }
        let home = self.store.open().await?;
        let (experiment, run) = reference.find(&home.store).await?;
        Ok(vec![store::report(&home.store, &experiment, &run).await?])
    }
}

fn is_baseline(word: &str) -> bool {
    word.starts_with(BASELINE)
}

fn text(comparison: &RunComparison) -> String {
    let mut text = terminal_comparison(comparison);
    for (spec, metrics) in &comparison.metrics {
        let mut table = table([spec, "before", "now", "change"]);
        for metric in metrics {
            let change = match (metric.baseline, metric.delta) {
                (_, delta) if delta.abs() < f64::EPSILON => "-".to_owned(),
                (baseline, _) if baseline.abs() < f64::EPSILON => "new".to_owned(),
                (baseline, delta) => format!("{:+.0} %", delta / baseline * 100.0),
            };
            table.add_row([metric.metric.name.to_owned(), number(metric.baseline), number(metric.candidate), change]);
        }
        text.push_str(&format!("{table}\n"));
    }
    text
}

/// A number as short as it is.
fn number(value: f64) -> String {
    if value.fract().abs() < 1e-9 { format!("{value:.0}") } else { format!("{value:.4}") }
}
