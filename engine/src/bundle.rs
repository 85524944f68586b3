//! The files beside a spec.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The folder of a bundle with the files of a command that acts in place of the spec's agent. They come to `/opt/agent`.
pub const AGENT_FILES: &str = ".agent";

/// The folder that a spec was found in; a spec that stands alone has none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BundleFolder(Option<PathBuf>);

/// A file of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleFile {
    /// The path below the folder that was asked for.
    pub path: String,
    /// True when it may be executed.
    pub executable: bool,
    /// The content.
    pub content: Vec<u8>,
}

impl BundleFolder {
    /// The files in this folder.
    #[must_use]
    pub fn at(folder: PathBuf) -> Self {
        Self(Some(folder))
    }

    /// No files at all.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Returns the place of a path of the bundle.
    #[must_use]
    pub fn locate(&self, path: &str) -> Option<PathBuf> {
        self.0.as_ref().map(|folder| folder.join(path))
    }

    /// Returns true if there is such a file.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.locate(path).is_some_and(|path| path.is_file())
    }

    /// Whether there is such a folder.
    #[must_use]
    pub fn has_folder(&self, path: &str) -> bool {
        self.locate(path).is_some_and(|path| path.is_dir())
    }

    /// The content of a file.
    pub fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        fs::read(self.locate(path).ok_or(io::ErrorKind::NotFound)?)
    }

    /// The files below a folder, sorted.
    pub fn files(&self, folder: &str) -> io::Result<Vec<BundleFile>> {
        let root = self.locate(folder).ok_or(io::ErrorKind::NotFound)?;
        let mut files = Vec::new();
        collect(&root, Path::new(""), &mut files)?;
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(files)
    }
}

fn collect(root: &Path, below: &Path, files: &mut Vec<BundleFile>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(root, &path, files)?;
        } else if kind.is_file() {
            let executable = entry.metadata()?.permissions().mode() & 0o100 != 0;
            let content = fs::read(entry.path())?;
            files.push(BundleFile { path: path.to_string_lossy().into_owned(), executable, content });
        }
    }
    Ok(())
}
