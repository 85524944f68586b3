//! The files beside a spec.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum size of a file beside a spec that is read with the spec.
pub const MAX_READ_BYTES: u64 = 256 * 1024;
/// The endings of files that a spec is read with.
const READ_ENDINGS: [&str; 3] = [".yaml", ".yml", ".json"];
/// The spec itself, which stands among its files.
const SPEC_FILE: &str = "spec.yaml";
/// Maximum number of files in a spec's folder.
pub const MAX_BUNDLE_FILES: usize = 1000;
/// Maximum size of a spec's folder.
pub const MAX_BUNDLE_BYTES: u64 = 64 * 1024 * 1024;

/// The reason why files are no bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// More files than a spec's folder may have.
    #[error("the spec's folder has more than {MAX_BUNDLE_FILES} files")]
    TooManyFiles,
    /// More bytes than a spec's folder may have.
    #[error("the spec's folder has {bytes} bytes; at most {MAX_BUNDLE_BYTES} are taken")]
    TooLarge {
        /// The bytes of all files.
        bytes: u64,
    },
}

/// The files beside a spec: their paths relative to its folder, their sizes, and the texts of those that a spec is read with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bundle {
    files: BTreeMap<String, u64>,
    texts: Arc<BTreeMap<String, String>>,
}

impl Bundle {
    /// A bundle of these files, unless there are too many or they are too large.
    pub fn new(files: impl IntoIterator<Item = (String, u64)>) -> Result<Self, BundleError> {
        let files: BTreeMap<_, _> = files.into_iter().take(MAX_BUNDLE_FILES + 1).collect();
        if files.len() > MAX_BUNDLE_FILES {
            return Err(BundleError::TooManyFiles);
        }
        let bytes: u64 = files.values().sum();
        if bytes > MAX_BUNDLE_BYTES {
            return Err(BundleError::TooLarge { bytes });
        }
        Ok(Self { files, texts: Arc::default() })
    }

    /// The same bundle with the texts of files that a spec may be read with: `.yaml`, `.yml` and `.json` of at most
    /// [`MAX_READ_BYTES`], the spec itself excepted. `read` gives the content of a file; one without content, or that is not UTF-8,
    /// has no text.
    #[must_use]
    pub fn with_texts(self, mut read: impl FnMut(&str) -> Option<Vec<u8>>) -> Self {
        let is_read = |path: &str, bytes: u64| {
            path != SPEC_FILE && bytes <= MAX_READ_BYTES && READ_ENDINGS.iter().any(|ending| path.ends_with(ending))
        };
        let read_files = self.files.iter().filter(|(path, bytes)| is_read(path, **bytes));
        let texts = read_files.filter_map(|(path, _)| Some((path.clone(), String::from_utf8(read(path)?).ok()?)));
        let texts = Arc::new(texts.collect());
        Self { texts, ..self }
    }

    /// The texts of the files that a spec is read with, by their paths.
    pub(super) fn texts(&self) -> Arc<BTreeMap<String, String>> {
        Arc::clone(&self.texts)
    }

    /// Returns true if there is a file at `path`, or a folder with files in it.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path == "."
            || self.files.contains_key(path)
            || self.files.range(folder.clone()..).next().is_some_and(|(name, _)| name.starts_with(&folder))
    }

    /// The paths of all files, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::{Bundle, MAX_BUNDLE_BYTES, MAX_READ_BYTES};

    #[test]
    fn files_and_folders_are_found() {
        let bundle = Bundle::new([("checks/a.py".to_owned(), 1), ("seed.sql".to_owned(), 1)]).expect("a bundle");
        assert!(bundle.has("checks/a.py") && bundle.has("checks") && bundle.has("seed.sql") && bundle.has("."));
        assert!(!bundle.has("check") && !bundle.has("seed") && !bundle.has("checks/a"));
    }

    #[test]
    fn texts_are_those_of_small_documents() {
        let sizes = [("spec.yaml", 1), ("a/b.yaml", 2), ("c.json", MAX_READ_BYTES + 1), ("d.py", 1), ("e.yml", 1)];
        let bundle = Bundle::new(sizes.map(|(path, size)| (path.to_owned(), size))).expect("a bundle");
        let content = |path: &str| Some(if path == "e.yml" { vec![0xff] } else { path.as_bytes().to_vec() });
        let texts = bundle.with_texts(content).texts();
        assert_eq!(texts.iter().collect::<Vec<_>>(), [(&"a/b.yaml".to_owned(), &"a/b.yaml".to_owned())]);
    }

    #[test]
    fn bundles_are_bounded() {
        assert!(Bundle::new((0..1001).map(|n| (n.to_string(), 0))).is_err());
        assert!(Bundle::new([("a".to_owned(), MAX_BUNDLE_BYTES), ("b".to_owned(), 1)]).is_err());
    }
}
