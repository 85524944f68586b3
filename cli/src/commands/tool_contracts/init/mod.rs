//! `touchstone tool-contracts init`: a first set, from tools that were seen.

mod mcp_server;
mod seen;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use scenario::{count_noun, untrusted};
use tool_contracts::RawFile;
use tool_contracts::scaffold::{Scaffold, scaffold};

use super::check::Check;
use crate::data_dir::StoreOption;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// The length at which notes are cut.
const MOST_NOTE: usize = 500;

/// Write a first set of tool contracts, from tools that were seen.
///
/// Writes session.yaml and a file for each tool. Side effects are guessed from methods of HTTP, annotations and names, and what a
/// run shows becomes rules; every guess has a comment `# guess: …`. Files that are there are never overwritten. The set is checked
/// at the end.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The directory to write to.
    dir: PathBuf,
    #[command(flatten)]
    source: Source,
    /// The agent that session.yaml names.
    #[arg(long, value_name = "NAME", default_value = "agent")]
    agent: String,
    #[command(flatten)]
    store: StoreOption,
}

/// The place at which the tools were seen.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Source {
    /// The operations of an OpenAPI document; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    from_openapi: Option<PathBuf>,
    /// The tools of an MCP server: a JSON file with its result of `tools/list`, or the command that starts it on standard input
    /// and output. Stands last, because everything behind it belongs to the command.
    #[arg(long, value_name = "FILE|COMMAND", num_args = 1.., allow_hyphen_values = true)]
    from_mcp: Option<Vec<String>>,
    /// The tools that a run used: EXPERIMENT/SCENARIO of the history, or a file with a list of calls.
    #[arg(long, value_name = "SCENARIO|FILE")]
    from_run: Option<String>,
}

impl Init {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        refuse_set(&self.dir)?;
        let (source, tools) = self.source.tools(&self.store)?;
        let Scaffold { files, notes } = scaffold(&self.agent, source, &tools);
        if files.len() < 2 {
            return Err(CommandError::usage(format!("there are no tools in {source}, so there is nothing to write")));
        }
        write(&self.dir, &files)?;
        for note in notes {
            output.line(format!("note: {}", untrusted::line(&note, MOST_NOTE)))?;
        }
        let count = count_noun(files.len(), "file");
        output.line(format!("wrote {count} to {}; look at every `# guess`", self.dir.display()))?;
        Check::of(self.dir).run(output)
    }
}

/// Refuses a directory that has contracts already: those of two sets would be one.
fn refuse_set(dir: &Path) -> Result<(), CommandError> {
    let is_yaml = |path: &Path| path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    match entries.map(|entry| entry.path()).find(|path| is_yaml(path)) {
        Some(path) => {
            Err(CommandError::usage(format!("`{}` is there already; name another directory", path.display())))
        }
        None => Ok(()),
    }
}

fn write(dir: &Path, files: &[RawFile]) -> Result<(), CommandError> {
    let cannot = |path: &Path, error| CommandError::usage(format!("cannot write `{}`: {error}", path.display()));
    fs::create_dir_all(dir).map_err(|error| cannot(dir, error))?;
    for RawFile { name, text } in files {
        let path = dir.join(name);
        let written = File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| cannot(&path, error))?;
    }
    Ok(())
}
