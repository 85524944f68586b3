//! Files of the sandbox: found within a root, read, listed, compared, written, copied and removed.

mod copy;
mod fingerprint;
mod job;
mod put;
mod read;
mod remove;
mod root;
mod set_mode;
mod walk;
mod write;

pub(crate) use copy::Copy;
pub(crate) use fingerprint::Fingerprinting;
pub(crate) use job::{Job, Progress, Task};
pub(crate) use put::put;
pub(crate) use read::{Read, read_link};
pub(crate) use remove::Remove;
pub(crate) use set_mode::set_mode;
pub(crate) use walk::Walk;
pub(crate) use write::write;

use doorkeeper::protocol::EntryKind;
use rustix::fs::{FileType, Stat};

/// The longest path that is walked into or copied, which is also the longest that the kernel takes in one call.
const LONGEST_PATH: usize = 4096;

/// Returns the kind of an entry.
fn kind(stat: &Stat) -> EntryKind {
    match file_type(stat) {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    }
}

/// Returns the kernel's type of a file.
pub(crate) fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}
