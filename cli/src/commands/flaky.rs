//! `touchstone flaky`: what flips although nothing was changed.

use clap::{Args, ValueEnum};
use scenario::flaky::{CLEAN_RUNS, EntryStreak, FlakyTable, streaks};
use scenario::untrusted;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::baselines::BaselinePlace;
use crate::client::MaybeServer;
use crate::data_dir::StoreOption;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::quarantine::{QuarantineOption, today};
use crate::whole_number::whole_number;

/// The longest line.
const MOST_LINE: usize = 400;

/// Show what flips although nothing was changed, over the last runs.
///
/// Runs of the same text of a spec and the same seed are compared with each other, and replicas of one run. For each cell and
/// each invariant: how often it flipped, since which version, and whether the agent or its world is the reason, where a
/// certificate of the spec says so. With a quarantine, it says which entries have been clean for long enough to leave. The exit
/// code is 0 whatever is flaky.
#[derive(Debug, Args)]
pub(crate) struct Flaky {
    /// Only the spec with this id. Can be given several times.
    #[arg(long, value_name = "ID")]
    spec: Vec<String>,
    /// The number of the last comparable runs of a spec that are looked at, at most 100.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole_number::<u32>)]
    last: u32,
    /// The number of clean runs in a row that an entry of the quarantine needs to leave.
    #[arg(long, value_name = "N", default_value_t = CLEAN_RUNS, value_parser = whole_number::<usize>)]
    streak: usize,
    /// Show every cell and invariant, and not only what is flaky.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    quarantine: QuarantineOption,
    /// The form in which it is shown.
    #[arg(long, value_enum, default_value_t = FlakyFormat::Text)]
    format: FlakyFormat,
    #[command(flatten)]
    server: MaybeServer,
    #[command(flatten)]
    store: StoreOption,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FlakyFormat {
    /// For people.
    Text,
    /// One JSON object.
    Json,
}

impl Flaky {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let quarantine = self.quarantine.read(output)?;
        let tables = Runtime::new()?.block_on(self.tables())?;
        let streaks = quarantine.map(|list| streaks(&list, &tables, self.streak, today())).unwrap_or_default();
        match self.format {
            FlakyFormat::Json => output.json(&json!({ "specs": tables, "quarantine": streaks }))?,
            FlakyFormat::Text if tables.is_empty() => {
                output.line("no run of a whole spec has ended yet; `touchstone run SPEC` makes one")?;
            }
            FlakyFormat::Text => output.line(self.text(&tables, &streaks).trim_end())?,
        }
        Ok(Exit::Passed)
    }

    /// The tables of all specs that are meant and were run.
    async fn tables(&self) -> Result<Vec<FlakyTable>, CommandError> {
        let place = BaselinePlace::open(&self.server, &self.store).await?;
        let meant = if self.spec.is_empty() { place.specs().await? } else { self.spec.iter().cloned().collect() };
        let mut tables = Vec::new();
        for spec_id in meant {
            match place.flaky(&spec_id, self.last).await? {
                Some(table) => tables.push(table),
                None if self.spec.is_empty() => {}
                None => return Err(not_run(&spec_id)),
            }
        }
        Ok(tables)
    }

    fn text(&self, tables: &[FlakyTable], streaks: &[EntryStreak]) -> String {
        let mut text = String::new();
        for table in tables {
            text.push_str(&format!("{}: {}\n", untrusted::line(&table.spec_id, 100), table.summary()));
            for line in table.lines.iter().filter(|line| self.all || line.is_flaky()) {
                let word = if line.is_flaky() { "flaky" } else { "steady" };
                let why = if line.is_flaky() { format!(" {}", table.explained(line)) } else { String::new() };
                let shown = format!("  {word:<6} {}: {}{why}", line.place(), line.signs());
                text.push_str(&untrusted::cut(&untrusted::visible(&shown), MOST_LINE));
                text.push('\n');
            }
        }
        for streak in streaks {
            text.push_str(&format!(
                "{}\n",
                untrusted::line(&format!("{} {}", streak.place, streak.message()), MOST_LINE)
            ));
        }
        text
    }
}

/// The error about a spec that was not run.
fn not_run(spec_id: &str) -> CommandError {
    let spec_id = untrusted::line(spec_id, 100);
    CommandError::Usage(format!("no run of all of `{spec_id}` has ended; `touchstone list` shows what was run"))
}
