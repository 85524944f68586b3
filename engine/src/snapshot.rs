//! What the workspace held before and after the agent, and what changed between.

use std::collections::BTreeMap;

use doorkeeper::protocol::{Entry, EntryKind};
use scenario::evidence::WorkspaceChanges;

use crate::backend::WORKSPACE;
use crate::door::{Door, DoorError};

/// How many entries are looked at.
const MOST_ENTRIES: u64 = 200_000;
/// How many changed paths of a kind are kept.
const MOST_PATHS: usize = 1000;

/// What the workspace held at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    entries: BTreeMap<Vec<u8>, State>,
    incomplete: bool,
}

/// Everything that is different between two moments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Changes {
    /// What was not there before.
    pub(crate) added: Vec<String>,
    /// What is not there any more.
    pub(crate) removed: Vec<String>,
    /// What was changed.
    pub(crate) modified: Vec<String>,
    /// Set when there was more than is looked at.
    pub(crate) incomplete: bool,
}

/// What tells whether an entry was changed. The time of its last change is the kernel's: nobody can set it back.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    kind: EntryKind,
    inode: u64,
    size: u64,
    changed_ns: i64,
}

impl Snapshot {
    /// Looks at the workspace.
    pub(crate) async fn take(door: &Door) -> Result<Self, DoorError> {
        let listing = door.walk(WORKSPACE, b".", MOST_ENTRIES, true).await?;
        Ok(Self::of(listing.entries, listing.incomplete))
    }

    fn of(entries: Vec<Entry>, incomplete: bool) -> Self {
        let state = |entry: &Entry| State {
            kind: entry.kind,
            inode: entry.inode,
            size: entry.size,
            changed_ns: entry.changed_ns,
        };
        Self { entries: entries.into_iter().map(|entry| (entry.path.clone(), state(&entry))).collect(), incomplete }
    }

    /// The files, with their sizes.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let files = self.entries.iter().filter(|(_, state)| state.kind == EntryKind::File);
        files.map(|(path, state)| (path.as_slice(), state.size))
    }

    /// The size of a file; `None` when there is none of this name.
    pub(crate) fn file_size(&self, path: &[u8]) -> Option<u64> {
        self.entries.get(path).filter(|state| state.kind == EntryKind::File).map(|state| state.size)
    }

    /// What is different in `later`. Folders are not listed as modified: their content is.
    pub(crate) fn changes(&self, later: &Self) -> Changes {
        let modified = |(path, state): (&Vec<u8>, &State)| {
            let before = self.entries.get(path)?;
            let folder = before.kind == EntryKind::Directory && state.kind == EntryKind::Directory;
            (before != state && !folder).then(|| shown(path))
        };
        Changes {
            added: later
                .entries
                .keys()
                .filter(|path| !self.entries.contains_key(*path))
                .map(|path| shown(path))
                .collect(),
            removed: self
                .entries
                .keys()
                .filter(|path| !later.entries.contains_key(*path))
                .map(|path| shown(path))
                .collect(),
            modified: later.entries.iter().filter_map(modified).collect(),
            incomplete: self.incomplete || later.incomplete,
        }
    }
}

fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

impl Changes {
    /// The first of them, which is what a reader wants to see.
    pub(crate) fn first(&self) -> WorkspaceChanges {
        let all = [&self.added, &self.removed, &self.modified];
        let first = |paths: &[String]| paths.iter().take(MOST_PATHS).cloned().collect();
        WorkspaceChanges {
            added: first(&self.added),
            removed: first(&self.removed),
            modified: first(&self.modified),
            incomplete: self.incomplete || all.iter().any(|paths| paths.len() > MOST_PATHS),
        }
    }
}

#[cfg(test)]
mod tests {
    use doorkeeper::protocol::{Entry, EntryKind};

    use super::Snapshot;

    fn entry(path: &str, kind: EntryKind, changed_ns: i64) -> Entry {
        Entry {
            path: path.into(),
            kind,
            leads_to: Some(kind),
            size: 0,
            mode: 0o644,
            uid: 0,
            gid: 0,
            inode: 1,
            modified_ns: 0,
            changed_ns,
        }
    }

    #[test]
    fn what_was_added_removed_and_modified_is_told_apart() {
        let file = |path, changed| entry(path, EntryKind::File, changed);
        let folder = |path, changed| entry(path, EntryKind::Directory, changed);
        let before = Snapshot::of(vec![file("a", 1), file("b", 1), folder("d", 1), file("e", 1)], false);
        let after = Snapshot::of(vec![file("a", 2), folder("d", 2), file("d/c", 2), file("e", 1)], false);
        let changes = before.changes(&after);
        assert_eq!(
            (changes.added, changes.removed, changes.modified),
            (vec!["d/c".into()], vec!["b".into()], vec!["a".into()])
        );
    }
}
