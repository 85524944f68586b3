//! Looks at the archive of an agent before it is kept: whoever unpacks it later must not be led anywhere else, or flooded.

use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use flate2::read::MultiGzDecoder;
use scenario::untrusted;
use tar::{Archive, Entry, EntryType};

/// The most entries of an archive.
const ENTRIES: usize = 50_000;
/// The size limit of an unpacked archive: 1 GiB.
pub(super) const UNPACKED: u64 = 1 << 30;
/// The length limit of a path in bytes.
const PATH: usize = 1024;

/// The reason why the archive of an agent cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArchiveError {
    /// The file that it was received in cannot be read from its beginning.
    #[error(transparent)]
    Rewind(io::Error),
    /// It has more bytes than are taken.
    #[error(transparent)]
    TooLarge(io::Error),
    /// It is no archive, or not a whole one.
    #[error("{}", unreadable(.0))]
    Unreadable(#[source] io::Error),
    /// It has more entries than are taken.
    #[error("it has more than {ENTRIES} entries")]
    TooManyEntries,
    /// There are only folders and links in it.
    #[error("there is no file in it")]
    NoFile,
    /// The name of an entry leads elsewhere.
    #[error("`{0}` is no path below its root: write it without `..`, without `/` at its beginning, and as UTF-8")]
    NoPath(String),
    /// A file of it has fewer bytes than it says.
    #[error("it ends in the middle of `{0}`")]
    Cut(String),
    /// An entry is a device, a pipe or the like.
    #[error("`{0}` is neither a file nor a folder nor a link")]
    SpecialFile(String),
    /// A link leads elsewhere.
    #[error("the link `{link}` leads to `{target}`, out of the archive")]
    LeadsOut { link: String, target: String },
}

impl From<io::Error> for ArchiveError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::QuotaExceeded => Self::TooLarge(error),
            _ => Self::Unreadable(error),
        }
    }
}

/// Says that it is no archive; the words of a reader may repeat some of it.
fn unreadable(error: &io::Error) -> String {
    untrusted::line(&format!("it is no tar archive that is packed with gzip: {error}"), 300)
}

/// Reads an archive (tar, packed with gzip) to its end, or to the first of more than so many bytes.
pub(super) fn check(reader: impl Read, most: u64) -> Result<(), ArchiveError> {
    let mut archive = Archive::new(Bounded { reader: MultiGzDecoder::new(reader), most, left: most });
    let mut files = 0_usize;
    for (number, entry) in archive.entries()?.enumerate() {
        if number >= ENTRIES {
            return Err(ArchiveError::TooManyEntries);
        }
        files += usize::from(check_entry(&mut entry?)?);
    }
    // What stands behind the last entry must be right as well: gzip has a checksum there.
    io::copy(&mut archive.into_inner(), &mut io::sink())?;
    if files == 0 { Err(ArchiveError::NoFile) } else { Ok(()) }
}

/// Looks at an entry; whether it is a file.
fn check_entry(entry: &mut Entry<'_, impl Read>) -> Result<bool, ArchiveError> {
    let bytes = entry.path_bytes().into_owned();
    let shown = untrusted::line(&String::from_utf8_lossy(&bytes), 200);
    let path = std::str::from_utf8(&bytes).ok().and_then(below);
    let path = path.ok_or_else(|| ArchiveError::NoPath(shown.clone()))?;
    let size = entry.size();
    match entry.header().entry_type() {
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
            let read = io::copy(entry, &mut io::sink())?;
            if read < size { Err(ArchiveError::Cut(shown)) } else { Ok(true) }
        }
        EntryType::Directory | EntryType::XGlobalHeader => Ok(false),
        EntryType::Symlink => {
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            require_inside(entry, &folder, &shown).map(|()| false)
        }
        EntryType::Link => require_inside(entry, Path::new(""), &shown).map(|()| false),
        _ => Err(ArchiveError::SpecialFile(shown)),
    }
}

/// Refuses a link that leads out of the archive.
fn require_inside(entry: &Entry<'_, impl Read>, folder: &Path, shown: &str) -> Result<(), ArchiveError> {
    let target = entry.link_name_bytes().unwrap_or_default().into_owned();
    let leads_out = || {
        let target = untrusted::line(&String::from_utf8_lossy(&target), 200);
        ArchiveError::LeadsOut { link: shown.to_owned(), target }
    };
    let target = std::str::from_utf8(&target).map_err(|_| leads_out())?;
    let mut depth = folder.components().count();
    for part in Path::new(target).components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir => depth = depth.checked_sub(1).ok_or_else(leads_out)?,
            Component::RootDir | Component::Prefix(_) => return Err(leads_out()),
        }
    }
    if target.is_empty() || target.contains('\0') { Err(leads_out()) } else { Ok(()) }
}

/// A path without what says nothing; `None` when it leads elsewhere.
fn below(path: &str) -> Option<PathBuf> {
    if path.len() > PATH || path.contains('\0') {
        return None;
    }
    let mut below = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(part) => below.push(part),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(below)
}

/// A reader that refuses to read more than so many bytes.
#[derive(Debug)]
struct Bounded<R> {
    reader: R,
    most: u64,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::QuotaExceeded,
                format!("it has more than {} bytes when it is unpacked", self.most),
            )
        })?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::{Builder, Header};

    use super::*;

    fn packed(tar: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(tar).unwrap();
        encoder.finish().unwrap()
    }

    /// An archive with one entry, whose path is written as it is.
    fn entry(kind: EntryType, path: &str, link: &str) -> Vec<u8> {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(0);
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_cksum();
        let mut tar = Builder::new(Vec::new());
        tar.append(&header, io::empty()).unwrap();
        // Something must be in it.
        let mut file = Header::new_gnu();
        file.set_size(2);
        tar.append_data(&mut file, "agent.py", &b"hi"[..]).unwrap();
        packed(&tar.into_inner().unwrap())
    }

    #[test]
    fn an_archive_with_files_folders_and_links_inside_is_right() {
        for (kind, path, link) in [
            (EntryType::Regular, "a/b.py", ""),
            (EntryType::Regular, "./a/./b.py", ""),
            (EntryType::Directory, "./", ""),
            (EntryType::Symlink, "node_modules/.bin/x", "../x/cli.js"),
            (EntryType::Link, "b.py", "a/b.py"),
        ] {
            check(&entry(kind, path, link)[..], UNPACKED).expect(path);
        }
    }

    #[test]
    fn whatever_leads_out_is_refused() {
        for (kind, path, link) in [
            (EntryType::Regular, "../a", ""),
            (EntryType::Regular, "a/../../b", ""),
            (EntryType::Regular, "/etc/passwd", ""),
            (EntryType::Symlink, "a", "/etc/passwd"),
            (EntryType::Symlink, "a/b", "../../c"),
            (EntryType::Symlink, "a", "b/../../c"),
            (EntryType::Symlink, "a", ""),
            (EntryType::Link, "a/b", "../c"),
            (EntryType::Char, "null", ""),
            (EntryType::Block, "sda", ""),
            (EntryType::Fifo, "pipe", ""),
        ] {
            assert!(check(&entry(kind, path, link)[..], UNPACKED).is_err(), "{kind:?} {path} {link}");
        }
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        let whole = entry(EntryType::Regular, "a", "");
        for (bytes, words) in [
            (Vec::new(), "no tar"),
            (b"PK\x03\x04 a zip".to_vec(), "no tar"),
            (packed(b""), "no file"),
            (packed(&[7; 2000]), "no tar"),
            (whole[..whole.len() / 2].to_vec(), "no tar"),
            (whole[..whole.len() - 4].to_vec(), "no tar"),
        ] {
            let error = check(&bytes[..], UNPACKED).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_bomb_is_refused() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let mut header = Header::new_gnu();
        header.set_path("zeros").unwrap();
        header.set_size(64 << 20);
        header.set_cksum();
        encoder.write_all(header.as_bytes()).unwrap();
        encoder.write_all(&vec![0; 4 << 20]).unwrap();
        let bomb = encoder.finish().unwrap();
        assert!(bomb.len() < 10_000);
        let error = check(&bomb[..], 1 << 20).unwrap_err().to_string();
        assert!(error.contains("more than"), "{error}");
    }
}
