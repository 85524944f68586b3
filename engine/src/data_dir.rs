//! The data directory, in which Touchstone keeps its files.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::entropy;

/// The folder in which Touchstone keeps its things, and its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDir {
    path: PathBuf,
    id: Uuid,
}

impl DataDir {
    /// The folder that was chosen, else that of `TOUCHSTONE_DATA_DIR`, else the usual place for state. It is made when it
    /// is not there, and open to nobody else.
    pub fn resolve(chosen: Option<PathBuf>) -> io::Result<Self> {
        let path = match chosen.or_else(|| folder("TOUCHSTONE_DATA_DIR")) {
            Some(path) => path,
            None => usual().ok_or_else(|| io::Error::other("there is no home directory"))?,
        };
        let named = |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display()));
        DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(named)?;
        let folder = path.canonicalize().map_err(named)?;
        let id = id(&folder).map_err(named)?;
        Ok(Self { path: folder, id })
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the id that distinguishes it from all others, wherever it is mounted.
    #[must_use]
    pub fn id(&self) -> Uuid {
        self.id
    }
}

fn folder(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn usual() -> Option<PathBuf> {
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")));
    state.map(|state| state.join("touchstone"))
}

/// The id in the folder; made once, by whoever comes first. One that is there is only read: a full or read-only disk must
/// not keep anybody from looking, or from making room.
fn id(folder: &Path) -> io::Result<Uuid> {
    let path = folder.join("id");
    if !path.exists() {
        make_id(folder, &path)?;
    }
    let text = fs::read_to_string(&path)?;
    let broken = |_| io::Error::other(format!("`{}` holds no id; remove it", path.display()));
    text.trim().parse().map_err(broken)
}

fn make_id(folder: &Path, path: &Path) -> io::Result<()> {
    let temporary = tempfile::NamedTempFile::new_in(folder)?;
    fs::write(temporary.path(), entropy::uuid().to_string())?;
    match temporary.persist_noclobber(path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::DataDir;

    #[test]
    fn a_folder_keeps_its_id() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = DataDir::resolve(Some(folder.path().join("data"))).expect("a data directory");
        let again = DataDir::resolve(Some(folder.path().join("data"))).expect("a data directory");
        assert_eq!(first, again);
        let other = DataDir::resolve(Some(folder.path().join("other"))).expect("a data directory");
        assert_ne!(first.id(), other.id());
    }

    #[test]
    fn a_folder_that_is_there_is_not_written_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let changed = || folder.path().metadata().and_then(|folder| folder.modified()).expect("a time");
        DataDir::resolve(Some(folder.path().to_owned())).expect("a data directory");
        let before = changed();
        DataDir::resolve(Some(folder.path().to_owned())).expect("a data directory");
        assert_eq!(changed(), before);
    }

    #[test]
    fn a_broken_id_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("id"), "x").expect("written");
        let error = DataDir::resolve(Some(folder.path().to_owned())).expect_err("broken");
        assert!(error.to_string().contains("holds no id"), "{error}");
    }
}
