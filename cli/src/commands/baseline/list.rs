//! `touchstone baseline list`: the baselines that there are.

use clap::Args;
use comfy_table::Table;
use jiff::Timestamp;
use serde_json::Value as Json;
use store::Clock as _;
use tokio::runtime::Runtime;

use super::{BaselineFormat, PlaceOptions, name, run, text};
use crate::clock::SystemClock;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::table::table;
use crate::times::age;

/// List the baselines, with a line for each spec
#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    place: PlaceOptions,
    /// The form in which they are shown.
    #[arg(long, value_enum, default_value_t = BaselineFormat::Text)]
    format: BaselineFormat,
}

impl List {
    pub(super) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let lines = Runtime::new()?.block_on(async { self.place.open().await?.list(None).await })?;
        match self.format {
            BaselineFormat::Json => output.json(&lines.into())?,
            BaselineFormat::Text if lines.is_empty() => {
                output.line("no baselines; `touchstone baseline save NAME` makes one of the newest experiment")?;
            }
            BaselineFormat::Text => output.line(listing(&lines, SystemClock.now()).to_string())?,
        }
        Ok(Exit::Passed)
    }
}

/// Lines of baselines as a table.
pub(super) fn listing(lines: &[Json], now: Timestamp) -> Table {
    let mut table = table(["baseline", "spec", "cells", "passed", "verdict", "run", "saved", "remark"]);
    for line in lines {
        let saved = line["saved_at"].as_str().and_then(|time| time.parse::<Timestamp>().ok());
        let was_forced = line["overridden"].as_array().is_some_and(|reasons| !reasons.is_empty());
        let remark = [if was_forced { "by force" } else { "" }.to_owned(), text(line, "reason")];
        table.add_row([
            name(line),
            text(line, "spec_id"),
            text(line, "cells"),
            format!("{}/{}", text(line, "passed"), text(line, "replicas")),
            text(line, "verdict"),
            run(line),
            saved.map_or_else(|| "-".to_owned(), |saved| age(saved, now)),
            remark.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": "),
        ]);
    }
    table
}
