//! Snapshots of the workspace before and after the agent, and the changes between them.

use std::collections::{BTreeMap, HashMap};

use doorkeeper::protocol::{Entry, EntryKind, Fingerprint};
use scenario::evidence::WorkspaceChanges;

use crate::backend::WORKSPACE;
use crate::door::{Door, DoorError};

/// Number of entries that are looked at.
pub(crate) const MOST_ENTRIES: u64 = 200_000;
/// Number of bytes of files that are compared.
pub(crate) const MOST_COMPARED: u64 = 2 << 30;
/// Number of changed paths of a kind that are kept.
const MOST_PATHS: usize = 1000;

/// Contents of the workspace at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    entries: BTreeMap<Vec<u8>, State>,
    /// Fingerprints of files, with their contents, by inode.
    fingerprints: HashMap<u64, Fingerprint>,
    incomplete: bool,
}

/// Differences between two moments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Changes {
    /// Paths that did not exist before.
    pub(crate) added: Vec<String>,
    /// Paths that do not exist any more.
    pub(crate) removed: Vec<String>,
    /// Paths that were changed.
    pub(crate) modified: Vec<String>,
    /// True when there were more entries than are looked at.
    pub(crate) incomplete: bool,
    /// Number of files that look unchanged, but were too much to compare their contents.
    pub(crate) not_compared: usize,
}

/// Metadata that shows quickly whether an entry was changed. The time of its last change is the kernel's, and nobody
/// can set it back; but it tells nothing of writes through shared mappings, so that contents are compared where all of
/// this is the same.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    kind: EntryKind,
    inode: u64,
    size: u64,
    changed_ns: i64,
}

impl State {
    fn of(entry: &Entry) -> Self {
        Self { kind: entry.kind, inode: entry.inode, size: entry.size, changed_ns: entry.changed_ns }
    }
}

impl Snapshot {
    /// Lists the workspace, and reads all of its files.
    pub(crate) async fn take(door: &Door) -> Result<Self, DoorError> {
        let mut snapshot = Self::list(door).await?;
        let files = snapshot.files_where(|_, _| true);
        snapshot.read(door, files).await?;
        Ok(snapshot)
    }

    /// Lists the workspace again, and reads the files that look as they did before: all others are known to be
    /// different.
    pub(crate) async fn take_after(door: &Door, before: &Self) -> Result<Self, DoorError> {
        let mut snapshot = Self::list(door).await?;
        let files = snapshot.files_where(|path, state| before.entries.get(path) == Some(state));
        snapshot.read(door, files).await?;
        Ok(snapshot)
    }

    async fn list(door: &Door) -> Result<Self, DoorError> {
        let listing = door.walk(WORKSPACE, b".", MOST_ENTRIES, true).await?;
        Ok(Self::of(listing.entries, listing.incomplete))
    }

    fn of(entries: Vec<Entry>, incomplete: bool) -> Self {
        let entries = entries.into_iter().map(|entry| (entry.path.clone(), State::of(&entry))).collect();
        Self { entries, fingerprints: HashMap::new(), incomplete }
    }

    /// Returns true if an entry is as it was at this moment, by its metadata.
    pub(crate) fn has(&self, entry: &Entry) -> bool {
        self.entries.get(&entry.path) == Some(&State::of(entry))
    }

    /// Takes an entry as it is now for what it was at this moment, because somebody else than the agent changed it.
    pub(crate) fn put(&mut self, entry: &Entry, fingerprint: Option<Fingerprint>) {
        self.entries.insert(entry.path.clone(), State::of(entry));
        self.fingerprints.extend(fingerprint.map(|fingerprint| (entry.inode, fingerprint)));
    }

    /// Files by inode: one with several names only once.
    fn files_where(&self, is_wanted: impl Fn(&[u8], &State) -> bool) -> BTreeMap<u64, Vec<u8>> {
        let files = self.entries.iter().filter(|(path, state)| state.kind == EntryKind::File && is_wanted(path, state));
        files.map(|(path, state)| (state.inode, path.clone())).collect()
    }

    /// Reads files.
    async fn read(&mut self, door: &Door, files: BTreeMap<u64, Vec<u8>>) -> Result<(), DoorError> {
        let (inodes, paths): (Vec<_>, Vec<_>) = files.into_iter().unzip();
        let found = door.fingerprints(WORKSPACE, paths, MOST_COMPARED).await?;
        self.fingerprints = inodes.into_iter().zip(found).filter_map(|(inode, one)| Some((inode, one?))).collect();
        Ok(())
    }

    /// Returns true if everything in the workspace was looked at and read, so that a change would be seen.
    pub(crate) fn is_complete(&self) -> bool {
        !self.incomplete && self.fingerprints.values().all(|one| one.whole)
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

    /// Returns the differences in `later`. Folders are not listed as modified: their content is.
    pub(crate) fn changes(&self, later: &Self) -> Changes {
        let missing_in = |other: &Self, path: &Vec<u8>| !other.entries.contains_key(path);
        let added = later.entries.keys().filter(|path| missing_in(self, path));
        let removed = self.entries.keys().filter(|path| missing_in(later, path));
        let mut changes = Changes {
            added: added.map(|path| shown(path)).collect(),
            removed: removed.map(|path| shown(path)).collect(),
            incomplete: self.incomplete || later.incomplete,
            ..Changes::default()
        };
        for (path, state) in &later.entries {
            let Some(before) = self.entries.get(path) else { continue };
            match self.compare(before, state, later) {
                Compared::Same => {}
                Compared::Different => changes.modified.push(shown(path)),
                Compared::Unknown => changes.not_compared += 1,
            }
        }
        changes
    }

    fn compare(&self, before: &State, after: &State, later: &Self) -> Compared {
        match (before.kind, after.kind) {
            (EntryKind::Directory, EntryKind::Directory) => Compared::Same,
            _ if before != after => Compared::Different,
            (EntryKind::File, _) => {
                Compared::of(self.fingerprints.get(&before.inode), later.fingerprints.get(&after.inode))
            }
            _ => Compared::Same,
        }
    }
}

/// Result of comparing the contents of a file at two moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compared {
    /// The contents are the same.
    Same,
    /// The contents differ.
    Different,
    /// The contents were not read.
    Unknown,
}

impl Compared {
    /// Compares what a file was like at two moments, at both of which it was looked at.
    pub(crate) fn of(before: Option<&Fingerprint>, after: Option<&Fingerprint>) -> Self {
        match (before, after) {
            (Some(before), Some(after)) if before.whole && after.whole => {
                if before == after {
                    Self::Same
                } else {
                    Self::Different
                }
            }
            // Even so, what is known of them can be different.
            (Some(before), Some(after)) if before.whole == after.whole && before.digest != after.digest => {
                Self::Different
            }
            _ => Self::Unknown,
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
            incomplete: self.incomplete || self.not_compared > 0 || all.iter().any(|paths| paths.len() > MOST_PATHS),
        }
    }
}

#[cfg(test)]
mod tests {
    use doorkeeper::protocol::{Entry, EntryKind, Fingerprint};

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
        assert_eq!(changes.not_compared, 1, "nobody read `e`");
    }

    #[test]
    fn what_somebody_else_changed_is_no_work_of_the_agent() {
        let file = |path: &str, changed, inode| Entry { inode, ..entry(path, EntryKind::File, changed) };
        let fingerprint = |digest| Fingerprint { digest: [digest; 32], whole: true };
        let mut before = Snapshot::of(vec![file("a", 1, 1)], false);
        before.fingerprints.insert(1, fingerprint(1));
        assert!(before.has(&file("a", 1, 1)) && !before.has(&file("a", 2, 1)) && !before.has(&file("b", 1, 1)));
        before.put(&file("a", 5, 1), Some(fingerprint(2)));
        before.put(&file("b", 5, 2), Some(fingerprint(3)));
        let after = |changed, digest| {
            let mut after = Snapshot::of(vec![file("a", 5, 1), file("b", changed, 2)], false);
            after.fingerprints.extend([(1, fingerprint(digest)), (2, fingerprint(3))]);
            after
        };
        assert_eq!(before.changes(&after(5, 2)), super::Changes::default(), "nothing is the agent's");
        assert_eq!(before.changes(&after(6, 9)).modified, ["a", "b"], "both were written after that");
    }

    #[test]
    fn contents_are_compared_where_everything_else_is_the_same() {
        let snapshot = |contents: [(u8, bool); 3]| {
            let entries = ["a", "b", "c"].map(|path| entry(path, EntryKind::File, 1));
            let mut snapshot = Snapshot::of(entries.to_vec(), false);
            for (inode, (state, (content, whole))) in snapshot.entries.values_mut().zip(contents).enumerate() {
                state.inode = inode as u64;
                snapshot.fingerprints.insert(inode as u64, Fingerprint { digest: [content; 32], whole });
            }
            snapshot
        };
        let before = snapshot([(1, true), (2, true), (3, false)]);
        let changes = before.changes(&snapshot([(1, true), (9, true), (3, false)]));
        assert_eq!((changes.modified.as_slice(), changes.not_compared), (["b".to_owned()].as_slice(), 1));
        assert!(changes.first().incomplete && !before.is_complete());
        assert!(before.changes(&snapshot([(1, true), (2, true), (9, false)])).modified == ["c"]);
    }
}
