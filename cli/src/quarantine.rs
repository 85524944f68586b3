//! The quarantine of a pipeline: the file that lists what cannot fail it for some time.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use scenario::flaky::{FlakyTable, clean_runs};
use scenario::quarantine::{QuarantineList, load};
use scenario::report::Reports;
use scenario::spec::render;
use store::Clock as _;
use tokio::runtime::Runtime;

use crate::baselines::{BaselinePlace, PlaceOf};
use crate::clock::SystemClock;
use crate::output::{CommandError, Output};

/// The number of runs that are looked at to tell a streak.
const MOST_RUNS: u32 = 20;
/// The file that is read where none is named.
const USUAL: &str = "quarantine.yaml";

/// The option that names a quarantine.
#[derive(Debug, Clone, Args)]
pub(crate) struct QuarantineOption {
    /// The list of scenarios that are run and shown, and cannot fail this command until their last day; `quarantine.yaml` of the
    /// working directory without it, if that is there. A pipeline reads it from the branch that it merges into, so that no
    /// change excuses itself.
    #[arg(long, env = "TOUCHSTONE_QUARANTINE", value_name = "FILE")]
    quarantine: Option<PathBuf>,
}

impl QuarantineOption {
    /// The same option, or this file where it is not given.
    pub(crate) fn or(&self, file: Option<PathBuf>) -> Self {
        Self { quarantine: self.quarantine.clone().or(file) }
    }

    /// The list, if there is one. What is wrong with it is shown.
    pub(crate) fn read(&self, output: &mut Output) -> Result<Option<QuarantineList>, CommandError> {
        match &self.quarantine {
            Some(path) => read(path, output).map(Some),
            None if Path::new(USUAL).is_file() => read(Path::new(USUAL), output).map(Some),
            None => Ok(None),
        }
    }
}

/// The list in a file. What is wrong with it is shown.
pub(crate) fn read(path: &Path, output: &mut Output) -> Result<QuarantineList, CommandError> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path)
        .map_err(|error| CommandError::Usage(format!("the quarantine `{name}` cannot be read: {error}")))?;
    let loaded = load(&text);
    for found in &loaded.diagnostics {
        output.line(format!("{}\n", render::text(found, &name, &text, output.style())))?;
    }
    loaded
        .list
        .ok_or_else(|| CommandError::Usage(format!("`{name}` is no quarantine that can be used, so nothing was run")))
}

/// The reports with how many clean runs in a row the entries of a quarantine have, as far as that is known. They decide nothing.
pub(crate) fn with_streaks(mut reports: Reports, place: PlaceOf<'_>, output: &mut Output) -> Reports {
    let specs: BTreeSet<_> = reports.reports.iter().map(|report| report.spec_id.clone()).collect();
    let Some(quarantine) = reports.quarantine.as_mut().filter(|quarantine| !quarantine.entries.is_empty()) else {
        return reports;
    };
    match Runtime::new().map_err(CommandError::from).and_then(|runtime| runtime.block_on(tables(place, &specs))) {
        Ok(tables) => {
            for judged in &mut quarantine.entries {
                judged.clean_runs = clean_runs(&judged.entry, &tables);
            }
        }
        Err(error) => output.note(format!("how long the quarantine has been clean is not known: {error}")),
    }
    reports
}

async fn tables(place: PlaceOf<'_>, specs: &BTreeSet<String>) -> Result<Vec<FlakyTable>, CommandError> {
    let place = BaselinePlace::of(place.server, place.store).await?;
    let mut tables = Vec::new();
    for spec_id in specs {
        tables.extend(place.flaky(spec_id, MOST_RUNS).await?);
    }
    Ok(tables)
}

/// The day by which quarantines end, in UTC.
pub(crate) fn today() -> Date {
    SystemClock.now().to_zoned(TimeZone::UTC).date()
}
