//! Changes over a folder that a box is made from: the box's own layer.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstatfs, openat2, statat};
use rustix::io::Errno;

use super::{MOUNTED, is_above_scratch, is_scratch};

/// Number of changed paths that are kept.
const MOST_CHANGES: usize = 200_000;
/// Number of entries of a layer that are looked at.
const MOST_ENTRIES: usize = 2_000_000;
/// Prefix that marks a file of the image as removed.
const WHITEOUT: &[u8] = b".wh.";
/// Marks of a folder that replaces that of the image; no program made these files, and the folder itself is listed.
const OPAQUE: [&str; 2] = [".wh..opq", ".wh..wh..opq"];

/// Numbers of file systems (ext4, XFS, Btrfs) that keep the time of every write, also of one through a shared mapping.
/// Those in memory do not.
const TELL_EVERY_WRITE: [u64; 3] = [0xEF53, 0x5846_5342, 0x9123_683E];

/// Contents of a layer: paths, and the time when each was changed.
#[derive(Debug, Default)]
pub(crate) struct Layer {
    /// The paths, and when each was changed.
    pub(crate) changes: BTreeMap<Vec<u8>, i64>,
    /// True when there is something that was not looked at.
    pub(crate) incomplete: bool,
    /// True when every write to a file changes its time.
    pub(crate) times_tell: bool,
    /// Number of bytes that it holds.
    bytes: u64,
    entries: usize,
    /// True when there is something whose size is not in the sum.
    unmeasured: bool,
}

/// Reads a whole layer.
///
/// The agent made what is in it, and may be changing it: folders are opened below the layer without following any link,
/// one at a time and by a list instead of recursion, because they can be deeper than a stack or a table of descriptors.
pub(crate) fn read(layer_folder: &Path) -> io::Result<Layer> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(layer_folder, flags, Mode::empty())?;
    let mut layer = Layer { times_tell: times_tell(&root), ..Layer::default() };
    let mut pending = vec![PathBuf::from(".")];
    while let Some(below) = pending.pop() {
        let folder = match open_below(&root, &below, flags) {
            Ok(folder) => folder,
            // It went, or is too deep to be named.
            Err(error) => {
                // Nobody asks for what is in scratch folders.
                layer.incomplete |= !is_scratch(&shown(&below).to_string_lossy());
                layer.unmeasured |= error != Errno::NOENT;
                continue;
            }
        };
        if layer.add_folder(&folder, &below, &mut pending).is_err() || layer.entries > MOST_ENTRIES {
            layer.incomplete = true;
        }
        if layer.entries > MOST_ENTRIES {
            layer.unmeasured = true;
            break;
        }
    }
    Ok(layer)
}

/// Returns true if the file system of a layer keeps the time of every write.
fn times_tell(root: &OwnedFd) -> bool {
    let number = fstatfs(root).ok().and_then(|system| u64::try_from(system.f_type).ok());
    number.is_some_and(|number| TELL_EVERY_WRITE.contains(&number))
}

/// Opens a folder of a layer. Where we are no more than the user who made it, it may have been closed to us as well; the box
/// does not see that it is opened again, because it remembers what it set.
fn open_below(root: &OwnedFd, below: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let open = |flags| openat2(root, below, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS);
    match open(flags) {
        Err(Errno::ACCESS) => {
            let closed = open(OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)?;
            rustix::fs::chmod(format!("/proc/self/fd/{}", closed.as_raw_fd()), Mode::RWXU)?;
            open(flags)
        }
        opened => opened,
    }
}

impl Layer {
    /// Returns the number of bytes that were written. A layer that could not be measured may have any size, and counts
    /// as the largest.
    pub(crate) fn size(&self) -> u64 {
        if self.unmeasured { u64::MAX } else { self.bytes }
    }

    /// Adds what is in a folder, and notes the folders in it.
    fn add_folder(&mut self, folder: &OwnedFd, below: &Path, pending: &mut Vec<PathBuf>) -> io::Result<()> {
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." || OPAQUE.iter().any(|marker| name == *marker) {
                continue;
            }
            // What went while we looked was not there.
            if let Ok(stat) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                self.add(below, name, &stat, pending);
            }
        }
        Ok(())
    }

    fn add(&mut self, below: &Path, name: &OsStr, stat: &Stat, pending: &mut Vec<PathBuf>) {
        let own_name = OsStr::from_bytes(name.as_bytes().strip_prefix(WHITEOUT).unwrap_or(name.as_bytes()));
        let path = shown(below).join(own_name);
        let shown = path.to_string_lossy();
        self.entries += 1;
        self.bytes += stat.st_blocks.unsigned_abs() * 512;
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if is_folder {
            pending.push(below.join(name));
        }
        // Nobody asks for what is in scratch folders, nor for the folders above them, which are in the layer because of
        // them; and they must not crowd out the rest.
        if is_ours(&shown) || is_scratch(&shown) || (is_folder && is_above_scratch(&shown)) {
            return;
        }
        if self.changes.len() >= MOST_CHANGES {
            self.incomplete = true;
            return;
        }
        let changed = stat.st_ctime.saturating_mul(1_000_000_000);
        self.changes.insert(
            path.as_os_str().as_bytes().to_vec(),
            changed.saturating_add(i64::try_from(stat.st_ctime_nsec).unwrap_or(0)),
        );
    }
}

/// A path of a layer as it is in the box.
fn shown(below: &Path) -> PathBuf {
    Path::new("/").join(below.strip_prefix(".").unwrap_or(below))
}

/// Returns true if a path is a place where something of ours is mounted; the agent may have put more beside it.
pub(crate) fn is_ours(path: &str) -> bool {
    MOUNTED.contains(&path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::read;

    #[test]
    fn a_layer_is_read_however_deep_it_is_and_without_following_links() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join(["a"; 1500].join("/"))).expect("folders");
        fs::create_dir_all(folder.path().join(".touchstone/door")).expect("folders");
        fs::create_dir_all(folder.path().join("var/tmp/x")).expect("folders");
        fs::write(folder.path().join(".touchstone/mine"), vec![1; 10_000]).expect("a file");
        fs::write(folder.path().join(".wh.gone"), "").expect("a whiteout");
        symlink("/etc", folder.path().join("link")).expect("a link");
        let layer = read(folder.path()).expect("a layer");
        for path in ["/gone", "/a/a", "/.touchstone/mine", "/link"] {
            assert!(layer.changes.contains_key(path.as_bytes()), "{path}");
        }
        for path in ["/.touchstone/door", "/var", "/var/tmp/x", "/link/passwd"] {
            assert!(!layer.changes.contains_key(path.as_bytes()), "{path}");
        }
        assert!(layer.bytes >= 10_000 && !layer.incomplete);
    }
}
