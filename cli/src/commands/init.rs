//! `touchstone init`: a first spec.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::search::is_yaml;

/// The files of a first spec.
const FILES: [(&str, &str); 2] =
    [("spec.yaml", include_str!("../../starter/spec.yaml")), ("agent.sh", include_str!("../../starter/agent.sh"))];

/// Write a first spec that validates, to change into your own.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The folder to write it to.
    #[arg(default_value = "touchstone")]
    folder: PathBuf,
    /// Overwrite files that are there.
    #[arg(long)]
    force: bool,
}

impl Init {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        require_folder(&self.folder)?;
        let there = FILES.iter().map(|(name, _)| self.folder.join(name)).find(|path| path.exists());
        if let Some(path) = there.filter(|_| !self.force) {
            return Err(CommandError::Usage(format!(
                "`{}` is there already; name another folder, or use --force",
                path.display()
            )));
        }
        write(&self.folder)
            .map_err(|error| CommandError::Usage(format!("cannot write to `{}`: {error}", self.folder.display())))?;
        for (name, _) in FILES {
            output.line(format!("wrote {}", self.folder.join(name).display()))?;
        }
        output.line(format!("next: touchstone validate {}", self.folder.display()))?;
        Ok(Exit::Passed)
    }
}

/// Refuses the name of a file, which people give when they think of the spec in it.
fn require_folder(folder: &Path) -> Result<(), CommandError> {
    let is = match (folder.is_file(), is_yaml(folder) && !folder.exists()) {
        (true, _) => "is a file",
        (_, true) => "looks like a file",
        _ => return Ok(()),
    };
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.is_file());
    let instead = parent.map(|parent| format!(", such as `{}`", parent.display())).unwrap_or_default();
    Err(CommandError::Usage(format!("`{}` {is}; name a folder{instead}", folder.display())))
}

fn write(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    FILES.iter().try_for_each(|(name, content)| fs::write(folder.join(name), content))
}
