//! Who made what: every process of ours holds a lock, and everything it makes names the lock.
//!
//! Alive means that the lock on `<data-dir>/owners/<uuid>.lock` is held. The kernel frees it when the process ends, however
//! it ends, so a sweep can tell what a crash left behind from what a living sibling uses, without a database.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::data_dir::DataDir;
use crate::entropy;

/// This process, for as long as it lives.
#[derive(Debug)]
pub struct Owner {
    id: Uuid,
    data_dir: DataDir,
    lock: File,
}

/// Whether a maker of things still lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It holds its lock.
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

    /// Where it keeps its things.
    #[must_use]
    pub fn data_dir(&self) -> &DataDir {
        &self.data_dir
    }

    /// The folder for the doors of this owner's sandboxes.
    #[must_use]
    pub fn doors(&self) -> PathBuf {
        doors(self.data_dir.path()).join(self.id.to_string())
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = fs::remove_dir(self.doors());
        let _ = fs::remove_file(lock_path(self.data_dir.path(), self.id));
        let _ = self.lock.unlock();
    }
}

/// Whether the owner with this id still lives.
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

/// Removes the locks and door folders of owners that are gone. Call it once nothing else of theirs is left. Returns how
/// many folders were removed.
pub fn forget_the_gone(data_dir: &DataDir) -> io::Result<usize> {
    let mut removed = 0;
    for id in listed(&doors(data_dir.path()))? {
        if life_of(data_dir, id)? == Life::Gone {
            fs::remove_dir_all(doors(data_dir.path()).join(id.to_string()))?;
            removed += 1;
        }
    }
    for id in listed(&owners(data_dir.path()))? {
        bury(&lock_path(data_dir.path(), id))?;
    }
    Ok(removed)
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

/// Whether a path still leads to an open file.
fn is_file_of(path: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let inode = file.metadata()?.ino();
    Ok(fs::metadata(path).is_ok_and(|found| found.ino() == inode))
}

/// The ids that the entries of a folder begin with.
fn listed(folder: &Path) -> io::Result<Vec<Uuid>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let names: Vec<_> = entries.collect::<Result<_, _>>()?;
    let stem = |entry: &fs::DirEntry| entry.path().file_stem()?.to_str()?.parse().ok();
    Ok(names.iter().filter_map(stem).collect())
}

fn owners(data_dir: &Path) -> PathBuf {
    data_dir.join("owners")
}

fn doors(data_dir: &Path) -> PathBuf {
    data_dir.join("doors")
}

fn lock_path(data_dir: &Path, id: Uuid) -> PathBuf {
    owners(data_dir).join(format!("{id}.lock"))
}

#[cfg(test)]
mod tests {
    use super::{Life, Owner, forget_the_gone, life_of};
    use crate::data_dir::DataDir;
    use crate::entropy;

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
}
