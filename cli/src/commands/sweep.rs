//! `touchstone sweep`: removes leftovers of dead processes' sandboxes, in Docker and without it.

use clap::{Args, ValueEnum};
use engine::backend::{Backend, Reach, Swept};
use scenario::{count_noun, count_noun_as};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::backend::{Unconnected, docker, local, neither};
use crate::data_dir::DataDirOption;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Remove what processes left behind that were killed: containers, volumes, control groups and folders.
///
/// Only what was made from this data directory is looked at, and nothing of a process that still lives is removed.
/// Experiments and their evidence stay; `touchstone gc` removes those.
#[derive(Debug, Args)]
pub(crate) struct Sweep {
    /// Remove sandboxes too that were kept for a person to look into.
    #[arg(long)]
    kept: bool,
    /// How to show what was removed.
    #[arg(long, value_enum, default_value_t = SweepFormat::Text)]
    format: SweepFormat,
    #[command(flatten)]
    data_dir: DataDirOption,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SweepFormat {
    /// For people.
    Text,
    /// One JSON object.
    Json,
}

impl Sweep {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let swept = Runtime::new()?.block_on(self.sweep(output))?;
        match self.format {
            SweepFormat::Text => output.line(text(swept))?,
            SweepFormat::Json => output.json(&json!({
                "containers": swept.containers,
                "volumes": swept.volumes,
                "folders": swept.folders,
                "kept": swept.kept,
            }))?,
        }
        Ok(Exit::Passed)
    }

    async fn sweep(&self, output: &mut Output) -> Result<Swept, CommandError> {
        let backends = self.backends(output).await?;
        let reach = if self.kept { Reach::GoneAndKept } else { Reach::Gone };
        let mut results = Vec::new();
        for backend in backends {
            results.push(backend.sweep(reach).await);
        }
        // All of it was tried by now.
        let swept = results.into_iter().try_fold(Swept::default(), |all, swept| swept.map(|swept| sum(all, swept)));
        swept.map_err(|error| CommandError::Infrastructure(format!("not everything could be removed: {error}")))
    }

    /// Returns the backends that may have made sandboxes here, as far as they answer.
    async fn backends(&self, output: &mut Output) -> Result<Vec<Box<dyn Backend>>, CommandError> {
        let data_dir = self.data_dir.resolve()?;
        let mut backends: Vec<Box<dyn Backend>> = Vec::new();
        let local = local(&data_dir).await.map(|local| backends.push(Box::new(local)));
        match (docker(&data_dir).await, local) {
            (Ok(docker), _) => backends.push(Box::new(docker)),
            (Err(Unconnected::Refused(error)), local) if error.is_no_engine() => {
                let note = format!("Docker was not asked for what is left there: {error}");
                local.map_err(|problem| neither(error, problem))?;
                output.notice(&note);
            }
            (Err(error), _) => return Err(error.into()),
        }
        Ok(backends)
    }
}

fn sum(one: Swept, other: Swept) -> Swept {
    Swept {
        containers: one.containers + other.containers,
        volumes: one.volumes + other.volumes,
        folders: one.folders + other.folders,
        kept: one.kept + other.kept,
    }
}

fn text(swept: Swept) -> String {
    let removed = match swept {
        Swept { containers: 0, volumes: 0, folders: 0, .. } => "nothing was left behind".to_owned(),
        Swept { containers, volumes, folders, .. } => format!(
            "removed {}, {} and {}",
            count_noun(containers, "container"),
            count_noun(volumes, "volume"),
            count_noun(folders, "folder")
        ),
    };
    match swept.kept {
        0 => removed,
        kept => {
            format!(
                "{removed}; {} kept for you, which --kept removes",
                count_noun_as(kept, "sandbox is", "sandboxes are")
            )
        }
    }
}
