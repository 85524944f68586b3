//! `touchstone import`: files of other tools as specs.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use scenario::count_noun;
use scenario::import::flakestorm::{BASE, ImportOptions, Imported, import};
use scenario::untrusted;

use super::validate::Validate;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::source::sources;

/// The length at which notes are cut.
const MOST_NOTE: usize = 500;

/// Make a spec from a file of another tool.
#[derive(Debug, Args)]
pub(crate) struct Import {
    #[command(subcommand)]
    from: Tool,
}

#[derive(Debug, Subcommand)]
enum Tool {
    Flakestorm(Flakestorm),
}

/// Make a spec from a flakestorm.yaml.
///
/// Everything that is not the same here, and every key that Flakestorm would ignore, is told and written at the top of the spec.
/// The spec is validated; the exit code is 3 when something is left to fix by hand.
#[derive(Debug, Args)]
struct Flakestorm {
    /// The file.
    file: PathBuf,
    /// The folder to write the spec to; without it, one that is named after the spec.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// A command that does the agent's work: it reads the prompt from `TOUCHSTONE_TASK_PROMPT` and prints the answer.
    #[arg(long, value_name = "COMMAND", conflicts_with = "agent_image")]
    agent_command: Option<String>,
    /// The image of the agent's server, which is asked as `agent.endpoint` says.
    #[arg(long, value_name = "IMAGE")]
    agent_image: Option<String>,
    /// The image that the command runs in.
    #[arg(long, value_name = "IMAGE", default_value = BASE)]
    base: String,
    /// Overwrite files that are there.
    #[arg(long)]
    force: bool,
}

impl Import {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        match self.from {
            Tool::Flakestorm(flakestorm) => flakestorm.run(output),
        }
    }
}

impl Flakestorm {
    fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let text = fs::read_to_string(&self.file).map_err(|error| refused("read", &self.file, &error))?;
        let Self { agent_command, agent_image, base, .. } = &self;
        let options = ImportOptions {
            agent_command: agent_command.clone(),
            agent_image: agent_image.clone(),
            base: Some(base.clone()),
        };
        let imported = import(&text, &options)
            .map_err(|error| CommandError::Usage(format!("{}: {error}", self.file.display())))?;
        let folder = self.output.clone().unwrap_or_else(|| PathBuf::from(&imported.id));
        write(&folder, &imported, self.force, output)?;
        for note in &imported.notes {
            output.line(format!("note: {}", untrusted::line(note, MOST_NOTE)))?;
        }
        let (sources, readable) = sources(&[folder.join("spec.yaml")]);
        let exit = Validate::of(&folder).check(&sources, readable, output)?;
        let next = match exit {
            Exit::Passed => format!("next: touchstone run {}", folder.display()),
            _ => format!("fix {}, then: touchstone validate {}", folder.join("spec.yaml").display(), folder.display()),
        };
        output.line(next)?;
        Ok(exit)
    }
}

/// Writes the spec and the files beside it.
fn write(folder: &Path, imported: &Imported, force: bool, output: &mut Output) -> Result<(), CommandError> {
    let spec = ("spec.yaml".to_owned(), imported.spec.clone());
    let files: Vec<_> = std::iter::once(&spec).chain(&imported.files).collect();
    let there = files.iter().map(|(name, _)| folder.join(name)).find(|path| path.exists());
    if let Some(path) = there.filter(|_| !force) {
        let path = path.display();
        return Err(CommandError::Usage(format!(
            "`{path}` is there already; name another folder with -o, or use --force"
        )));
    }
    for (name, text) in &files {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(|error| refused("write to", parent, &error))?;
        fs::write(&path, text).map_err(|error| refused("write", &path, &error))?;
        output.line(format!("wrote {}", path.display()))?;
    }
    if !imported.notes.is_empty() {
        output.line(format!("{} about what is not the same:", count_noun(imported.notes.len(), "note")))?;
    }
    Ok(())
}

fn refused(what: &str, path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::Usage(format!("cannot {what} `{}`: {error}", path.display()))
}
