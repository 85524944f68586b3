//! The first page of help: commands grouped by the user's goal, where clap would list thirty in a row.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::StyledStr;

/// Groups of commands by the user's goal.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Write a spec", &["init", "import", "tools", "validate", "plan", "explain", "schema", "tool-contracts"]),
    ("Run it", &["try", "run", "ci", "certify", "contract", "replay", "rerun", "approvals", "cancel"]),
    ("See what came of it", &["list", "show", "trace", "shell", "compare", "baseline", "flaky", "rescore", "judge"]),
    ("Use a server", &["submit", "watch", "results", "logs", "artifacts"]),
    ("Be a server", &["serve", "worker", "key"]),
    ("Look after this machine", &["doctor", "images", "sweep", "gc"]),
    ("Learn more", &["help", "man", "completions"]),
];

/// Maximum width of help, also used when the width of the terminal is unknown.
const WIDEST: usize = 100;
/// Minimum width of help; on narrower terminals, the terminal breaks the lines.
const NARROWEST: usize = 40;

/// The command, with a first page of help in groups.
pub(crate) fn grouped(command: Command, columns: Option<u16>) -> Command {
    let columns = columns.map_or(WIDEST, |columns| usize::from(columns).clamp(NARROWEST, WIDEST));
    let template = template(&command, columns);
    command.help_template(template)
}

fn template(command: &Command, columns: usize) -> StyledStr {
    let header = command.get_styles().get_header();
    let mut text = String::from("{before-help}{about-with-newline}\n{usage-heading} {usage}\n");
    for (group, names) in GROUPS {
        let _ = write!(text, "\n{header}{group}:{header:#}\n");
        for name in names {
            line(&mut text, command, name, columns);
        }
    }
    let _ = write!(text, "\n{header}Options:{header:#}\n{{options}}{{after-help}}");
    text.into()
}

/// One command, and what it does, beside its name.
fn line(text: &mut String, command: &Command, name: &str, columns: usize) {
    let literal = command.get_styles().get_literal();
    let indent = 4 + GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or_default();
    let _ = write!(text, "  {literal}{name}{literal:#}{:1$}", "", indent - 2 - name.len());
    for (row, words) in rows(&about(command, name), columns - indent).iter().enumerate() {
        if row > 0 {
            let _ = write!(text, "{:indent$}", "");
        }
        let _ = writeln!(text, "{words}");
    }
}

/// Returns the description of a command. Clap adds its own `help` command only after this is called.
fn about(command: &Command, name: &str) -> String {
    let about = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
    about.unwrap_or_else(|| "Print this, or the help of a command".to_owned())
}

fn rows(text: &str, columns: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match rows.last_mut() {
            Some(row) if row.len() + 1 + word.len() <= columns => {
                row.push(' ');
                row.push_str(word);
            }
            _ => rows.push(word.to_owned()),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::{GROUPS, rows};
    use crate::Arguments;

    #[test]
    fn every_command_that_is_shown_is_in_one_group() {
        let command = Arguments::command();
        let shown = command.get_subcommands().filter(|below| !below.is_hide_set()).map(|below| below.get_name());
        let shown: BTreeSet<&str> = shown.chain(["help"]).collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), shown);
        assert_eq!(grouped.len(), shown.len(), "none is there twice");
    }

    #[test]
    fn words_that_do_not_fit_go_to_the_next_row() {
        assert_eq!(rows("one two three", 7), ["one two", "three"]);
        assert_eq!(rows("unbreakable", 3), ["unbreakable"]);
    }
}
