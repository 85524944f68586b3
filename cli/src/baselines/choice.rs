//! A baseline as somebody names it: a file, or one that is kept by name.

use std::fmt;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::str::FromStr;

use scenario::baseline::{BaselineName, BaselineNameError};

/// A baseline as somebody names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BaselineChoice {
    /// A report in a file.
    File(PathBuf),
    /// A baseline that is kept by name.
    Named(BaselineName),
}

impl FromStr for BaselineChoice {
    type Err = BaselineNameError;

    /// A word is a file when there is one, when it ends with `.json`, or when it is a path and no name of a branch's line.
    fn from_str(text: &str) -> Result<Self, BaselineNameError> {
        let path = Path::new(text);
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        let name = text.parse::<BaselineName>();
        if path.is_file() || is_json || (name.is_err() && text.contains(MAIN_SEPARATOR)) {
            return Ok(Self::File(path.to_owned()));
        }
        name.map(Self::Named)
    }
}

impl fmt::Display for BaselineChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => {
                formatter.write_str(&path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default())
            }
            Self::Named(name) => name.fmt(formatter),
        }
    }
}

impl BaselineChoice {
    /// The file, if it is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Named(_) => None,
        }
    }

    /// The file with its folders, or the name.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Named(name) => name.to_string(),
        }
    }

    /// The same of a branch, unless it is a file or names a branch itself.
    pub(crate) fn of_branch(self, branch: Option<&str>) -> Result<Self, BaselineNameError> {
        match self {
            Self::Named(name) if name.branch().is_none() => BaselineName::new(name.name(), branch).map(Self::Named),
            other => Ok(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BaselineChoice;

    fn read(text: &str) -> String {
        match text.parse() {
            Ok(BaselineChoice::File(path)) => format!("file {}", path.display()),
            Ok(BaselineChoice::Named(name)) => format!("name {name}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_word_is_a_file_or_a_name() {
        for (text, expected) in [
            ("main", "name main"),
            ("main@feature/x", "name main@feature/x"),
            ("main.json", "file main.json"),
            ("out/main", "file out/main"),
            ("./main", "file ./main"),
            ("Cargo.toml", "file Cargo.toml"),
        ] {
            assert_eq!(read(text), expected);
        }
        assert!(read("a b").contains("is no name of a baseline"));
    }

    #[test]
    fn the_branch_of_an_option_is_that_of_a_name_without_one() {
        let of = |text: &str| text.parse::<BaselineChoice>().and_then(|one| one.of_branch(Some("x"))).expect("one");
        assert_eq!([of("main"), of("main@y"), of("b.json")].map(|one| one.to_string()), ["main@x", "main@y", "b.json"]);
    }
}
