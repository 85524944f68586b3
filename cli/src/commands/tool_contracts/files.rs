//! The files of a directory of contracts.

use std::fs;
use std::path::{Path, PathBuf};

use tool_contracts::options::Profile;
use tool_contracts::{CompileError, CompileOptions, Compiled, Diagnostic, RawFile, RawSet};
use walkdir::WalkDir;

use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Maximum size of a file.
const MOST_BYTES: u64 = 1024 * 1024;

/// A directory of contracts that was read.
pub(super) struct ContractFiles {
    folder: PathBuf,
    set: RawSet,
}

/// A set that was compiled, or the reason why not; the warnings stand beside it.
pub(super) struct CompiledFiles {
    pub(super) compiled: Option<Compiled>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl ContractFiles {
    /// Reads the YAML files of a directory, and of those below it when it has a workflow.
    pub(super) fn read(folder: &Path) -> Result<Self, CommandError> {
        let cannot = |cause: &dyn std::fmt::Display| {
            CommandError::usage(format!("{} cannot be read: {cause}", folder.display()))
        };
        let mut files = Vec::new();
        for entry in WalkDir::new(folder).sort_by_file_name() {
            let entry = entry.map_err(|error| cannot(&error))?;
            let path = entry.path();
            let is_yaml = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
            if !entry.file_type().is_file() || !is_yaml {
                continue;
            }
            if entry.metadata().is_ok_and(|metadata| metadata.len() > MOST_BYTES) {
                return Err(cannot(&format!("{} is larger than 1 MiB", path.display())));
            }
            let text = fs::read_to_string(path).map_err(|error| cannot(&error))?;
            let name = path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned();
            files.push(RawFile { name, text });
        }
        if files.is_empty() {
            return Err(CommandError::usage(format!(
                "there is no `session.yaml` and no tool file in {}",
                folder.display()
            )));
        }
        Ok(Self { folder: folder.to_owned(), set: RawSet { files } })
    }

    /// The directory.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Compiles the workflow and its roles when there is one, and else the directory's own set.
    pub(super) fn compile(&self, options: &CompileOptions) -> CompiledFiles {
        match self.set.compile(options) {
            Ok((compiled, diagnostics)) => CompiledFiles { compiled, diagnostics },
            Err(CompileError { diagnostics }) => CompiledFiles { compiled: None, diagnostics },
        }
    }
}

/// The options for reading.
pub(super) fn options(is_strict: bool) -> CompileOptions {
    let profile = if is_strict { Profile::Strict } else { Profile::Lenient };
    CompileOptions { profile, ..CompileOptions::default() }
}

/// Shows what was found for people.
pub(super) fn show(files: &ContractFiles, diagnostics: &[Diagnostic], output: &mut Output) -> Result<(), CommandError> {
    for found in diagnostics {
        let line = format!("{}/{found}", files.folder().display());
        output.line(scenario::untrusted::line(&line, 600))?;
    }
    Ok(())
}

/// Compiles, and shows why it does not compile.
pub(super) fn compiled(
    files: &ContractFiles,
    options: &CompileOptions,
    output: &mut Output,
) -> Result<Result<Compiled, Exit>, CommandError> {
    let CompiledFiles { compiled, diagnostics } = files.compile(options);
    match compiled {
        Some(compiled) => Ok(Ok(compiled)),
        None => {
            show(files, &diagnostics, output)?;
            Ok(Err(Exit::InvalidSpec))
        }
    }
}
