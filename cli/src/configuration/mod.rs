//! Settings of a command besides its arguments: the environment, and a file.
//!
//! An option that has an environment variable can stand in the file too, under its long name. What is nearer counts: the
//! command line, then the environment, then the file, then what is usual.

mod file;
mod table;

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, Command};

use crate::output::CommandError;
use file::{ConfigFile, ConfigFileError};
pub(crate) use table::markdown;

/// The option that names the file.
const OPTION: &str = "config";

/// The reason why there are no arguments.
#[derive(Debug)]
pub(crate) enum Unread {
    /// The arguments are wrong, or ask for help.
    Arguments(clap::Error),
    /// The file is wrong.
    File(CommandError),
}

/// Reads the arguments of a command, with the values from the environment and the file.
pub(crate) fn read(command: Command, arguments: &[OsString]) -> Result<ArgMatches, Unread> {
    let command = without_empty_variables(command, &|name| env::var_os(name).is_some_and(|value| value.is_empty()));
    let Some(path) = named_file(&command, arguments) else {
        return command.try_get_matches_from(arguments).map_err(Unread::Arguments);
    };
    let wrong = |error: ConfigFileError| Unread::File(CommandError::usage(error));
    let file = ConfigFile::read(&path).map_err(wrong)?;
    let command = file.apply(command).map_err(wrong)?;
    command.try_get_matches_from(arguments).map_err(|error| Unread::Arguments(with_file(error, &file)))
}

/// The command, which does not look at variables that are set to nothing: pipelines set what they have no value for.
fn without_empty_variables(command: Command, is_empty: &impl Fn(&OsStr) -> bool) -> Command {
    let command = command.mut_args(|option| match option.get_env() {
        Some(name) if is_empty(name) => option.env(Resettable::Reset),
        _ => option,
    });
    command.mut_subcommands(|below| without_empty_variables(below, is_empty))
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

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use clap::{Arg, Command};

    use super::without_empty_variables;

    #[test]
    fn a_variable_that_is_set_to_nothing_is_as_if_it_were_not_set() {
        let option = |name: &'static str, variable: &'static str| Arg::new(name).long(name).env(variable);
        let below = Command::new("below").arg(option("two", "EMPTY")).arg(option("three", "FULL"));
        let command = Command::new("top").arg(option("one", "EMPTY")).subcommand(below);
        let command = without_empty_variables(command, &|name| name == "EMPTY");
        let variables = |command: &Command| -> Vec<Option<String>> {
            let named = |variable: &OsStr| variable.to_string_lossy().into_owned();
            command.get_arguments().map(|option| option.get_env().map(named)).collect()
        };
        assert_eq!(variables(&command), [None]);
        let below = command.find_subcommand("below").expect("it is there");
        assert_eq!(variables(below), [None, Some("FULL".to_owned())]);
    }
}
