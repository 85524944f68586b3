//! Takes fingerprints of files, with all of their contents, so that two moments can be compared.
//!
//! Times do not tell everything: a store through a shared mapping of a file in memory changes neither the time of the last
//! modification nor that of the last change. So contents are read, and become a digest for which nobody finds another
//! content.

use std::os::fd::OwnedFd;

use doorkeeper::protocol::{EntryKind, Event, Failure, Fingerprint};
use rustix::fs::{Stat, readlinkat};
use rustix::io::{Errno, retry_on_intr};
use sha2::{Digest as _, Sha256};

use super::super::clock::Turn;
use super::super::outbox::Outbox;
use super::job::Progress;
use super::kind;
use super::root::{FoundFile, Last, Root, open_root};

/// Number of bytes that are read at once.
const PIECE: usize = 128 * 1024;

/// Files that are being read.
pub(crate) struct Fingerprinting {
    /// The folder that paths stay in.
    root: Root,
    /// The paths that are left, the next one last.
    paths: Vec<Vec<u8>>,
    /// Fingerprints of the paths before.
    done: Vec<Option<Fingerprint>>,
    /// The file that is read in part.
    file: Option<OpenFile>,
    /// Number of bytes that may still be read.
    left: u64,
    /// Number of bytes that were read.
    bytes: u64,
    /// Buffer that a piece is read into.
    piece: Vec<u8>,
}

/// A file that is read in part.
struct OpenFile {
    /// The file.
    file: OwnedFd,
    /// The digest so far.
    digest: Sha256,
}

impl Fingerprinting {
    /// Starts with the first path.
    pub(crate) fn begin(root: &[u8], mut paths: Vec<Vec<u8>>, most_bytes: u64) -> Result<Self, Failure> {
        let root = open_root(root)?;
        paths.reverse();
        let done = Vec::with_capacity(paths.len());
        Ok(Self { root, paths, done, file: None, left: most_bytes, bytes: 0, piece: vec![0; PIECE] })
    }

    /// Reads for one turn.
    pub(crate) fn step(&mut self, id: u32, turn: &Turn, outbox: &mut Outbox) -> Progress {
        while !turn.is_over() {
            if let Some(file) = self.file.take() {
                self.read_on(file);
                continue;
            }
            let Some(path) = self.paths.pop() else {
                let fingerprints = std::mem::take(&mut self.done);
                outbox.push(Event::Fingerprints { id, fingerprints, bytes: self.bytes });
                return Progress::Finished;
            };
            self.look(&path);
        }
        Progress::More
    }

    /// Takes the metadata of a path, and opens it when it is a file.
    fn look(&mut self, path: &[u8]) {
        let found = match self.root.find(path, Last::Keep) {
            Ok(found) => found,
            Err(Errno::NOENT | Errno::NOTDIR) => return self.done.push(None),
            // Something is there that cannot be looked at.
            Err(_) => return self.finish(Sha256::new(), false),
        };
        let mut digest = digest_of_metadata(&found.stat);
        match kind(&found.stat) {
            EntryKind::File => self.open(&found, digest),
            EntryKind::Link => {
                let target = readlinkat(&found.descriptor, "", Vec::new());
                digest.update(target.as_ref().map_or(&[][..], |target| target.as_bytes()));
                self.finish(digest, target.is_ok());
            }
            EntryKind::Directory | EntryKind::Other => self.finish(digest, true),
        }
    }

    /// Opens a file, unless there is more in it than may be read.
    fn open(&mut self, found: &FoundFile, digest: Sha256) {
        match found.open_file() {
            Ok(file) if found.stat.st_size.unsigned_abs() <= self.left => self.file = Some(OpenFile { file, digest }),
            _ => self.finish(digest, false),
        }
    }

    /// Reads one piece of a file.
    fn read_on(&mut self, mut open: OpenFile) {
        match retry_on_intr(|| rustix::io::read(&open.file, &mut self.piece)) {
            Ok(0) => self.finish(open.digest, true),
            // It grew while it was read.
            Ok(read) if read as u64 > self.left => self.finish(open.digest, false),
            Ok(read) => {
                open.digest.update(&self.piece[..read]);
                self.left -= read as u64;
                self.bytes += read as u64;
                self.file = Some(open);
            }
            Err(_) => self.finish(open.digest, false),
        }
    }

    /// Keeps the fingerprint of a file.
    fn finish(&mut self, digest: Sha256, whole: bool) {
        self.done.push(Some(Fingerprint { digest: digest.finalize().into(), whole }));
    }
}

/// A digest of everything about a file but its content. The number of its inode is left out: a file of an overlay can get
/// another one without being touched.
fn digest_of_metadata(stat: &Stat) -> Sha256 {
    let mut digest = Sha256::new();
    digest.update(stat.st_mode.to_be_bytes());
    digest.update(stat.st_uid.to_be_bytes());
    digest.update(stat.st_gid.to_be_bytes());
    digest.update(stat.st_ctime.to_be_bytes());
    digest.update(stat.st_ctime_nsec.to_be_bytes());
    if kind(stat) == EntryKind::File {
        digest.update(stat.st_size.to_be_bytes());
    }
    digest
}
