//! Marks of the sandboxes that are kept for a person to look into: a file for each, `<data-dir>/kept/<sandbox name>`.
//!
//! The parts of a sandbox cannot be labelled anew once they exist, so a file marks the sandbox as kept. It is written
//! while the sandbox's owner lives, and spares everything of the sandbox once the owner has gone. It contains the place
//! where the sandbox's doorkeeper looks for a visitor, the identity of the doorkeeper, and the visitor's user inside,
//! as JSON and without secrets.

mod visit;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::data_dir::DataDir;
use crate::door::Peer;

pub use visit::{Visit, VisitError, only_kept};

/// The way into a sandbox that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Entrance {
    /// The folder of this machine in which its doorkeeper looks for a visitor.
    pub(crate) door: PathBuf,
    /// Its doorkeeper, as the sandbox's owner saw it before the agent was there.
    pub(crate) doorkeeper: Peer,
    /// The visitor's user inside.
    pub(crate) visitor: Visitor,
}

/// User of a person inside a sandbox that is kept: the agent's user, with its variables.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Visitor {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// All other groups.
    pub groups: Vec<u32>,
    /// The variables that the agent had, without secrets.
    pub environment: BTreeMap<String, String>,
}

/// Notes that a sandbox is kept, and how to look into it.
pub(crate) fn mark(data_dir: &DataDir, sandbox: &str, entrance: &Entrance) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder(data_dir))?;
    let text = serde_json::to_string(entrance).map_err(io::Error::other)?;
    fs::write(folder(data_dir).join(sandbox), text)
}

/// Returns true if a sandbox is kept.
pub fn is_marked(data_dir: &DataDir, sandbox: &str) -> io::Result<bool> {
    // A label can say anything, and is no path.
    if sandbox.is_empty() || sandbox.contains('/') {
        return Ok(false);
    }
    folder(data_dir).join(sandbox).try_exists()
}

/// The names of all sandboxes that are kept.
pub fn marked(data_dir: &DataDir) -> io::Result<BTreeSet<String>> {
    let entries = match fs::read_dir(folder(data_dir)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(error),
    };
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// The way into a sandbox that is kept; `None` when it is not. A file that an earlier version wrote is invalid data.
fn entrance(data_dir: &DataDir, sandbox: &str) -> io::Result<Option<Entrance>> {
    if !is_marked(data_dir, sandbox)? {
        return Ok(None);
    }
    let text = fs::read_to_string(folder(data_dir).join(sandbox))?;
    serde_json::from_str(&text).map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Forgets that a sandbox was kept; it is fine when it was not.
pub(crate) fn unmark(data_dir: &DataDir, sandbox: &str) -> io::Result<()> {
    match fs::remove_file(folder(data_dir).join(sandbox)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn folder(data_dir: &DataDir) -> PathBuf {
    data_dir.path().join("kept")
}

#[cfg(test)]
mod tests {
    use super::{Entrance, Visitor, entrance, folder, is_marked, mark, marked, unmark};
    use crate::data_dir::DataDir;
    use crate::door::Peer;

    #[test]
    fn a_mark_is_there_until_it_is_removed() {
        let place = tempfile::tempdir().expect("a folder");
        let data_dir = DataDir::resolve(Some(place.path().to_owned())).expect("a data directory");
        assert!(marked(&data_dir).expect("a list").is_empty() && !is_marked(&data_dir, "ts-1").expect("an answer"));
        let environment = [("TASK".to_owned(), "two\nlines".to_owned())].into();
        let visitor = Visitor { uid: 1, gid: 2, groups: vec![3], environment };
        let written = Entrance { door: "/somewhere".into(), doorkeeper: Peer { pid: 4, uid: 5 }, visitor };
        mark(&data_dir, "ts-1", &written).expect("marked");
        assert!(is_marked(&data_dir, "ts-1").expect("an answer"));
        assert!(!is_marked(&data_dir, "").expect("an answer") && !is_marked(&data_dir, "../id").expect("an answer"));
        assert_eq!(Vec::from_iter(marked(&data_dir).expect("a list")), ["ts-1"]);
        assert_eq!(entrance(&data_dir, "ts-1").expect("an answer"), Some(written));
        assert_eq!(entrance(&data_dir, "../id").expect("an answer"), None);
        unmark(&data_dir, "ts-1").expect("removed");
        unmark(&data_dir, "ts-1").expect("nothing to do");
        assert!(marked(&data_dir).expect("a list").is_empty());
    }

    #[test]
    fn what_an_earlier_version_wrote_is_a_mark_and_no_way_in() {
        let place = tempfile::tempdir().expect("a folder");
        let data_dir = DataDir::resolve(Some(place.path().to_owned())).expect("a data directory");
        std::fs::create_dir(folder(&data_dir)).expect("a folder");
        std::fs::write(folder(&data_dir).join("ts-1"), "docker exec -it ts-1 sh\n{}\n").expect("written");
        assert!(is_marked(&data_dir, "ts-1").expect("an answer"));
        assert_eq!(entrance(&data_dir, "ts-1").expect_err("no way").kind(), std::io::ErrorKind::InvalidData);
    }
}
