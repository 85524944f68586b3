//! `touchstone man`: pages of the manual.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man as Page;

use crate::ci_commands::Form;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Print the manual page of `touchstone`, or write the pages of all commands into a folder.
///
/// `touchstone man | man -l -` shows it; `touchstone man --folder ~/.local/share/man/man1` keeps all of them where `man
/// touchstone-run` finds them.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write a page for each command into this folder.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self, command: Command, output: &mut Output) -> Result<Exit, CommandError> {
        let Some(folder) = &self.folder else {
            output.exactly(&page(command)?, Form::Text)?;
            return Ok(Exit::Passed);
        };
        fs::create_dir_all(folder)?;
        let pages = pages(command)?;
        for (name, text) in &pages {
            fs::write(folder.join(format!("{name}.1")), text)?;
        }
        output.note(format!("wrote {} pages into {}", pages.len(), folder.display()));
        Ok(Exit::Passed)
    }
}

/// A page for the command, and one for each below it that people see.
fn pages(command: Command) -> io::Result<Vec<(String, String)>> {
    let command = command.disable_help_subcommand(true);
    let name = command.get_name().to_owned();
    let mut pages = Vec::new();
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        let title = format!("{name}-{}", below.get_name());
        pages.extend(self::pages(below.clone().name(title))?);
    }
    pages.push((name, page(command)?));
    Ok(pages)
}

fn page(command: Command) -> io::Result<String> {
    let mut bytes = Vec::new();
    Page::new(command).render(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
