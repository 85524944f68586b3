//! `touchstone baseline save`: keep runs as a baseline.

use std::path::Path;

use clap::Args;
use scenario::report::Report;
use scenario::{count_noun, untrusted};
use serde_json::Value as Json;
use store::SaveTerms;
use tokio::runtime::Runtime;

use super::{BaselineFormat, Meant, name, run, text};
use crate::baselines::{BaselinePlace, Kept, from_file};
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::reference::Reference;

/// Keep runs as a baseline, each in the place of the run of its spec
///
/// The exit code is 1, and nothing is kept, when one of them failed, could not be judged, is incomplete, or is smaller than
/// the run that it would replace.
#[derive(Debug, Args)]
pub(super) struct Save {
    #[command(flatten)]
    meant: Meant,
    /// Experiments: EXPERIMENT, EXPERIMENT#RUN or `latest`; or reports that were written with `-o FILE.json`.
    #[arg(value_name = "EXPERIMENT|FILE", default_value = "latest")]
    runs: Vec<String>,
    /// Keep them whatever speaks against it. What does is written down.
    #[arg(long)]
    force: bool,
    /// A remark about why, which is written down.
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    /// The form in which the kept lines are shown.
    #[arg(long, value_enum, default_value_t = BaselineFormat::Text)]
    format: BaselineFormat,
}

impl Save {
    pub(super) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let name = self.meant.name()?;
        let saved = Runtime::new()?.block_on(async {
            let place = self.meant.place.open().await?;
            let mut reports = Vec::new();
            for word in &self.runs {
                reports.extend(reports_of(&place, word).await?);
            }
            let terms = SaveTerms { reason: self.reason.clone(), force: self.force, ..SaveTerms::default() };
            place.save(&name, reports, &terms).await
        })?;
        match saved {
            Kept::Refused(reasons) => {
                output.note(format!("problem: `{name}` stays as it is: {reasons}; `--force` keeps it all the same"));
                return Ok(Exit::Failed);
            }
            Kept::Lines(lines) if self.format == BaselineFormat::Json => output.json(&lines.into())?,
            Kept::Lines(lines) => {
                lines.iter().try_for_each(|line| output.line(words(line)))?;
            }
        }
        Ok(Exit::Passed)
    }
}

/// The reports that a word means: those of a file, or that of a run.
async fn reports_of(place: &BaselinePlace, word: &str) -> Result<Vec<Report>, CommandError> {
    if Path::new(word).is_file() {
        return from_file(Path::new(word));
    }
    let reference: Reference = word.parse().map_err(CommandError::usage)?;
    if reference.scenario.is_some() {
        return Err(CommandError::Usage("a baseline is made of whole runs; leave `/SCENARIO` away".to_owned()));
    }
    match place {
        BaselinePlace::Server(server) => Ok(vec![server.report(&server.find(&reference).await?).await?.0]),
        BaselinePlace::Here(home) => {
            let (experiment, run) = reference.find(&home.store).await?;
            Ok(vec![store::report(&home.store, &experiment, &run).await?])
        }
    }
}

/// A line that was kept, for people.
fn words(line: &Json) -> String {
    let count = |field: &str| line[field].as_u64().unwrap_or_default();
    let reasons: Vec<_> = line["overridden"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let forced = match reasons.as_slice() {
        [] => String::new(),
        reasons => format!("; by force, although {}", untrusted::line(&reasons.join("; "), 1000)),
    };
    format!(
        "{} {}: {} of {} passed in {}, from {}{forced}",
        name(line),
        text(line, "spec_id"),
        count("passed"),
        count_noun(count("replicas"), "replica"),
        count_noun(count("cells"), "cell"),
        run(line)
    )
}
