//! `touchstone tool-contracts graph`: phases and tools as a picture.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tool_contracts::{mermaid, svg};

use super::files::{ContractFiles, compiled, options};
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Print the phases of a directory of tool contracts, with the tools that lead from one to another.
#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// The directory.
    dir: PathBuf,
    /// The kind of picture.
    #[arg(long, value_enum, default_value_t = GraphFormat::Mermaid)]
    format: GraphFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GraphFormat {
    /// A state diagram as Mermaid text.
    Mermaid,
    /// An SVG.
    Svg,
}

impl Graph {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let files = ContractFiles::read(&self.dir)?;
        let set = match compiled(&files, &options(false), output)? {
            Ok(set) => set,
            Err(exit) => return Ok(exit),
        };
        let picture = match self.format {
            GraphFormat::Mermaid => mermaid(&set),
            GraphFormat::Svg => svg(&set),
        };
        output.line(picture.trim_end())?;
        Ok(Exit::Passed)
    }
}
