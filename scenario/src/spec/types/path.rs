//! Paths that stay where they belong.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::error::{ImagePathError, WorkspacePathError};
use super::pattern::Glob;
use crate::spec::code::Code;
use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::Shape;
use crate::spec::template::{Bindings, Text};
use crate::spec::yaml::Node;

/// Path of the workspace inside the sandbox.
pub(crate) const WORKSPACE: &str = "/workspace";

/// A path or glob in the workspace: relative to it, or absolute below `/workspace`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct WorkspacePath(Text);

impl WorkspacePath {
    /// The path relative to the workspace, with templates replaced, unless it leaves the workspace then.
    pub fn render(&self, bindings: &dyn Bindings) -> Result<String, WorkspacePathError> {
        relative(&self.0.render(bindings))
    }

    /// The path as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        self.0.source()
    }
}

impl Readable for WorkspacePath {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let text = Text::read(node, reader)?;
        match relative(text.as_literal().unwrap_or(text.source())) {
            Ok(_) if text.as_literal().is_none() => Some(Self(text)),
            Ok(path) if path == "stdout.log" || path == "stderr.log" => {
                let help = "to judge what the agent printed, use `llm_as_judge` with `input_from: agent_output`, or let the agent write a file";
                reader.report(
                    Code::StdoutFile,
                    node.span,
                    "the agent's output is not written to a file",
                    Some(help.to_owned()),
                );
                None
            }
            Ok(path) if Glob::is_glob(&path) => Glob::read(node, reader).map(|_| Self(text)),
            Ok(_) => Some(Self(text)),
            Err(problem) => {
                reader.report(
                    Code::InvalidPath,
                    node.span,
                    problem.to_string(),
                    Some("paths are relative to the workspace".to_owned()),
                );
                None
            }
        }
    }

    fn shape() -> Shape {
        Shape::Text
    }
}

/// A glob over the workspace: relative to it, or absolute below `/workspace`. `*` stays within a folder, `**` crosses them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct WorkspaceGlob(Glob);

impl WorkspaceGlob {
    /// Returns true if the pattern matches a path relative to the workspace.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        self.0.matches(path)
    }
}

impl Readable for WorkspaceGlob {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Some(path) = node.scalar() else {
            return reader.wrong_type(node, "a path or a glob");
        };
        let problem = match relative(path).map(|path| Glob::new(&path)) {
            Ok(Ok(glob)) => return Some(Self(glob)),
            Ok(Err(problem)) => format!("{} is not a glob: {problem}", node.describe()),
            Err(problem) => problem.to_string(),
        };
        reader.report(Code::InvalidPath, node.span, problem, Some("paths are relative to the workspace".to_owned()));
        None
    }

    fn shape() -> Shape {
        Shape::Text
    }
}

/// A path relative to the workspace without `.` steps, or why it is none.
fn relative(path: &str) -> Result<String, WorkspacePathError> {
    let below = match path.strip_prefix(WORKSPACE) {
        Some("") => "",
        Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/'),
        _ if path.starts_with('/') => return Err(WorkspacePathError::Outside(path.to_owned())),
        _ => path,
    };
    let steps: Vec<_> = below.split('/').filter(|step| !step.is_empty() && *step != ".").collect();
    if steps.contains(&"..") {
        return Err(WorkspacePathError::StepUp(path.to_owned()));
    }
    if path.is_empty() || path.contains('\0') {
        return Err(WorkspacePathError::Empty);
    }
    Ok(if steps.is_empty() { ".".to_owned() } else { steps.join("/") })
}

/// A path of the spec's own folder.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize)]
#[serde(transparent)]
pub struct BundlePath(String);

impl BundlePath {
    /// The path, relative to the spec's folder.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Readable for BundlePath {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Some(path) = node.scalar() else {
            return reader.wrong_type(node, "a path in the spec's folder");
        };
        match relative(path) {
            Ok(path) => Some(Self(path)),
            Err(_) => {
                let message = format!("the path `{path}` is outside the spec's folder");
                reader.report(
                    Code::InvalidPath,
                    node.span,
                    message,
                    Some("name a file that is kept beside `spec.yaml`".to_owned()),
                );
                None
            }
        }
    }

    fn shape() -> Shape {
        Shape::Text
    }
}

/// An absolute path of the image, outside the workspace and the kernel's file systems.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ImagePath(String);

/// Folders of a sandbox that belong to no image.
const NOT_OF_IMAGE: [&str; 5] = ["/proc", "/sys", "/dev", "/.touchstone", WORKSPACE];

impl ImagePath {
    /// `path` without empty steps, when it is one of an image.
    pub fn new(path: &str) -> Result<Self, ImagePathError> {
        let steps: Vec<_> = path.split('/').filter(|step| !step.is_empty() && *step != ".").collect();
        let tidy = Self(format!("/{}", steps.join("/")));
        if !path.starts_with('/') {
            return Err(ImagePathError::Relative(path.to_owned()));
        }
        if steps.contains(&"..") || path.contains('\0') {
            return Err(ImagePathError::StepUp(path.to_owned()));
        }
        if steps.is_empty() {
            return Err(ImagePathError::Root);
        }
        if path.contains("{{") || Glob::is_glob(path) {
            return Err(ImagePathError::NotLiteral(path.to_owned()));
        }
        let folder = NOT_OF_IMAGE.iter().find(|folder| tidy.is_within(&Self((**folder).to_owned())));
        match folder {
            Some(&WORKSPACE) => Err(ImagePathError::InWorkspace(path.to_owned())),
            Some(folder) => Err(ImagePathError::NotOfImage { path: path.to_owned(), folder }),
            None => Ok(tidy),
        }
    }

    /// The path, without a slash at its end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if the path equals another one, or is below it.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.strip_prefix(&other.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for ImagePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Readable for ImagePath {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Some(path) = node.scalar() else {
            return reader.wrong_type(node, "an absolute path");
        };
        match Self::new(path) {
            Ok(path) => Some(path),
            Err(problem) => {
                let help = "name a folder or file of the image, such as `/etc/nginx`";
                reader.report(Code::InvalidPath, node.span, problem.to_string(), Some(help.to_owned()));
                None
            }
        }
    }

    fn shape() -> Shape {
        Shape::Text
    }
}

/// A path anywhere in the sandbox; relative ones are in the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SandboxPath(Text);

impl SandboxPath {
    /// The workspace itself.
    #[must_use]
    pub fn workspace() -> Self {
        Self(Text::literal(WORKSPACE))
    }

    /// The path as it was written, when it names no parameter.
    #[must_use]
    pub fn as_literal(&self) -> Option<&str> {
        self.0.as_literal()
    }

    /// The absolute path, with templates replaced.
    #[must_use]
    pub fn render(&self, bindings: &dyn Bindings) -> String {
        let path = self.0.render(bindings);
        if path.starts_with('/') { path } else { format!("{WORKSPACE}/{path}") }
    }
}

impl Readable for SandboxPath {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let text = Text::read(node, reader)?;
        if text.source().is_empty() || text.source().contains('\0') || text.source().split('/').any(|step| step == "..")
        {
            reader.report(
                Code::InvalidPath,
                node.span,
                format!("{} is not a path without `..`", node.describe()),
                None,
            );
            return None;
        }
        Some(Self(text))
    }

    fn shape() -> Shape {
        Shape::Text
    }
}

#[cfg(test)]
mod tests {
    use super::relative;

    #[test]
    fn workspace_paths_are_made_relative_and_stay_inside() {
        for (path, expected) in [
            ("a/b", "a/b"),
            ("./a", "a"),
            ("/workspace/a", "a"),
            ("/workspace", "."),
            ("a//b/", "a/b"),
            ("reports/*.json", "reports/*.json"),
        ] {
            assert_eq!(relative(path).as_deref(), Ok(expected), "{path}");
        }
        for path in ["", "/etc/passwd", "../x", "a/../../x", "/workspaces/x"] {
            assert!(relative(path).is_err(), "{path}");
        }
    }
}
