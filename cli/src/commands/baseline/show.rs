//! `touchstone baseline show`: one baseline.

use clap::Args;
use scenario::report::{Reports, json_all};
use scenario::untrusted;
use serde_json::Value as Json;
use store::Clock as _;
use tokio::runtime::Runtime;

use super::list::listing;
use super::{BaselineFormat, Meant, text};
use crate::baselines::missing;
use crate::ci_commands::Form;
use crate::clock::SystemClock;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Show a baseline: a line for each spec, and what it was kept in spite of
#[derive(Debug, Args)]
pub(super) struct Show {
    #[command(flatten)]
    meant: Meant,
    /// The form in which it is shown.
    #[arg(long, value_enum, default_value_t = BaselineFormat::Text)]
    format: BaselineFormat,
    /// Print its reports, as `-o FILE.json` writes them, and nothing else.
    #[arg(long, conflicts_with = "format")]
    reports: bool,
}

impl Show {
    pub(super) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let meant = self.meant.name()?;
        let runtime = Runtime::new()?;
        let place = runtime.block_on(self.meant.place.open())?;
        if self.reports {
            let reports = runtime.block_on(place.reports(&meant))?.ok_or_else(|| missing(&meant))?;
            output.document(json_all(&Reports { reports, ..Reports::default() }).trim_end(), Form::Json)?;
            return Ok(Exit::Passed);
        }
        let mut lines = runtime.block_on(place.list(Some(meant.name())))?;
        lines.retain(|line| line["branch"].as_str() == meant.branch());
        if lines.is_empty() {
            return Err(missing(&meant));
        }
        match self.format {
            BaselineFormat::Json => output.json(&lines.into())?,
            BaselineFormat::Text => {
                output.line(listing(&lines, SystemClock.now()).to_string())?;
                lines.iter().flat_map(in_spite_of).try_for_each(|text| output.line(text))?;
            }
        }
        Ok(Exit::Passed)
    }
}

/// The reasons in spite of which a line was kept.
fn in_spite_of(line: &Json) -> Vec<String> {
    let reasons = line["overridden"].as_array().into_iter().flatten().filter_map(Json::as_str);
    reasons
        .map(|reason| format!("{} by force, although {}", text(line, "spec_id"), untrusted::line(reason, 500)))
        .collect()
}
