//! `touchstone rescore`: judges stored evidence again.

mod changes;

use std::path::{Path, PathBuf};

use clap::Args;
use scenario::spec::render;
use store::{Clock as _, Judged, Version, header};
use tokio::runtime::Runtime;

use crate::clock::SystemClock;
use crate::data_dir::StoreOption;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::reference::Reference;
use crate::report_format::ReportFormat;
use crate::source::{content, has_error, sources};
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
    store: StoreOption,
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

    async fn rescore(&self, given: Option<Version>, output: &mut Output) -> Result<Exit, CommandError> {
        let store = self.store.open().await?.store;
        let (experiment, run) = self.reference.find(&store).await?;
        let mut judged = store.rescore(&run, given.as_ref()).await?;
        if !self.dry_run {
            let digest = match &given {
                Some(given) => {
                    let (owner, id) = (&experiment.owner, &experiment.spec.spec_id);
                    store.keep_spec(owner, id, &given.content, SystemClock.now()).await?.digest
                }
                None => run.digest.clone(),
            };
            let score = &judged.report.score;
            let kept = store.keep_rescored(run.id, &digest, &judged.now, score, SystemClock.now()).await?;
            judged.report.header = header(&experiment, &store.run(kept).await?);
        }
        output.document(&self.format.render(&judged.report), self.format.form())?;
        self.tell(&judged, output)?;
        Ok(match judged.report.score.exit_code() {
            0 => Exit::Passed,
            1 => Exit::Failed,
            _ => Exit::Infrastructure,
        })
    }

    /// Reports the changes and their place, beside a report that a program reads.
    fn tell(&self, judged: &Judged, output: &mut Output) -> Result<(), CommandError> {
        let kept = if self.dry_run {
            "a dry run: nothing is kept".to_owned()
        } else {
            format!("kept as {}#{}", judged.report.header.experiment_id, judged.report.header.run)
        };
        for line in [Changes::between(&judged.before, &judged.now).to_string(), kept] {
            if self.format == ReportFormat::Text { output.line(line)? } else { output.note(line) }
        }
        Ok(())
    }
}

/// The spec that was given, and what is kept of it; shows what is wrong when it is not valid.
fn given(path: &Path, output: &mut Output) -> Result<Option<Version>, CommandError> {
    let (sources, readable) = sources(&[path.to_owned()]);
    readable?;
    let [source] = sources.as_slice() else {
        return Err(CommandError::Usage(format!("`{}` holds more than one spec; name one", path.display())));
    };
    let loaded = source.load();
    for diagnostic in loaded.diagnostics.iter().filter(|_| has_error(&loaded.diagnostics)) {
        output.line(format!("{}\n", render::text(diagnostic, &source.name, &source.text, output.style())))?;
    }
    loaded.spec.map(|spec| Ok(Version { spec, content: content(source)? })).transpose()
}
