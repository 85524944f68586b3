//! Which sandboxes are kept for a person to look into: a file for each, `<data-dir>/kept/<sandbox name>`.
//!
//! What a sandbox is made of cannot be labelled anew once it is there, so the file says it. It is written while the
//! sandbox's owner lives, and spares everything of the sandbox once the owner has gone. Its first line is the command that leads
//! inside, its second one the variables that the agent had, as JSON and without secrets.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use crate::data_dir::DataDir;
use crate::environment::Environment;

/// How a person looks into a sandbox that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entrance {
    /// The command that leads inside: words for no shell in particular, of which the last is the program that is started there.
    pub command: Vec<String>,
    /// The variables that the agent had, without secrets.
    pub environment: Environment,
}

/// Notes that a sandbox is kept, and how to look into it.
pub(crate) fn mark(data_dir: &DataDir, sandbox: &str, entrance: &str, environment: &Environment) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder(data_dir))?;
    let environment = serde_json::to_string(environment).map_err(io::Error::other)?;
    fs::write(folder(data_dir).join(sandbox), format!("{entrance}\n{environment}\n"))
}

/// Whether a sandbox is kept.
pub(crate) fn is_marked(data_dir: &DataDir, sandbox: &str) -> io::Result<bool> {
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

/// The way into a sandbox that is kept; `None` when it is not.
pub fn entrance(data_dir: &DataDir, sandbox: &str) -> io::Result<Option<Entrance>> {
    if !is_marked(data_dir, sandbox)? {
        return Ok(None);
    }
    let text = fs::read_to_string(folder(data_dir).join(sandbox))?;
    let mut lines = text.lines();
    let command = lines.next().unwrap_or_default().split_whitespace().map(ToOwned::to_owned).collect();
    // An older version wrote no variables.
    let environment = lines.next().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
    Ok(Some(Entrance { command, environment }))
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
    use super::{Entrance, entrance, is_marked, mark, marked, unmark};
    use crate::data_dir::DataDir;
    use crate::environment::Environment;

    #[test]
    fn a_mark_is_there_until_it_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let data_dir = DataDir::resolve(Some(folder.path().to_owned())).expect("a data directory");
        assert!(marked(&data_dir).expect("a list").is_empty() && !is_marked(&data_dir, "ts-1").expect("an answer"));
        let environment = Environment::from([("TASK".to_owned(), "two\nlines".to_owned())]);
        mark(&data_dir, "ts-1", "look inside", &environment).expect("marked");
        assert!(is_marked(&data_dir, "ts-1").expect("an answer"));
        assert!(!is_marked(&data_dir, "").expect("an answer") && !is_marked(&data_dir, "../id").expect("an answer"));
        assert_eq!(Vec::from_iter(marked(&data_dir).expect("a list")), ["ts-1"]);
        assert_eq!(
            entrance(&data_dir, "ts-1").expect("an answer"),
            Some(Entrance { command: vec!["look".to_owned(), "inside".to_owned()], environment })
        );
        assert_eq!(entrance(&data_dir, "../id").expect("an answer"), None);
        unmark(&data_dir, "ts-1").expect("removed");
        unmark(&data_dir, "ts-1").expect("nothing to do");
        assert!(marked(&data_dir).expect("a list").is_empty());
    }
}
