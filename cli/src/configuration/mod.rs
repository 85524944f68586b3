//! What a command is told besides its arguments: the environment, and a file.
//!
//! An option that has an environment variable can stand in the file too, under its long name. What is nearer counts: the
//! command line, then the environment, then the file, then what is usual.

mod file;
mod table;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, Command};

use crate::output::CommandError;
use file::ConfigFile;
pub(crate) use table::markdown;

/// The option that names the file.
const OPTION: &str = "config";

/// Why there are no arguments.
#[derive(Debug)]
pub(crate) enum Unread {
    /// They are wrong, or ask for help.
    Arguments(clap::Error),
    /// The file is wrong.
    File(CommandError),
}

/// Reads the arguments of a command, with what the environment and the file say besides.
pub(crate) fn read(command: Command, arguments: &[OsString]) -> Result<ArgMatches, Unread> {
    let Some(path) = named_file(&command, arguments) else {
        return command.try_get_matches_from(arguments).map_err(Unread::Arguments);
    };
    let file = ConfigFile::read(&path).map_err(|problem| Unread::File(CommandError::Usage(problem)))?;
    let command = file.apply(command).map_err(|problem| Unread::File(CommandError::Usage(problem)))?;
    command.try_get_matches_from(arguments).map_err(|error| Unread::Arguments(with_file(error, &file)))
}

/// The file that the arguments or the environment name. Whatever else is wrong is found when all of it is read.
fn named_file(command: &Command, arguments: &[OsString]) -> Option<PathBuf> {
    let matches = command.clone().ignore_errors(true).try_get_matches_from(arguments).ok()?;
    matches.try_get_one::<PathBuf>(OPTION).ok().flatten().filter(|path| !path.as_os_str().is_empty()).cloned()
}

/// An error that says that its value is the file's.
fn with_file(mut error: clap::Error, file: &ConfigFile) -> clap::Error {
    if let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg)
        && let Some(name) = argument.trim_start_matches('-').split([' ', '=']).next()
        && file.has(name)
    {
        let hint = format!("`{name}` is set in `{}`", file.path().display());
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
    error
}
