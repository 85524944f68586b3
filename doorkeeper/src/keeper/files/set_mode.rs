//! Changing the permissions of a file or folder, without following a link out of its root.

use doorkeeper::protocol::{EntryKind, Failure};
use rustix::fs::{Mode, fchmod};
use rustix::io::Errno;

use super::super::identity::Identity;
use super::kind;
use super::root::{Last, Root, open_root};

/// Sets the permissions of a file or folder. A link is refused: it has none of its own.
pub(crate) fn set_mode(root: &[u8], path: &[u8], mode: u32, identity: &Identity) -> Result<(), Failure> {
    let root = open_root(root)?;
    change(&root, path, mode, identity).map_err(|errno| root.failure("change the permissions of", path, errno))
}

fn change(root: &Root, path: &[u8], mode: u32, identity: &Identity) -> Result<(), Errno> {
    let found = root.find(path, Last::Keep)?;
    let opened = match kind(&found.stat) {
        EntryKind::Directory => found.open_directory()?,
        _ => found.open_file()?,
    };
    // Only the owner of a file may change it.
    identity.as_owner(found.stat.st_uid, found.stat.st_gid, || fchmod(&opened, Mode::from_raw_mode(mode & 0o7777)))
}
