//! The table of all options that can be configured.

use std::collections::BTreeMap;

use clap::{Arg, Command};

use super::file::configurable;

/// Commands in whose words an option is described, before all others.
const FIRST: [&str; 2] = ["serve", "worker"];

/// An option of one command or several.
struct Row {
    variable: String,
    usual: String,
    meaning: String,
    commands: Vec<String>,
}

/// All options that can be given by the environment and the file.
pub(crate) fn markdown(command: &Command) -> String {
    let mut commands: Vec<&Command> = command.get_subcommands().collect();
    commands.sort_by_key(|command| FIRST.iter().position(|first| *first == command.get_name()).unwrap_or(FIRST.len()));
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for command in commands {
        for option in configurable(command) {
            let Some(name) = option.get_long() else { continue };
            let row = rows.entry(name.to_owned()).or_insert_with(|| row(option));
            row.commands.push(format!("`{}`", command.get_name()));
            row.commands.dedup();
        }
    }
    let lines = rows.into_iter().map(|(name, row)| line(&name, row));
    lines.fold(HEAD.to_owned(), |text, line| text + &line)
}

/// Header of the table.
const HEAD: &str = "| key and option | environment | without it | what it is | of |\n|---|---|---|---|---|\n";

fn line(name: &str, row: Row) -> String {
    let Row { variable, usual, meaning, commands } = row;
    format!("| `{name}` | `{variable}` | {usual} | {meaning} | {} |\n", commands.join(" "))
}

fn row(option: &Arg) -> Row {
    let variable = option.get_env().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let values: Vec<_> = option.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let usual = match values.join(" ") {
        nothing if nothing.is_empty() || nothing == "false" => String::new(),
        usual => format!("`{usual}`"),
    };
    let meaning = option.get_help().map(ToString::to_string).unwrap_or_default().replace('|', "\\|");
    Row { variable, usual, meaning, commands: Vec::new() }
}
