//! Copying a folder with owners, permissions and times.

use std::collections::HashMap;
use std::os::fd::OwnedFd;

use doorkeeper::protocol::{Copied, Event, Failure};
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, SeekFrom, Stat, Timespec, Timestamps, fstat, ftruncate, futimens, linkat,
    mkdirat, mkfifoat, open, openat, readlinkat, seek, statat, symlinkat, unlinkat, utimensat,
};
use rustix::io::{Errno, retry_on_intr};

use super::super::clock::Turn;
use super::super::failure::{failed, show};
use super::super::identity::Identity;
use super::super::outbox::Outbox;
use super::job::Progress;
use super::write::{finish, make_directory, write_all};
use super::{LONGEST_PATH, file_type};

/// Number of bytes that are copied at once.
const PIECE: usize = 128 * 1024;

/// Depth limit of folders: each on the way is open three times.
const DEEPEST: usize = 300;

/// Number of files with several names that are remembered; later ones become separate files.
const MOST_LINKS: usize = 10_000;

/// A folder that is being copied.
pub(crate) struct Copy {
    /// The folders from the first to where copying is.
    folders: Vec<Folder>,
    /// The file that is being copied.
    file: Option<OpenFile>,
    /// Counts of the copied entries and bytes.
    copied: Copied,
    /// Path of the copy of each file with several names, below the folder that is copied into.
    links: HashMap<u64, Vec<u8>>,
}

/// A folder on the way.
struct Folder {
    /// Its path, for messages.
    path: Vec<u8>,
    /// The names in it.
    names: Dir,
    /// The source.
    from: OwnedFd,
    /// The destination.
    to: OwnedFd,
    /// Metadata that the copy gets in the end; `None` for the outermost folder, which stays as it is.
    stat: Option<Stat>,
}

/// A file that is copied in part.
struct OpenFile {
    /// Its path, for messages.
    path: Vec<u8>,
    /// The source.
    from: OwnedFd,
    /// The destination.
    to: OwnedFd,
    /// Metadata that the copy gets in the end.
    stat: Stat,
    /// Offset of the next piece.
    offset: u64,
    /// End of the data that `offset` is in. Between data are holes, which are not written.
    data_end: u64,
}

/// An error, and the path that it is about.
type PathError = (Errno, Vec<u8>);

impl Copy {
    /// Opens both folders. The second is made when it is not there.
    pub(crate) fn begin(from: &[u8], to: &[u8], identity: &Identity) -> Result<Self, Failure> {
        let opened = open_both(from, to, identity);
        let (source, target) = opened.map_err(|errno| failed(errno, format!("copy {} to {}", show(from), show(to))))?;
        let folder = Folder::new(from.to_vec(), source, target, None)
            .map_err(|(errno, path)| failed(errno, format!("copy {}", show(&path))))?;
        let copied = Copied { entries: 0, bytes: 0, skipped: 0 };
        Ok(Self { folders: vec![folder], file: None, copied, links: HashMap::new() })
    }

    /// Copies for one turn.
    pub(crate) fn step(&mut self, id: u32, turn: &Turn, identity: &Identity, outbox: &mut Outbox) -> Progress {
        while !turn.is_over() {
            match self.advance(identity) {
                Ok(true) => {}
                Ok(false) => {
                    outbox.push(Event::Copied { id, copied: self.copied });
                    return Progress::Finished;
                }
                Err((errno, path)) => {
                    outbox.answer(id, Err(failed(errno, format!("copy {}", show(&path)))));
                    return Progress::Finished;
                }
            }
        }
        Progress::More
    }

    /// Copies a piece of a file, or the next entry, or leaves a folder. `false` means that all was copied.
    fn advance(&mut self, identity: &Identity) -> Result<bool, PathError> {
        if let Some(file) = &mut self.file {
            match file.copy_piece(identity) {
                Ok(Some(bytes)) => self.copied.bytes += bytes,
                Ok(None) => self.file = None,
                Err(errno) => return Err((errno, file.path.clone())),
            }
            return Ok(true);
        }
        let Some(folder) = self.folders.last_mut() else { return Ok(false) };
        match folder.names.read() {
            None => self.leave(identity)?,
            Some(Err(errno)) => return Err((errno, folder.path.clone())),
            Some(Ok(entry)) => self.copy_entry(entry.file_name().to_bytes(), identity)?,
        }
        Ok(true)
    }

    /// Leaves a folder; only now its permissions and times can be set.
    fn leave(&mut self, identity: &Identity) -> Result<(), PathError> {
        let Some(Folder { path, to, stat: Some(stat), .. }) = self.folders.pop() else { return Ok(()) };
        settle(&to, &stat, identity).map_err(|errno| (errno, path))
    }

    /// Copies an entry of the innermost folder, or starts to.
    fn copy_entry(&mut self, name: &[u8], identity: &Identity) -> Result<(), PathError> {
        if name == b"." || name == b".." {
            return Ok(());
        }
        let Some(folder) = self.folders.last() else { return Ok(()) };
        let path = [folder.path.as_slice(), b"/", name].concat();
        if path.len() > LONGEST_PATH || self.folders.len() > DEEPEST {
            return Err((Errno::NAMETOOLONG, path));
        }
        let stat = match statat(&folder.from, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(errno) => return Err((errno, path)),
        };
        self.copy_as(file_type(&stat), name, &path, &stat, identity).map_err(|errno| (errno, path))
    }

    /// Copies an entry by its type.
    fn copy_as(
        &mut self,
        file_type: FileType,
        name: &[u8],
        path: &[u8],
        stat: &Stat,
        identity: &Identity,
    ) -> Result<(), Errno> {
        let Some(folder) = self.folders.last() else { return Ok(()) };
        let (from, to) = (&folder.from, &folder.to);
        let as_owner = |work: &dyn Fn() -> Result<(), Errno>| identity.as_owner(stat.st_uid, stat.st_gid, work);
        match file_type {
            FileType::Directory => {
                as_owner(&|| make_folder(to, name))?;
                let opened = (open_folder(from, name)?, open_folder(to, name)?);
                let folder = Folder::new(path.to_vec(), opened.0, opened.1, Some(*stat)).map_err(|(errno, _)| errno)?;
                self.folders.push(folder);
            }
            FileType::RegularFile if self.is_linked(name, stat)? => {}
            FileType::RegularFile => {
                self.file = Some(OpenFile::begin(folder, name, path, stat, identity)?);
                self.remember(path, stat);
            }
            FileType::Symlink => as_owner(&|| copy_link(from, to, name, stat))?,
            FileType::Fifo => as_owner(&|| copy_fifo(to, name, stat))?,
            _ => {
                self.copied.skipped += 1;
                return Ok(());
            }
        }
        self.copied.entries += 1;
        Ok(())
    }

    /// Links the copy of a file to a second name, when the file was copied under one of its names already.
    fn is_linked(&self, name: &[u8], stat: &Stat) -> Result<bool, Errno> {
        let (Some(first), Some(folder)) = (self.links.get(&stat.st_ino), self.folders.last()) else { return Ok(false) };
        let Some(outermost) = self.folders.first() else { return Ok(false) };
        remove(&folder.to, name)?;
        linkat(&outermost.to, first.as_slice(), &folder.to, name, AtFlags::empty())?;
        Ok(true)
    }

    /// Remembers where the copy of a file with several names is.
    fn remember(&mut self, path: &[u8], stat: &Stat) {
        let outermost = self.folders.first().map_or(0, |folder| folder.path.len());
        if stat.st_nlink > 1 && self.links.len() < MOST_LINKS {
            self.links.insert(stat.st_ino, path.get(outermost + 1..).unwrap_or_default().to_vec());
        }
    }
}

impl Folder {
    /// Starts with a folder.
    fn new(path: Vec<u8>, from: OwnedFd, to: OwnedFd, stat: Option<Stat>) -> Result<Self, PathError> {
        match Dir::read_from(&from) {
            Ok(names) => Ok(Self { path, names, from, to, stat }),
            Err(errno) => Err((errno, path)),
        }
    }
}

impl OpenFile {
    /// Opens a file and makes its copy.
    fn begin(folder: &Folder, name: &[u8], path: &[u8], stat: &Stat, identity: &Identity) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let from = openat(&folder.from, name, flags, Mode::empty())?;
        if file_type(&fstat(&from)?) != FileType::RegularFile {
            return Err(Errno::AGAIN);
        }
        let to = identity.as_owner(stat.st_uid, stat.st_gid, || {
            remove(&folder.to, name)?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            openat(&folder.to, name, flags, Mode::from_raw_mode(0o600))
        })?;
        Ok(Self { path: path.to_vec(), from, to, stat: *stat, offset: 0, data_end: 0 })
    }

    /// Copies one piece and says how long it was; `None` when the file is complete.
    fn copy_piece(&mut self, identity: &Identity) -> Result<Option<u64>, Errno> {
        if self.offset >= self.data_end && !self.find_data()? {
            ftruncate(&self.to, self.stat.st_size.unsigned_abs().max(self.offset))?;
            settle(&self.to, &self.stat, identity)?;
            return Ok(None);
        }
        let wanted = usize::try_from(self.data_end - self.offset).unwrap_or(PIECE).min(PIECE);
        let mut bytes = vec![0; wanted];
        let read = retry_on_intr(|| rustix::io::pread(&self.from, &mut bytes, self.offset))?;
        if read == 0 {
            // It became shorter in the meantime.
            self.data_end = self.offset;
            self.stat.st_size = i64::try_from(self.offset).unwrap_or(i64::MAX);
            return Ok(Some(0));
        }
        seek(&self.to, SeekFrom::Start(self.offset))?;
        write_all(&self.to, &bytes[..read])?;
        self.offset += read as u64;
        Ok(Some(read as u64))
    }

    /// Moves to the next data after a hole. Returns false if there is none.
    fn find_data(&mut self) -> Result<bool, Errno> {
        let size = self.stat.st_size.unsigned_abs();
        if self.offset >= size {
            return Ok(false);
        }
        match seek(&self.from, SeekFrom::Data(self.offset)) {
            Ok(data) => self.offset = data,
            Err(Errno::NXIO) => return Ok(false),
            // This file system knows of no holes.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => self.data_end = size,
            Err(errno) => return Err(errno),
        }
        if self.data_end <= self.offset {
            self.data_end = seek(&self.from, SeekFrom::Hole(self.offset))?;
        }
        Ok(self.data_end > self.offset)
    }
}

/// Opens the folder to copy from and the one to copy to.
fn open_both(from: &[u8], to: &[u8], identity: &Identity) -> Result<(OwnedFd, OwnedFd), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let source = open(from, flags, Mode::empty())?;
    let stat = fstat(&source)?;
    identity.as_owner(stat.st_uid, stat.st_gid, || make_directory(to))?;
    Ok((source, open(to, flags, Mode::empty())?))
}

/// Opens a folder in a folder.
fn open_folder(parent: &OwnedFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    openat(parent, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// Makes a folder, unless there is one.
fn make_folder(parent: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
    match mkdirat(parent, name, Mode::from_raw_mode(0o700)) {
        Err(Errno::EXIST) => Ok(()),
        result => result,
    }
}

/// Removes an entry that stands in the way of a copy.
fn remove(parent: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
    match unlinkat(parent, name, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        result => result,
    }
}

/// Copies a link as it is.
fn copy_link(from: &OwnedFd, to: &OwnedFd, name: &[u8], stat: &Stat) -> Result<(), Errno> {
    let target = readlinkat(from, name, Vec::new())?;
    remove(to, name)?;
    symlinkat(target, to, name)?;
    utimensat(to, name, &times(stat), AtFlags::SYMLINK_NOFOLLOW)
}

/// Makes a pipe like the one that is copied.
fn copy_fifo(to: &OwnedFd, name: &[u8], stat: &Stat) -> Result<(), Errno> {
    remove(to, name)?;
    mkfifoat(to, name, Mode::from_raw_mode(stat.st_mode & 0o777))?;
    rustix::fs::chmodat(to, name, Mode::from_raw_mode(stat.st_mode & 0o7777), AtFlags::empty())?;
    utimensat(to, name, &times(stat), AtFlags::SYMLINK_NOFOLLOW)
}

/// Sets group, permissions and times of a copy. A folder that was there before stays its owner's.
fn settle(made: &OwnedFd, stat: &Stat, identity: &Identity) -> Result<(), Errno> {
    let owner = fstat(made)?;
    if owner.st_uid != stat.st_uid {
        return Ok(());
    }
    identity.as_owner(stat.st_uid, stat.st_gid, || {
        finish(made, stat.st_gid, stat.st_mode)?;
        futimens(made, &times(stat))
    })
}

/// The times of a file.
fn times(stat: &Stat) -> Timestamps {
    let time =
        |seconds, nanoseconds: u64| Timespec { tv_sec: seconds, tv_nsec: i64::try_from(nanoseconds).unwrap_or(0) };
    Timestamps {
        last_access: time(stat.st_atime, stat.st_atime_nsec),
        last_modification: time(stat.st_mtime, stat.st_mtime_nsec),
    }
}
