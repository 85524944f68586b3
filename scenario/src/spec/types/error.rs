//! The reasons why a text is no pattern, glob or path.

use super::pattern::{MOST_BRACES, MOST_GLOB};

/// The reason why an expression is not a regular expression.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PatternError {
    /// It is not written as one. The parser shows the expression, and says in its last line what is wrong.
    #[error("{}", last_line(.0))]
    Syntax(String),
    /// It is small to write and large to match.
    #[error("it becomes too large; `(?-u:\\w)` and shorter repetitions are smaller")]
    TooLarge,
    /// Any other.
    #[error(transparent)]
    Other(regex::Error),
}

impl From<regex::Error> for PatternError {
    fn from(error: regex::Error) -> Self {
        match error {
            regex::Error::Syntax(shown) => Self::Syntax(shown),
            regex::Error::CompiledTooBig(_) => Self::TooLarge,
            other => Self::Other(other),
        }
    }
}

fn last_line(shown: &str) -> &str {
    shown.lines().last().unwrap_or("syntax error").trim_start_matches("error: ")
}

/// The reason why a text is no glob.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GlobError {
    /// It is too long, or has too many braces.
    #[error("it has more than {MOST_GLOB} characters or {MOST_BRACES} braces")]
    TooLong,
    /// It is not written as one.
    #[error("{}", .0.kind())]
    Syntax(#[source] globset::Error),
    /// Its regular expression cannot be used.
    #[error(transparent)]
    Expression(#[from] PatternError),
}

/// The reason why a path is none in the workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkspacePathError {
    /// It is absolute, and not below the workspace.
    #[error("the path `{0}` is outside the workspace")]
    Outside(String),
    /// It has a step up.
    #[error("the path `{0}` may leave the workspace")]
    StepUp(String),
    /// There is nothing, or what no path has.
    #[error("the path is empty")]
    Empty,
}

/// The reason why a path is none of an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImagePathError {
    /// It does not begin with a slash.
    #[error("the path `{0}` is not absolute")]
    Relative(String),
    /// It has a step up, or what no path has.
    #[error("the path `{0}` is not one without `..`")]
    StepUp(String),
    /// It is the root.
    #[error("the path `/` is the whole image")]
    Root,
    /// It may stand for several paths.
    #[error("the path `{0}` is a template or a glob, where only a path can be")]
    NotLiteral(String),
    /// It is in the workspace.
    #[error("the path `{0}` is in the workspace, which is copied anyway")]
    InWorkspace(String),
    /// It is in a folder that the kernel or the sandbox makes.
    #[error("the path `{path}` is in `{folder}`, which belongs to no image")]
    NotOfImage {
        /// The path.
        path: String,
        /// The folder.
        folder: &'static str,
    },
}
