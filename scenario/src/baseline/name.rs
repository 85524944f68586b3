//! The name of a baseline: `main`, or `main@feature/x` for what a branch has of it.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::untrusted;

/// The longest name.
const MOST_NAME: usize = 64;
/// The longest name of a branch.
const MOST_BRANCH: usize = 200;

/// The name of a baseline. A branch has a line of its own of each baseline; a spec of which the branch kept nothing is looked
/// for in the baseline itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct BaselineName {
    name: String,
    branch: Option<String>,
}

/// The reason why a text is no name of a baseline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaselineNameError {
    /// The name has characters that no name has, or it is too long.
    #[error(
        "`{}` is no name of a baseline: it has 1 to {MOST_NAME} letters, digits, `.`, `_` and `-`, and begins with a letter or digit",
        untrusted::line(.0, 100)
    )]
    Name(String),
    /// The same for the branch.
    #[error(
        "`{}` is no branch of a baseline: it has 1 to {MOST_BRANCH} letters, digits, `.`, `_`, `/`, `+`, `#` and `-`",
        untrusted::line(.0, 100)
    )]
    Branch(String),
}

impl BaselineName {
    /// The baseline with this name, or what a branch has of it.
    pub fn new(name: &str, branch: Option<&str>) -> Result<Self, BaselineNameError> {
        let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if !begins || name.len() > MOST_NAME || !name.bytes().all(|byte| is_plain(byte, b"._-")) {
            return Err(BaselineNameError::Name(name.to_owned()));
        }
        let is_branch = |branch: &str| {
            (1..=MOST_BRANCH).contains(&branch.len()) && branch.bytes().all(|byte| is_plain(byte, b"._-/+#"))
        };
        if let Some(wrong) = branch.filter(|branch| !is_branch(branch)) {
            return Err(BaselineNameError::Branch(wrong.to_owned()));
        }
        Ok(Self { name: name.to_owned(), branch: branch.map(ToOwned::to_owned) })
    }

    /// The name without the branch.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The branch, if one is meant.
    #[must_use]
    pub fn branch(&self) -> Option<&str> {
        self.branch.as_deref()
    }

    /// The same baseline without a branch.
    #[must_use]
    pub fn trunk(&self) -> Self {
        Self { name: self.name.clone(), branch: None }
    }
}

fn is_plain(byte: u8, besides: &[u8]) -> bool {
    byte.is_ascii_alphanumeric() || besides.contains(&byte)
}

impl FromStr for BaselineName {
    type Err = BaselineNameError;

    fn from_str(text: &str) -> Result<Self, BaselineNameError> {
        match text.split_once('@') {
            Some((name, branch)) => Self::new(name, Some(branch)),
            None => Self::new(text, None),
        }
    }
}

impl fmt::Display for BaselineName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.branch {
            Some(branch) => write!(formatter, "{}@{branch}", self.name),
            None => formatter.write_str(&self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BaselineName;

    #[test]
    fn a_name_may_have_a_branch_and_is_written_as_it_was_read() {
        for text in ["main", "release-1.2_x", "main@feature/x", "main@fix#12+a"] {
            let name: BaselineName = text.parse().expect("a name");
            assert_eq!(name.to_string(), text);
        }
        let name: BaselineName = "main@feature/x".parse().expect("a name");
        assert_eq!((name.name(), name.branch(), name.trunk().to_string()), ("main", Some("feature/x"), "main".into()));
    }

    #[test]
    fn what_is_no_name_is_refused_with_the_characters_that_are_allowed() {
        for wrong in ["", ".main", "-main", "a b", "a/b", "main@", "main@a b", "main@a@b", "\u{1b}[2J", &"x".repeat(65)]
        {
            let error = wrong.parse::<BaselineName>().expect_err("refused").to_string();
            assert!(error.contains("letters, digits") && !error.contains('\u{1b}'), "{wrong}: {error}");
        }
    }
}
