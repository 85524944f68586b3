//! Values of secrets that are given with a command, in a file: a command line can be read by everybody on the machine.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;

use clap::Args;

use crate::output::CommandError;

/// Where values of secrets are given.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SecretOptions {
    /// Take values of secrets from this file, with a line NAME=VALUE for each, before the sources that specs name.
    #[arg(long, value_name = "FILE")]
    secrets_from: Option<PathBuf>,
}

impl SecretOptions {
    /// The values of the file.
    pub(crate) fn read(&self) -> Result<Forwarded, CommandError> {
        let Some(path) = &self.secrets_from else { return Ok(Forwarded::default()) };
        let named =
            |error: &dyn fmt::Display| CommandError::Usage(format!("--secrets-from `{}`: {error}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| named(&error))?;
        Forwarded::parse(&text).map_err(|error| named(&error))
    }
}

/// Values of secrets that were given, by name.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Forwarded(BTreeMap<String, String>);

/// The reason why a text gives no values, without them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ForwardedError {
    /// A line is something else.
    #[error("line {line} is not NAME=VALUE")]
    NoPair { line: usize },
    /// A name has a value already.
    #[error("line {line} gives `{name}` a second time")]
    Twice { line: usize, name: String },
}

impl Forwarded {
    /// Parses values from lines `NAME=VALUE`. A value may stand between quotes, and `export` before the name; lines
    /// that begin with `#` are comments. Error messages never contain the value.
    pub(super) fn parse(text: &str) -> Result<Self, ForwardedError> {
        let mut values = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let line = line.strip_prefix("export ").map_or(line, str::trim_start);
            let pair = line.split_once('=').map(|(name, value)| (name.trim_end(), value.trim_start()));
            let Some((name, value)) = pair.filter(|(name, _)| is_name(name)) else {
                return Err(ForwardedError::NoPair { line: index + 1 });
            };
            if values.insert(name.to_owned(), unquoted(value).to_owned()).is_some() {
                return Err(ForwardedError::Twice { line: index + 1, name: name.to_owned() });
            }
        }
        Ok(Self(values))
    }

    /// These values.
    pub(crate) fn of(values: BTreeMap<String, String>) -> Self {
        Self(values)
    }

    /// The value of a secret.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

impl fmt::Debug for Forwarded {
    /// Without the values.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A value without the quotes around it.
fn unquoted(value: &str) -> &str {
    let between = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    between('"').or_else(|| between('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::Forwarded;

    #[test]
    fn lines_are_read() {
        let given = Forwarded::parse("# a\n\n A = b c \nexport B='x # y'\nC=\"=\"\nD=it's\n").expect("values");
        let values: Vec<_> = given.0.iter().map(|(name, value)| format!("{name}:{value}")).collect();
        assert_eq!(values, ["A:b c", "B:x # y", "C:=", "D:it's"]);
        assert!(!format!("{given:?}").contains("b c"));
    }

    #[test]
    fn mistakes_are_said_without_the_value() {
        for (text, expected) in [
            ("A=1\nsecret", "line 2 is not NAME=VALUE"),
            ("=secret", "line 1 is not NAME=VALUE"),
            ("MY KEY=secret", "line 1 is not NAME=VALUE"),
            ("A=secret\nA=secret", "line 2 gives `A` a second time"),
        ] {
            assert_eq!(Forwarded::parse(text).expect_err(text).to_string(), expected);
        }
    }
}
