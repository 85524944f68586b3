//! Specs with the files beside them, as a tar archive.
//!
//! Only regular files below the spec's folder are taken. Whatever else an archive may hold is refused: links, devices,
//! absolute paths, `..`, the same file twice, and more than a spec's folder may have, also after it is unpacked.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Component, Path};

use axum::body::{Body, Bytes};
use flate2::read::MultiGzDecoder;
use scenario::spec::{Bundle, MAX_BUNDLE_BYTES, MAX_BUNDLE_FILES};
use store::{SpecContent, SpecFile};
use tar::{Archive, Entry, EntryType};

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::read;

/// The spec's own file.
const SPEC_FILE: &str = "spec.yaml";
/// The allowance of an archive besides the contents of its files: a header and padding for each entry, and long names.
const AROUND: u64 = 8 * 1024 * 1024;
/// The most entries of any kind.
const MOST_ENTRIES: usize = 4 * MAX_BUNDLE_FILES;

/// A spec as it was submitted.
#[derive(Debug)]
pub(crate) struct Upload {
    /// Its text and files.
    pub(crate) content: SpecContent,
    /// Its files; `None` when the spec stands alone.
    pub(crate) bundle: Option<Bundle>,
}

impl Upload {
    /// A spec that stands alone.
    pub(crate) fn alone(text: String) -> Self {
        Self { content: SpecContent { text, files: Vec::new() }, bundle: None }
    }
}

/// Reads a body that is a spec or an archive with one.
pub(crate) async fn receive(app: &App, caller: &Caller, body: Body) -> Result<Upload, ApiError> {
    let _room = app.upload_place(caller)?;
    let bytes = read(body, app.config.upload_bytes).await?;
    unpack_aside(bytes).await
}

/// Unpacks in a thread of its own, so that nobody else waits.
pub(crate) async fn unpack_aside(bytes: Bytes) -> Result<Upload, ApiError> {
    let unpacked = tokio::task::spawn_blocking(move || unpack(&bytes)).await;
    unpacked.map_err(|error| ApiError::internal(format!("the upload could not be unpacked: {error}")))?
}

/// The files of a spec that is kept; `None` when it stands alone.
pub(crate) fn bundle_of(content: &SpecContent) -> Option<Bundle> {
    content.bundle().ok().flatten()
}

/// Reads what was uploaded: a tar archive, one that was packed with gzip, or the text of a spec.
fn unpack(bytes: &[u8]) -> Result<Upload, ApiError> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        files(MultiGzDecoder::new(bytes))
    } else if bytes.get(257..262) == Some(b"ustar") {
        files(bytes)
    } else {
        text(bytes.to_vec()).map(Upload::alone)
    }
}

fn text(bytes: Vec<u8>) -> Result<String, ApiError> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        ApiError::invalid(format!("the text of the spec is not UTF-8: byte {at} is wrong"))
    })
}

fn files(reader: impl Read) -> Result<Upload, ApiError> {
    let mut archive = Archive::new(Bounded { reader, left: MAX_BUNDLE_BYTES + AROUND });
    let mut files: BTreeMap<String, SpecFile> = BTreeMap::new();
    let mut room = MAX_BUNDLE_BYTES;
    for (number, entry) in archive.entries().map_err(broken)?.enumerate() {
        if number >= MOST_ENTRIES {
            return Err(ApiError::invalid(format!("the archive has more than {MOST_ENTRIES} entries")));
        }
        let Some(file) = file(entry.map_err(broken)?, &mut room)? else { continue };
        if files.len() >= MAX_BUNDLE_FILES {
            return Err(ApiError::invalid(format!("the archive has more than {MAX_BUNDLE_FILES} files")));
        }
        if let Some(twice) = files.insert(file.path.clone(), file) {
            return Err(ApiError::invalid(format!("the archive has the file `{}` twice", twice.path)));
        }
    }
    upload(rooted(files)?)
}

/// The file that an entry is; `None` for folders and what archives say about themselves.
fn file(mut entry: Entry<'_, impl Read>, room: &mut u64) -> Result<Option<SpecFile>, ApiError> {
    let bytes = entry.path_bytes().into_owned();
    let shown = scenario::untrusted::line(&String::from_utf8_lossy(&bytes), 200);
    match entry.header().entry_type() {
        EntryType::Regular => {}
        EntryType::Directory | EntryType::XGlobalHeader => return Ok(None),
        _ => {
            return Err(ApiError::invalid(format!(
                "`{shown}` in the archive is no regular file; only those are taken"
            )));
        }
    }
    let path = std::str::from_utf8(&bytes).ok().and_then(plain);
    let path = path.ok_or_else(|| {
        ApiError::invalid(format!("`{shown}` in the archive is no path below the spec's folder: write it without `..`, without `/` at its beginning, and as UTF-8"))
    })?;
    let size = entry.size();
    *room = room.checked_sub(size).ok_or_else(|| {
        ApiError::too_large(format!("the files of the archive have more than {MAX_BUNDLE_BYTES} bytes"))
    })?;
    let executable = entry.header().mode().map_err(broken)? & 0o100 != 0;
    let mut content = Vec::new();
    entry.read_to_end(&mut content).map_err(broken)?;
    if content.len() as u64 != size {
        return Err(ApiError::invalid(format!("the archive ends in the middle of `{shown}`")));
    }
    Ok(Some(SpecFile { path, executable, content }))
}

/// A path without what says nothing; `None` when it leads elsewhere.
fn plain(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty() && !path.contains(['\0', '\\'])).then(|| parts.join("/"))
}

/// The files, below the folder of the spec: at the archive's root, or in its only folder.
fn rooted(files: BTreeMap<String, SpecFile>) -> Result<BTreeMap<String, SpecFile>, ApiError> {
    if files.contains_key(SPEC_FILE) {
        return Ok(files);
    }
    let missing =
        || ApiError::invalid(format!("there is no `{SPEC_FILE}` at the root of the archive or in its only folder"));
    let first = files.keys().next().and_then(|path| path.split_once('/')).ok_or_else(missing)?;
    let folder = format!("{}/", first.0);
    if !files.contains_key(&format!("{folder}{SPEC_FILE}")) || !files.keys().all(|path| path.starts_with(&folder)) {
        return Err(missing());
    }
    let below = |file: SpecFile| SpecFile { path: file.path[folder.len()..].to_owned(), ..file };
    Ok(files.into_values().map(below).map(|file| (file.path.clone(), file)).collect())
}

fn upload(files: BTreeMap<String, SpecFile>) -> Result<Upload, ApiError> {
    // A file and a folder with its name cannot stand beside each other.
    for path in files.keys() {
        let mut parents = Path::new(path).ancestors().skip(1).filter_map(Path::to_str);
        if let Some(parent) = parents.find(|parent| files.contains_key(*parent)) {
            return Err(ApiError::invalid(format!("`{parent}` in the archive is a file and a folder")));
        }
    }
    let spec = files.get(SPEC_FILE).map(|file| file.content.clone()).unwrap_or_default();
    let content = SpecContent { text: text(spec)?, files: files.into_values().collect() };
    let bundle = content.bundle().map_err(|error| ApiError::invalid(error.to_string()))?;
    Ok(Upload { content, bundle })
}

fn broken(error: io::Error) -> ApiError {
    if error.kind() == io::ErrorKind::QuotaExceeded {
        return ApiError::too_large(error.to_string());
    }
    ApiError::invalid(format!("the archive cannot be read: {}", scenario::untrusted::line(&error.to_string(), 300)))
}

/// A reader that refuses to read more than so many bytes.
#[derive(Debug)]
struct Bounded<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => {
                let message = format!("the archive has more than {MAX_BUNDLE_BYTES} bytes when it is unpacked");
                return Err(io::Error::new(io::ErrorKind::QuotaExceeded, message));
            }
        }
        Ok(read)
    }
}
