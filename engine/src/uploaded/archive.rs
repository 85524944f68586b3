//! Takes an archive apart, and refuses one that is too large or leads out of its folder.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Component, Path};

use flate2::read::MultiGzDecoder;
use tar::{Archive, Entry, EntryType};

use super::{MOST_BYTES, MOST_ENTRIES};

/// The longest path.
const MOST_PATH: usize = 4000;
/// Largest description of an entry, such as a long name.
const MOST_DESCRIPTION: u64 = 64 * 1024;

/// An entry of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Packed {
    /// Its path, below the agent's folder.
    pub(super) path: String,
    /// Its content.
    pub(super) content: Content,
}

/// Content of an entry in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// A folder.
    Folder,
    /// A file.
    File { bytes: Vec<u8>, executable: bool },
    /// A link to something else in the archive, relative to where it is itself.
    Link(String),
}

/// The reason why an archive cannot be taken apart.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArchiveError {
    /// The file is no archive, or ends too early.
    #[error("it cannot be read as a tar file that is compressed with gzip: {0}")]
    Unreadable(#[from] io::Error),
    /// The archive is empty.
    #[error("it is empty")]
    Empty,
    /// A long name, or another description, is longer than is read.
    #[error("it has an entry whose description is too long")]
    LongDescription,
    /// The archive has more entries than are taken.
    #[error("it has more than {MOST_ENTRIES} entries")]
    TooManyEntries,
    /// The archive has more bytes than are taken.
    #[error("it unpacks to more than {} MiB", MOST_BYTES >> 20)]
    TooLarge,
    /// An entry would be written through a link.
    #[error("`{path}` is below the link `{link}`")]
    BelowLink { path: String, link: String },
    /// An entry is a device, a socket or the like.
    #[error("`{0}` is neither a file nor a folder nor a link")]
    SpecialFile(String),
    /// A name is no text.
    #[error("the name `{0}` is no UTF-8")]
    NotUtf8(String),
    /// A name leads out of the folder.
    #[error("`{0}` leads out of the archive")]
    LeadsOut(String),
    /// A name is none that a file can have; this is how it begins.
    #[error("`{0}…` is no path")]
    NoPath(String),
    /// The target of a link is no text.
    #[error("a link leads to what is no UTF-8")]
    LinkNotUtf8,
    /// A link leads out of the folder, or nowhere.
    #[error("the link `{0}` leads out of the archive")]
    LinkLeadsOut(String),
}

/// Takes an archive apart, in its order, for as long as `take` wants more. What is wrong with it is an error.
pub(super) fn unpack(archive: &[u8], mut take: impl FnMut(Packed) -> bool) -> Result<(), ArchiveError> {
    check_sizes(archive)?;
    let mut links = BTreeSet::new();
    let mut archive = open(archive);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let Some(packed) = read(&mut entry)? else { continue };
        if let Some(link) = above(&packed.path).find(|above| links.contains(*above)) {
            return Err(ArchiveError::BelowLink { link: link.to_owned(), path: packed.path.clone() });
        }
        if let Content::Link(_) = packed.content {
            links.insert(packed.path.clone());
        } else {
            links.remove(&packed.path);
        }
        if !take(packed) {
            break;
        }
    }
    Ok(())
}

/// Reads the sizes of everything before anything is believed: long names are read as a whole.
fn check_sizes(archive: &[u8]) -> Result<(), ArchiveError> {
    let mut archive = open(archive);
    let (mut entries, mut bytes) = (0_usize, 0_u64);
    for entry in archive.entries()?.raw(true) {
        let entry = entry?;
        entries += 1;
        bytes = bytes.saturating_add(entry.size());
        let describes = !(entry.header().entry_type().is_file() || entry.header().entry_type().is_contiguous());
        if describes && entry.size() > MOST_DESCRIPTION {
            return Err(ArchiveError::LongDescription);
        }
        if entries > MOST_ENTRIES {
            return Err(ArchiveError::TooManyEntries);
        }
        if bytes > MOST_BYTES {
            return Err(ArchiveError::TooLarge);
        }
    }
    if entries == 0 { Err(ArchiveError::Empty) } else { Ok(()) }
}

fn open(archive: &[u8]) -> Archive<Bounded<MultiGzDecoder<&[u8]>>> {
    // Headers and padding come on top of what the files have.
    let most = MOST_BYTES + 4 * 512 * MOST_ENTRIES as u64;
    Archive::new(Bounded { inner: MultiGzDecoder::new(archive), left: most })
}

/// A reader that ends with an error instead of going on for ever.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| io::Error::other(ArchiveError::TooLarge))?;
        Ok(read)
    }
}

/// Reads one entry; `None` for what describes others, and for the folder itself.
fn read(entry: &mut Entry<'_, impl Read>) -> Result<Option<Packed>, ArchiveError> {
    let kind = entry.header().entry_type();
    if matches!(kind, EntryType::XGlobalHeader) {
        return Ok(None);
    }
    let path = inside(&entry.path_bytes())?;
    if path.is_empty() {
        return Ok(None);
    }
    let content = match kind {
        EntryType::Directory => Content::Folder,
        EntryType::Regular | EntryType::Continuous => {
            let executable = entry.header().mode()? & 0o111 != 0;
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            Content::File { bytes, executable }
        }
        EntryType::Symlink => Content::Link(link(&path, &target(entry)?)?),
        EntryType::Link => Content::Link(to(&path, &inside(target(entry)?.as_bytes())?)),
        _ => return Err(ArchiveError::SpecialFile(path)),
    };
    Ok(Some(Packed { path, content }))
}

/// A path as it is below the folder: without `.` and double slashes.
fn inside(path: &[u8]) -> Result<String, ArchiveError> {
    let shown = String::from_utf8_lossy(path).into_owned();
    let text = std::str::from_utf8(path).map_err(|_| ArchiveError::NotUtf8(shown.clone()))?;
    let mut names = Vec::new();
    for component in Path::new(text).components() {
        match component {
            Component::Normal(name) => names.push(name.to_string_lossy()),
            Component::CurDir => {}
            _ => return Err(ArchiveError::LeadsOut(shown)),
        }
    }
    let path = names.join("/");
    if path.len() > MOST_PATH || path.contains('\0') {
        return Err(ArchiveError::NoPath(path.chars().take(100).collect()));
    }
    Ok(path)
}

fn target(entry: &Entry<'_, impl Read>) -> Result<String, ArchiveError> {
    let target = entry.link_name_bytes().unwrap_or_default();
    String::from_utf8(target.into_owned()).map_err(|_| ArchiveError::LinkNotUtf8)
}

/// Returns the target of a link, when that stays within the archive.
fn link(path: &str, target: &str) -> Result<String, ArchiveError> {
    let out = || ArchiveError::LinkLeadsOut(path.to_owned());
    let mut depth = path.split('/').count() - 1;
    for component in Path::new(target).components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir => depth = depth.checked_sub(1).ok_or_else(out)?,
            _ => return Err(out()),
        }
    }
    if target.is_empty() || target.contains('\0') { Err(out()) } else { Ok(target.to_owned()) }
}

/// The way from an entry to another one: a second name of a file becomes a link to it.
fn to(path: &str, target: &str) -> String {
    format!("{}{target}", "../".repeat(path.split('/').count() - 1))
}

/// The folders that a path is in.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(end, _)| &path[..end])
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::{Builder, Header};

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// An archive with entries that are named as they are, however wrong that is.
    fn archive(entries: &[(&str, EntryType, &str)]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (path, kind, content) in entries {
            let mut header = Header::new_gnu();
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_entry_type(*kind);
            header.set_mode(0o755);
            let bytes = if kind.is_file() { content.as_bytes() } else { b"" };
            if !kind.is_file() {
                header.as_old_mut().linkname[..content.len()].copy_from_slice(content.as_bytes());
            }
            header.set_size(bytes.len() as u64);
            header.set_cksum();
            builder.append(&header, bytes).unwrap();
        }
        gzip(&builder.into_inner().unwrap())
    }

    fn unpacked(archive: &[u8]) -> Result<Vec<Packed>, ArchiveError> {
        let mut all = Vec::new();
        unpack(archive, |packed| {
            all.push(packed);
            true
        })
        .map(|()| all)
    }

    fn refused(archive: &[u8], because: &str) {
        let message = unpacked(archive).unwrap_err().to_string();
        assert!(message.contains(because), "{message}");
    }

    use EntryType::{Directory, Link, Regular, Symlink};

    #[test]
    fn files_folders_and_links_are_taken_out() {
        let packed = unpacked(&archive(&[
            ("./", Directory, ""),
            ("./bin/", Directory, ""),
            ("./bin//run.sh", Regular, "echo"),
            ("bin/again", Symlink, "run.sh"),
            ("lib/deep/same", Link, "bin/run.sh"),
        ]))
        .unwrap();
        let file = Content::File { bytes: b"echo".to_vec(), executable: true };
        let expected = [
            ("bin", Content::Folder),
            ("bin/run.sh", file),
            ("bin/again", Content::Link("run.sh".to_owned())),
            ("lib/deep/same", Content::Link("../../bin/run.sh".to_owned())),
        ];
        assert_eq!(packed, expected.map(|(path, content)| Packed { path: path.to_owned(), content }));
    }

    #[test]
    fn a_long_name_is_taken_out_whole() {
        let long = format!("{}/agent.py", "folder".repeat(30));
        let mut builder = Builder::new(Vec::new());
        let mut header = Header::new_gnu();
        header.set_size(1);
        header.set_mode(0o644);
        builder.append_data(&mut header, &long, &b"x"[..]).unwrap();
        let packed = unpacked(&gzip(&builder.into_inner().unwrap())).unwrap();
        assert_eq!(packed[0].path, long);
        assert_eq!(packed[0].content, Content::File { bytes: b"x".to_vec(), executable: false });
    }

    #[test]
    fn nothing_leads_out() {
        refused(&archive(&[("../x", Regular, "x")]), "leads out");
        refused(&archive(&[("a/../../x", Regular, "x")]), "leads out");
        refused(&archive(&[("/etc/passwd", Regular, "x")]), "leads out");
        refused(&archive(&[("a", Symlink, "/etc")]), "leads out");
        refused(&archive(&[("a/b", Symlink, "../../x")]), "leads out");
        refused(&archive(&[("a", Link, "/etc/passwd")]), "leads out");
        refused(&archive(&[("a", Symlink, "b"), ("a/x", Regular, "x")]), "below the link");
        refused(&archive(&[("a", Symlink, "b"), ("a/x/y", Directory, "")]), "below the link");
        refused(&archive(&[("a", EntryType::Char, "")]), "neither");
        refused(&archive(&[("a", EntryType::Fifo, "")]), "neither");
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        refused(b"", "cannot be read");
        refused(b"hello", "cannot be read");
        refused(&gzip(&[7; 4096]), "cannot be read");
        refused(&archive(&[]), "is empty");
    }

    #[test]
    fn a_bomb_is_refused_before_it_goes_off() {
        let zeros = vec![0; 1 << 20];
        let bomb = |kind: EntryType, megabytes: u64| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            let mut header = Header::new_gnu();
            header.set_path("x").unwrap();
            header.set_entry_type(kind);
            header.set_size(megabytes << 20);
            header.set_cksum();
            encoder.write_all(header.as_bytes()).unwrap();
            (0..megabytes.min(4)).for_each(|_| encoder.write_all(&zeros).unwrap());
            encoder.finish().unwrap()
        };
        refused(&bomb(Regular, 300), "more than 256 MiB");
        refused(&bomb(Regular, 1 << 40), "more than 256 MiB");
        refused(&bomb(EntryType::GNULongName, 2), "too long");
        refused(&bomb(EntryType::XHeader, 2), "too long");
        let many: Vec<_> = (0..=MOST_ENTRIES).map(|_| ("d", Directory, "")).collect();
        refused(&archive(&many), "more than 50000 entries");
    }
}
