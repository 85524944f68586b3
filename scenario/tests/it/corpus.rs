//! The specs of this repository, read from disk.

use std::fs;
use std::path::{Path, PathBuf};

use scenario::spec::{Bundle, BundleError, Loaded, load};

/// A spec of the repository.
pub(crate) struct Case {
    /// Its folder or file name.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
    bundle: Option<Result<Bundle, BundleError>>,
}

impl Case {
    pub(crate) fn load(&self) -> Loaded {
        let bundle = self.bundle.as_ref().map(|bundle| bundle.as_ref().expect("a bundle"));
        load(&self.text, bundle)
    }
}

/// The folder with the examples.
pub(crate) fn specs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../specs")
}

/// Every example: a folder with a `spec.yaml`.
pub(crate) fn examples() -> Vec<Case> {
    let cases: Vec<_> = entries(&specs())
        .into_iter()
        .filter(|path| path.join("spec.yaml").is_file())
        .map(|path| bundle(&path))
        .collect();
    assert!(cases.len() >= 8, "the examples are gone");
    cases
}

/// Every spec that is broken on purpose. Folders that cannot be taken at all are left to the tests of the command,
/// which reads them.
pub(crate) fn invalid() -> Vec<Case> {
    let cases: Vec<_> = entries(&specs().join("invalid"))
        .into_iter()
        .filter(|path| !path.ends_with("invalid-bundle"))
        .filter_map(|path| match path.extension().and_then(|extension| extension.to_str()) {
            Some("yaml") => Some(alone(&path)),
            _ => path.join("spec.yaml").is_file().then(|| bundle(&path)),
        })
        .collect();
    assert!(cases.len() >= 30, "the broken specs are gone");
    cases
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn alone(path: &Path) -> Case {
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    Case { name, text: fs::read_to_string(path).expect("a text"), bundle: None }
}

fn bundle(folder: &Path) -> Case {
    let mut files = Vec::new();
    collect(folder, folder, &mut files);
    let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
    let readable = files.iter().filter(|(path, bytes)| Bundle::may_be_read(path, *bytes));
    let read = |(path, _): &(String, u64)| Some((path.clone(), fs::read_to_string(folder.join(path)).ok()?));
    let texts: Vec<_> = readable.filter_map(read).collect();
    let bundle = Bundle::new(files).map(|bundle| bundle.with_texts(texts));
    Case { name, text: fs::read_to_string(folder.join("spec.yaml")).expect("a text"), bundle: Some(bundle) }
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, u64)>) {
    for path in entries(folder) {
        let kind = fs::symlink_metadata(&path).expect("an entry");
        if kind.is_dir() {
            collect(root, &path, files);
        } else if kind.is_file() {
            files.push((path.strip_prefix(root).expect("below the root").to_string_lossy().into_owned(), kind.len()));
        }
    }
}
