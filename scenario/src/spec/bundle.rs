//! The files beside a spec.

use std::collections::BTreeMap;

/// How many files a spec's folder may have.
pub const MAX_BUNDLE_FILES: usize = 1000;
/// How large a spec's folder may be.
pub const MAX_BUNDLE_BYTES: u64 = 64 * 1024 * 1024;

/// How large a file may be whose text is read with the spec.
const MAX_TEXT_BYTES: u64 = 1024 * 1024;

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

/// For callers whose own errors are texts.
impl From<BundleError> for String {
    fn from(error: BundleError) -> Self {
        error.to_string()
    }
}

/// The files beside a spec: their paths relative to its folder, and their sizes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bundle {
    files: BTreeMap<String, u64>,
    /// The texts of YAML files, for what is read with the spec.
    texts: BTreeMap<String, String>,
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
        Ok(Self { files, texts: BTreeMap::new() })
    }

    /// The same bundle with the texts of some files, which checks may read with the spec.
    #[must_use]
    pub fn with_texts(self, texts: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { texts: texts.into_iter().collect(), ..self }
    }

    /// Whether the text of a file may be read with the spec: a YAML file that is not too large.
    #[must_use]
    pub fn may_be_read(path: &str, bytes: u64) -> bool {
        (path.ends_with(".yaml") || path.ends_with(".yml")) && bytes <= MAX_TEXT_BYTES
    }

    /// The texts that came with the bundle.
    pub(crate) fn texts(&self) -> &BTreeMap<String, String> {
        &self.texts
    }

    /// Whether there is a file at `path`, or a folder with files in it.
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
    use super::{Bundle, MAX_BUNDLE_BYTES};

    #[test]
    fn files_and_folders_are_found() {
        let bundle = Bundle::new([("checks/a.py".to_owned(), 1), ("seed.sql".to_owned(), 1)]).expect("a bundle");
        assert!(bundle.has("checks/a.py") && bundle.has("checks") && bundle.has("seed.sql") && bundle.has("."));
        assert!(!bundle.has("check") && !bundle.has("seed") && !bundle.has("checks/a"));
    }

    #[test]
    fn bundles_are_bounded() {
        assert!(Bundle::new((0..1001).map(|n| (n.to_string(), 0))).is_err());
        assert!(Bundle::new([("a".to_owned(), MAX_BUNDLE_BYTES), ("b".to_owned(), 1)]).is_err());
    }
}
