//! `touchstone baseline rm`: remove a baseline.

use clap::Args;
use tokio::runtime::Runtime;

use super::Meant;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Remove a baseline, or what it has of one spec
///
/// Its branches stay, and count for themselves from then on.
#[derive(Debug, Args)]
pub(super) struct Rm {
    #[command(flatten)]
    meant: Meant,
    /// Only what it has of the spec with this id.
    #[arg(long, value_name = "ID")]
    spec: Option<String>,
}

impl Rm {
    pub(super) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let name = self.meant.name()?;
        let spec = self.spec.as_deref();
        Runtime::new()?.block_on(async { self.meant.place.open().await?.remove(&name, spec).await })?;
        output.line(format!("removed {name}{}", spec.map(|spec| format!(" {spec}")).unwrap_or_default()))?;
        Ok(Exit::Passed)
    }
}
