//! `touchstone sweep`: removes what dead processes left in Docker.

use clap::{Args, ValueEnum};
use engine::backend::{Backend as _, Reach, Swept};
use serde_json::json;
use tokio::runtime::Runtime;

use super::validate::count;
use crate::backend::connect;
use crate::exit_code::Exit;
use crate::home::DataDirOption;
use crate::json_text;
use crate::output::{CommandError, Output};

/// Remove what processes left behind that were killed: containers, volumes and folders.
///
/// Only what was made from this data directory is looked at, and nothing of a process that still lives is removed.
/// Experiments and their evidence stay; `touchstone gc` removes those.
#[derive(Debug, Args)]
pub(crate) struct Sweep {
    /// Remove sandboxes too that were kept for a person to look into.
    #[arg(long)]
    kept: bool,
    /// How to show what was removed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    data_dir: DataDirOption,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// One JSON object.
    Json,
}

impl Sweep {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let swept = Runtime::new()?.block_on(self.sweep())?;
        match self.format {
            Format::Text => output.line(text(swept))?,
            Format::Json => output.line(json_text::pretty(&json!({
                "containers": swept.containers,
                "volumes": swept.volumes,
                "folders": swept.folders,
                "kept": swept.kept,
            })))?,
        }
        Ok(Exit::Passed)
    }

    async fn sweep(&self) -> Result<Swept, CommandError> {
        let backend = connect(&self.data_dir.resolve()?).await?;
        let reach = if self.kept { Reach::GoneAndKept } else { Reach::Gone };
        let swept = backend.sweep(reach).await;
        swept.map_err(|error| CommandError::Infrastructure(format!("not everything could be removed: {error}")))
    }
}

fn text(swept: Swept) -> String {
    let removed = match swept {
        Swept { containers: 0, volumes: 0, folders: 0, .. } => "nothing was left behind".to_owned(),
        Swept { containers, volumes, folders, .. } => format!(
            "removed {}, {} and {}",
            count(containers, "container"),
            count(volumes, "volume"),
            count(folders, "folder")
        ),
    };
    match swept.kept {
        0 => removed,
        kept => format!(
            "{removed}; {} kept for you, which --kept removes",
            if kept == 1 { "1 sandbox is".to_owned() } else { format!("{kept} sandboxes are") }
        ),
    }
}
