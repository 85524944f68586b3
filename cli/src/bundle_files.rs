//! The files beside a spec.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use scenario::spec::{Bundle, BundleError, MAX_BUNDLE_FILES};
use store::SpecFile;
use walkdir::{DirEntry, WalkDir};

/// The reason why the files beside a spec cannot be taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BundleFilesError {
    /// The folder cannot be read.
    #[error("the spec's folder cannot be read: {0}")]
    Folder(#[source] walkdir::Error),
    /// The folder contains a link.
    #[error("`{0}` in the spec's folder is a link; only files are taken")]
    Link(String),
    /// The folder contains something that is neither a file nor a folder.
    #[error("`{0}` in the spec's folder is a pipe, a socket or a device; only files are taken")]
    SpecialFile(String),
    /// A file name is not valid UTF-8.
    #[error("`{0}` in the spec's folder has a name that is not UTF-8; rename it")]
    NotUtf8(String),
    /// A file cannot be looked at.
    #[error("`{name}` cannot be read: {cause}")]
    File {
        name: String,
        #[source]
        cause: walkdir::Error,
    },
    /// There are too many files, or they are too large.
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

/// The names and sizes of the files in a spec's folder, and the texts of those that it is read with.
pub(crate) fn bundle(folder: &Path) -> Result<Bundle, BundleFilesError> {
    let mut files = Vec::new();
    for entry in entries(folder) {
        let entry = entry.map_err(BundleFilesError::Folder)?;
        let path = entry.path().strip_prefix(folder).unwrap_or(entry.path());
        let name = path.to_string_lossy().into_owned();
        let kind = entry.file_type();
        if kind.is_symlink() {
            return Err(BundleFilesError::Link(name));
        }
        if !kind.is_file() && !kind.is_dir() {
            return Err(BundleFilesError::SpecialFile(name));
        }
        if path.to_str().is_none() {
            return Err(BundleFilesError::NotUtf8(name));
        }
        if kind.is_file() {
            match entry.metadata() {
                Ok(metadata) => files.push((name, metadata.len())),
                Err(cause) => return Err(BundleFilesError::File { name, cause }),
            }
        }
        if files.len() > MAX_BUNDLE_FILES {
            break;
        }
    }
    // A file that cannot be read has no text, and the spec that needs it is refused.
    Ok(Bundle::new(files)?.with_texts(|path| fs::read(folder.join(path)).ok()))
}

/// All files in a spec's folder, with their contents. Links were refused when the spec was read.
pub(crate) fn files(folder: &Path) -> io::Result<Vec<SpecFile>> {
    let mut files = Vec::new();
    for entry in entries(folder) {
        let entry = entry?;
        if !entry.file_type().is_file() {
            continue;
        }
        let path = entry.path().strip_prefix(folder).unwrap_or(entry.path()).to_string_lossy().into_owned();
        let executable = entry.metadata()?.permissions().mode() & 0o100 != 0;
        files.push(SpecFile { path, executable, content: fs::read(entry.path())? });
    }
    Ok(files)
}

/// Lists a folder without our own data directories: data that a run stores is no part of the spec.
fn entries(folder: &Path) -> impl Iterator<Item = walkdir::Result<DirEntry>> {
    WalkDir::new(folder).sort_by_file_name().into_iter().filter_entry(|entry| !is_data_dir(entry))
}

fn is_data_dir(entry: &DirEntry) -> bool {
    let path = entry.path();
    entry.depth() > 0 && entry.file_type().is_dir() && path.join("owners").is_dir() && path.join("id").is_file()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{bundle, files};

    #[test]
    fn what_a_run_keeps_is_no_part_of_its_spec() {
        let folder = tempfile::tempdir().expect("a folder");
        let data_dir = folder.path().join("data");
        fs::create_dir_all(data_dir.join("owners")).expect("folders");
        for file in ["spec.yaml", "data/id", "data/touchstone.db", "id"] {
            fs::write(folder.path().join(file), "x").expect("a file");
        }
        let taken: Vec<_> = files(folder.path()).expect("files").into_iter().map(|file| file.path).collect();
        assert_eq!(taken, ["id", "spec.yaml"]);
        assert_eq!(bundle(folder.path()).expect("a bundle").paths().collect::<Vec<_>>(), taken);
    }
}
