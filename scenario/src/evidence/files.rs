//! The result of a file probe.

use serde::{Deserialize, Serialize};

use super::blob::Blob;

/// The entries that a path or glob names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Files {
    /// Each entry, sorted by path; empty when nothing exists.
    pub entries: Vec<FileEntry>,
    /// True when there were more entries than a probe returns.
    #[serde(default)]
    pub incomplete: bool,
}

/// One entry of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// The path, relative to the workspace.
    pub path: String,
    /// The kind of the entry.
    pub kind: FileKind,
    /// Its size in bytes.
    pub size: u64,
    /// The SHA-256 of its whole content, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The content from its beginning, when it was asked for; shorter than `size` when the file is too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Blob>,
    /// The reason why the content could not be read, such as "permission denied".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The kind of an entry of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A regular file, or a link to one inside the workspace.
    File,
    /// A folder, or a link to one inside the workspace.
    Directory,
    /// A link that leads nowhere or out of the workspace.
    BrokenLink,
    /// A pipe, socket or device.
    Other,
}

impl FileKind {
    /// Describes it for a message.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::BrokenLink => "a link that leads nowhere in the workspace",
            Self::Other => "a pipe, socket or device",
        }
    }
}
