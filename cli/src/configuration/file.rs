//! The file: TOML, with options under their long names; those of one command in a table that is called like it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Arg, Command};
use scenario::spec::diagnostic::did_you_mean;
use toml::{Table, Value};

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the configuration `{}`: {reason}", path.display())]
pub(super) struct ConfigFileError {
    path: PathBuf,
    #[source]
    reason: InvalidConfig,
}

/// The reason why a file cannot be used.
#[derive(Debug, thiserror::Error)]
enum InvalidConfig {
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// It is no TOML. The line itself is not shown: it may hold a key, and messages go to logs.
    #[error("{place}{message}")]
    Syntax { place: String, message: String },
    #[error("there is no command `{name}` to configure{hint}")]
    UnknownCommand { name: String, hint: String },
    #[error("unknown key `{name}`{place}{hint}")]
    UnknownKey { name: String, place: String, hint: String },
    #[error("`{0}` must be true or false")]
    NoSwitch(String),
    #[error("`{0}` must be a text, a number, true or false")]
    NoValue(String),
}

/// A file that says how commands behave.
#[derive(Debug)]
pub(super) struct ConfigFile {
    path: PathBuf,
    table: Table,
}

impl ConfigFile {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Self, ConfigFileError> {
        let named = |reason| ConfigFileError { path: path.to_owned(), reason };
        let text = fs::read_to_string(path).map_err(|error| named(error.into()))?;
        let table = text.parse::<Table>().map_err(|error| named(syntax(&text, &error)))?;
        Ok(Self { path: path.to_owned(), table })
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the file sets an option.
    pub(super) fn has(&self, name: &str) -> bool {
        let tables = self.table.values().filter_map(Value::as_table);
        self.table.contains_key(name) || tables.into_iter().any(|table| table.contains_key(name))
    }

    /// Sets the file's values as the defaults of a command's options.
    pub(super) fn apply(&self, mut command: Command) -> Result<Command, ConfigFileError> {
        let named = |reason| ConfigFileError { path: self.path.clone(), reason };
        let known = Known::of(&command);
        for (key, value) in &self.table {
            let Value::Table(table) = value else { continue };
            known.check_command(key).map_err(named)?;
            for option in table.keys() {
                known.check_option(option, Some(key)).map_err(named)?;
            }
        }
        for key in self.table.iter().filter(|(_, value)| !value.is_table()).map(|(key, _)| key) {
            known.check_option(key, None).map_err(named)?;
        }
        for name in known.0.keys() {
            for (option, value) in self.said_to(name).into_iter().filter(|(option, _)| known.takes(name, option)) {
                let values = texts(option, value, known.is_switch(name, option)).map_err(named)?;
                command = command.mut_subcommand(name, |command| usually(command, option, &values));
            }
        }
        Ok(command)
    }

    /// Returns the settings for a command: those for all commands, overridden by its own.
    fn said_to(&self, command: &str) -> BTreeMap<&str, &Value> {
        let own = self.table.get(command).and_then(Value::as_table);
        let all = self.table.iter().filter(|(_, value)| !value.is_table());
        all.chain(own.into_iter().flatten()).map(|(option, value)| (option.as_str(), value)).collect()
    }
}

/// Describes a syntax error of a file, and its place.
fn syntax(text: &str, error: &toml::de::Error) -> InvalidConfig {
    let message = error.message().to_owned();
    let Some(span) = error.span() else { return InvalidConfig::Syntax { place: String::new(), message } };
    let before = text.get(..span.start).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|character| *character != '\n').count() + 1;
    InvalidConfig::Syntax { place: format!("line {line}, column {column}: "), message }
}

/// All that can be configured: commands, and their options, each with a flag that is true for switches.
struct Known(BTreeMap<String, BTreeMap<String, bool>>);

impl Known {
    fn of(command: &Command) -> Self {
        let options = |command: &Command| {
            let named = |option: &Arg| Some((option.get_long()?.to_owned(), !option.get_action().takes_values()));
            configurable(command).into_iter().filter_map(named).collect::<BTreeMap<_, _>>()
        };
        let commands = command.get_subcommands().map(|command| (command.get_name().to_owned(), options(command)));
        Self(commands.filter(|(_, options)| !options.is_empty()).collect())
    }

    fn takes(&self, command: &str, option: &str) -> bool {
        self.0.get(command).is_some_and(|options| options.contains_key(option))
    }

    fn is_switch(&self, command: &str, option: &str) -> bool {
        self.0.get(command).and_then(|options| options.get(option)).is_some_and(|is_switch| *is_switch)
    }

    fn check_command(&self, name: &str) -> Result<(), InvalidConfig> {
        if self.0.contains_key(name) {
            return Ok(());
        }
        Err(InvalidConfig::UnknownCommand { name: name.to_owned(), hint: suggest_word(name, self.0.keys()) })
    }

    fn check_option(&self, name: &str, command: Option<&str>) -> Result<(), InvalidConfig> {
        let named = |known: &str| command.is_none_or(|command| command == known);
        let options: BTreeSet<_> =
            self.0.iter().filter(|(known, _)| named(known)).flat_map(|(_, options)| options.keys()).collect();
        if options.contains(&name.to_owned()) {
            return Ok(());
        }
        let place = command.map(|command| format!(" in `[{command}]`")).unwrap_or_default();
        Err(InvalidConfig::UnknownKey { name: name.to_owned(), place, hint: suggest_word(name, options) })
    }
}

/// The options of a command and of those below it that can stand in the file: those that can be given by the environment.
pub(super) fn configurable(command: &Command) -> Vec<&Arg> {
    let stands =
        |option: &&Arg| option.get_env().is_some() && option.get_long().is_some_and(|name| name != super::OPTION);
    let own = command.get_arguments().filter(stands);
    own.chain(command.get_subcommands().flat_map(configurable)).collect()
}

/// Suggests a known word for a misspelt one.
fn suggest_word<'a>(word: &str, known: impl IntoIterator<Item = &'a String>) -> String {
    let near = did_you_mean(word, known.into_iter().map(String::as_str));
    near.map(|near| format!("; {near}")).unwrap_or_default()
}

/// Returns the values that the file gives an option, as texts.
fn texts(option: &str, value: &Value, is_switch: bool) -> Result<Vec<String>, InvalidConfig> {
    match value {
        _ if is_switch && !value.is_bool() => Err(InvalidConfig::NoSwitch(option.to_owned())),
        Value::Array(items) => items.iter().map(|item| text(option, item)).collect(),
        one => Ok(vec![text(option, one)?]),
    }
}

fn text(option: &str, value: &Value) -> Result<String, InvalidConfig> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(switch) => Ok(switch.to_string()),
        _ => Err(InvalidConfig::NoValue(option.to_owned())),
    }
}

/// The command for which these values of an option are usual, and those below it.
fn usually(mut command: Command, option: &str, values: &[String]) -> Command {
    let known = command.get_arguments().find(|argument| argument.get_long() == Some(option));
    if let Some(id) = known.map(|known| known.get_id().clone()) {
        command = command.mut_arg(id, |argument| argument.default_values(values.to_vec()));
    }
    command.mut_subcommands(|below| usually(below, option, values))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;

    use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

    use crate::configuration::{Unread, read};

    fn command() -> Command {
        let option = |name: &'static str| Arg::new(name).long(name).env(format!("TOUCHSTONE_OF_A_TEST_{name}"));
        let switch = option("no-worker").action(ArgAction::SetTrue);
        let config = Arg::new("config").long("config").global(true).value_parser(value_parser!(std::path::PathBuf));
        let number = option("streams").value_parser(value_parser!(u16)).default_value("7");
        let many = option("allow").action(ArgAction::Append);
        Command::new("t")
            .arg(config)
            .subcommand(Command::new("serve").args([option("listen"), number, switch, many]))
            .subcommand(Command::new("worker").args([option("poll"), option("data-dir"), Arg::new("all").long("all")]))
            .subcommand(Command::new("key").subcommand(Command::new("create").arg(option("url"))))
            .subcommand(Command::new("init"))
    }

    fn given(config: &str, arguments: &[&str]) -> Result<ArgMatches, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("touchstone.toml");
        fs::write(&path, config).expect("a file");
        let path = path.display().to_string();
        let words = [&["t"], arguments, &["--config", &path]].concat();
        let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        read(command(), &words).map_err(|unread| {
            let text = match unread {
                Unread::Arguments(error) => error.to_string(),
                Unread::File(error) => error.to_string(),
            };
            text.replace(&path, "FILE")
        })
    }

    fn serve(config: &str, arguments: &[&str]) -> ArgMatches {
        let matches = given(config, &[&["serve"], arguments].concat()).expect("arguments");
        matches.subcommand_matches("serve").expect("serve").clone()
    }

    #[test]
    fn what_is_nearer_counts() {
        let config = "streams = 8\nlisten = 'all'\n[serve]\nlisten = 'serve'\nno-worker = true\nallow = ['a', 'b']\n";
        let from_file = serve(config, &[]);
        assert_eq!(from_file.get_one::<u16>("streams"), Some(&8));
        assert_eq!(from_file.get_one::<String>("listen").map(String::as_str), Some("serve"));
        assert!(from_file.get_flag("no-worker"));
        assert_eq!(from_file.get_many::<String>("allow").map(Iterator::count), Some(2));
        let from_line = serve(config, &["--listen", "line", "--allow", "c"]);
        assert_eq!(from_line.get_one::<String>("listen").map(String::as_str), Some("line"));
        assert_eq!(from_line.get_many::<String>("allow").map(Iterator::count), Some(1));
        assert_eq!(serve("", &[]).get_one::<u16>("streams"), Some(&7));
        assert!(!serve("no-worker = false", &[]).get_flag("no-worker"));
        let matches = given("[key]\nurl = 'x'", &["key", "create"]).expect("arguments");
        let create = matches.subcommand_matches("key").and_then(|key| key.subcommand_matches("create"));
        assert_eq!(create.and_then(|create| create.get_one::<String>("url")).map(String::as_str), Some("x"));
    }

    #[track_caller]
    fn check(config: &str, expected: &str) {
        let problem = given(config, &["serve"]).expect_err("a mistake");
        assert!(problem.contains(expected), "{problem}");
    }

    #[test]
    fn mistakes_are_said_with_what_was_meant() {
        check("liste = 'x'", "the configuration `FILE`: unknown key `liste`; did you mean `listen`?");
        check("[serve]\npoll = '1s'", "unknown key `poll` in `[serve]`");
        check("[serv]\nlisten = 'x'", "there is no command `serv` to configure; did you mean `serve`?");
        check("[init]\nlisten = 'x'", "there is no command `init` to configure");
        check("all = 'x'", "unknown key `all`");
        check("config = 'x'", "unknown key `config`");
        check("no-worker = 'yes'", "`no-worker` must be true or false");
        check("listen = { a = 1 }", "there is no command `listen` to configure");
        check("listen = [[1]]", "`listen` must be a text, a number, true or false");
        check("listen", "the configuration `FILE`: line 1, column 7: key with no value");
        check("streams = 'many'", "`streams` is set in `FILE`");
        let gone = given("", &["serve", "--config=/gone.toml"]);
        assert!(gone.is_err());
    }
}
