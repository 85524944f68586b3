//! Ownership of everything that is made: every process of ours holds a lock, and everything it makes names the lock.
//!
//! Alive means that the lock on `<data-dir>/owners/<uuid>.lock` is held. The kernel frees it when the process ends, however
//! it ends, so a sweep can tell what a crash left behind from what a living sibling uses, without a database.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::data_dir::DataDir;
use crate::entropy;
use crate::kept;

/// This process as an owner, for as long as it lives.
#[derive(Debug)]
pub struct Owner {
    id: Uuid,
    data_dir: DataDir,
    lock: File,
}

/// Tells if an owner still lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// The owner holds its lock.
    Alive,
    /// Its lock is free, or was never there.
    Gone,
}

impl Owner {
    /// Takes a new lock in this data directory.
    pub fn register(data_dir: DataDir) -> io::Result<Self> {
        let id = entropy::uuid();
        fs::create_dir_all(owners(data_dir.path()))?;
        let path = lock_path(data_dir.path(), id);
        let lock = OpenOptions::new().create_new(true).write(true).open(&path)?;
        // Between making the file and locking it, a sweep may have taken it for a dead owner's: then try another one.
        match lock.try_lock() {
            Ok(()) if is_file_of(&path, &lock)? => Ok(Self { id, data_dir, lock }),
            Ok(()) | Err(TryLockError::WouldBlock) => Self::register(data_dir),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// The owner's id, which everything it makes is labelled with.
    #[must_use]
    pub fn id(&self) -> Uuid {
        self.id
    }

    /// Returns its data directory.
    #[must_use]
    pub fn data_dir(&self) -> &DataDir {
        &self.data_dir
    }

    /// The folder for the doors of this owner's sandboxes.
    #[must_use]
    pub fn doors(&self) -> PathBuf {
        doors(self.data_dir.path()).join(self.id.to_string())
    }

    /// The folder for what this owner needs for a moment. It is made now, open to nobody else; when it cannot be made,
    /// whoever uses it finds out. It goes with the owner, or when a sweep finds that the owner has gone.
    #[must_use]
    pub fn scratch(&self) -> PathBuf {
        let path = scratch(self.data_dir.path()).join(self.id.to_string());
        let _ = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        path
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(scratch(self.data_dir.path()).join(self.id.to_string()));
        let _ = fs::remove_dir(self.doors());
        let _ = fs::remove_file(lock_path(self.data_dir.path(), self.id));
        let _ = self.lock.unlock();
    }
}

/// Tells if the owner with this id still lives.
pub fn life_of(data_dir: &DataDir, id: Uuid) -> io::Result<Life> {
    let path = lock_path(data_dir.path(), id);
    let lock = match OpenOptions::new().write(true).open(&path) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Life::Gone),
        Err(error) => return Err(error),
    };
    match lock.try_lock() {
        Ok(()) => Ok(Life::Gone),
        Err(TryLockError::WouldBlock) => Ok(Life::Alive),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Removes the locks, door folders and temporary folders of owners that are gone. Call it once nothing else of theirs is
/// left. Returns how many folders were removed.
///
/// Doors of sandboxes that are kept stay. What cannot be removed keeps nothing else from being removed; the first problem is
/// returned then.
pub fn forget_the_gone(data_dir: &DataDir) -> io::Result<usize> {
    let mut results = Vec::new();
    for folder in [doors(data_dir.path()), scratch(data_dir.path())] {
        results.extend(listed(&folder)?.into_iter().map(|id| remove_if_gone(data_dir, &folder, id)));
    }
    for id in listed(&owners(data_dir.path()))? {
        results.push(bury(&lock_path(data_dir.path(), id)).map(|()| 0));
    }
    // All of it was tried by now.
    results.into_iter().sum()
}

/// The folders with the doors of one sandbox, whoever owns it.
pub(crate) fn doors_of(data_dir: &DataDir, sandbox: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for id in listed(&doors(data_dir.path()))? {
        let folder = doors(data_dir.path()).join(id.to_string());
        found.extend(names(&folder)?.iter().filter(|name| is_door_of(name, sandbox)).map(|name| folder.join(name)));
    }
    Ok(found)
}

/// Removes the doors of one sandbox, whoever owns it. Returns how many folders were removed.
pub(crate) fn remove_doors(data_dir: &DataDir, sandbox: &str) -> io::Result<usize> {
    let mut removed = 0;
    for id in listed(&doors(data_dir.path()))? {
        let folder = doors(data_dir.path()).join(id.to_string());
        for name in names(&folder)?.iter().filter(|name| is_door_of(name, sandbox)) {
            remove_all(&folder.join(name))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Removes an owner's folder when the owner has gone, but for what belongs to sandboxes that are kept. Returns how many
/// folders were removed.
fn remove_if_gone(data_dir: &DataDir, parent: &Path, id: Uuid) -> io::Result<usize> {
    if life_of(data_dir, id)? == Life::Alive {
        return Ok(0);
    }
    // Asked after its end: what it kept is marked by now.
    let kept = kept::marked(data_dir)?;
    let is_kept = |name: &&String| kept.iter().any(|sandbox| is_door_of(name, sandbox));
    let folder = parent.join(id.to_string());
    let names = names(&folder)?;
    if !names.iter().any(|name| is_kept(&name)) {
        return remove_all(&folder).map(|()| 1);
    }
    names.iter().filter(|name| !is_kept(name)).try_for_each(|name| remove_all(&folder.join(name)))?;
    Ok(0)
}

/// Returns true if a folder is a door of a sandbox: its own, or that of a network beside it.
fn is_door_of(name: &str, sandbox: &str) -> bool {
    name.strip_prefix(sandbox).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// Removes a folder that somebody else may be removing too.
fn remove_all(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Removes a lock that nobody holds, while holding it: whoever was about to take it sees that it is not there any more.
fn bury(path: &Path) -> io::Result<()> {
    let removed = OpenOptions::new().write(true).open(path).and_then(|lock| match lock.try_lock() {
        Ok(()) => fs::remove_file(path),
        Err(TryLockError::WouldBlock) => Ok(()),
        Err(TryLockError::Error(error)) => Err(error),
    });
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Returns true if a path still leads to an open file.
fn is_file_of(path: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let inode = file.metadata()?.ino();
    Ok(fs::metadata(path).is_ok_and(|found| found.ino() == inode))
}

/// The ids that the entries of a folder begin with.
fn listed(folder: &Path) -> io::Result<Vec<Uuid>> {
    let stem = |name: &String| Path::new(name).file_stem()?.to_str()?.parse().ok();
    Ok(names(folder)?.iter().filter_map(stem).collect())
}

/// Lists the names in a folder; none when the folder does not exist.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

fn owners(data_dir: &Path) -> PathBuf {
    data_dir.join("owners")
}

fn doors(data_dir: &Path) -> PathBuf {
    data_dir.join("doors")
}

fn scratch(data_dir: &Path) -> PathBuf {
    data_dir.join("scratch")
}

fn lock_path(data_dir: &Path, id: Uuid) -> PathBuf {
    owners(data_dir).join(format!("{id}.lock"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{Life, Owner, forget_the_gone, life_of, remove_doors};
    use crate::data_dir::DataDir;
    use crate::kept::Entrance;
    use crate::{entropy, kept};

    fn data_dir() -> (tempfile::TempDir, DataDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let data_dir = DataDir::resolve(Some(folder.path().to_owned())).expect("a data directory");
        (folder, data_dir)
    }

    #[test]
    fn an_owner_lives_until_it_is_dropped() {
        let (_folder, data_dir) = data_dir();
        let owner = Owner::register(data_dir.clone()).expect("an owner");
        let id = owner.id();
        assert_eq!(life_of(&data_dir, id).expect("an answer"), Life::Alive);
        drop(owner);
        assert_eq!(life_of(&data_dir, id).expect("an answer"), Life::Gone);
    }

    #[test]
    fn an_owner_that_never_was_is_gone() {
        let (_folder, data_dir) = data_dir();
        assert_eq!(life_of(&data_dir, entropy::uuid()).expect("an answer"), Life::Gone);
    }

    #[test]
    fn a_sweep_spares_the_living_and_forgets_the_dead() {
        let (folder, data_dir) = data_dir();
        let owner = Owner::register(data_dir.clone()).expect("an owner");
        std::fs::create_dir_all(owner.doors().join("one")).expect("a door");
        let dead = folder.path().join("doors").join(entropy::uuid().to_string());
        std::fs::create_dir_all(dead.join("two")).expect("a door");
        std::fs::write(folder.path().join(format!("owners/{}.lock", entropy::uuid())), "").expect("a lock");
        assert_eq!(forget_the_gone(&data_dir).expect("swept"), 1);
        assert!(!dead.exists() && owner.doors().join("one").exists());
        assert_eq!(std::fs::read_dir(folder.path().join("owners")).expect("a folder").count(), 1);
    }

    #[test]
    fn a_door_of_a_kept_sandbox_stays_as_long_as_it_is_kept() {
        let (folder, data_dir) = data_dir();
        let dead = folder.path().join("doors").join(entropy::uuid().to_string());
        for name in ["ts-a-1", "ts-a-1_net-db", "ts-a-12", "ts-b-1"] {
            std::fs::create_dir_all(dead.join(name)).expect("a door");
        }
        kept::mark(&data_dir, "ts-a-1", &Entrance::default()).expect("marked");
        assert_eq!(forget_the_gone(&data_dir).expect("swept"), 0);
        let mut left = super::names(&dead).expect("names");
        left.sort();
        assert_eq!(left, ["ts-a-1", "ts-a-1_net-db"]);
        assert_eq!(remove_doors(&data_dir, "ts-a-1").expect("removed"), 2);
        kept::unmark(&data_dir, "ts-a-1").expect("forgotten");
        assert_eq!(forget_the_gone(&data_dir).expect("swept"), 1);
        assert!(!dead.exists());
    }

    #[test]
    fn temporary_files_go_with_their_owner_or_with_a_sweep() {
        let (folder, data_dir) = data_dir();
        let owner = Owner::register(data_dir.clone()).expect("an owner");
        let own = owner.scratch();
        assert_eq!(std::fs::metadata(&own).expect("a folder").permissions().mode() & 0o777, 0o700);
        std::fs::write(own.join("file"), "x").expect("a file");
        let dead = folder.path().join("scratch").join(entropy::uuid().to_string());
        std::fs::create_dir_all(dead.join("deep")).expect("a folder");
        assert_eq!(forget_the_gone(&data_dir).expect("swept"), 1);
        assert!(own.join("file").exists() && !dead.exists(), "the living are spared");
        drop(owner);
        assert!(!own.exists());
    }
}
