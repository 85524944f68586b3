//! Finds the spec files of a folder or a pattern.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use walkdir::{DirEntry, WalkDir};

/// The name of a spec inside its folder.
pub(crate) const SPEC_FILE: &str = "spec.yaml";
/// The name of a suite inside its folder.
pub(crate) const SUITE_FILE: &str = "suite.yaml";
/// Files of a suite's folder that are no specs.
const SUITE_FILES: [&str; 3] = [SUITE_FILE, "capabilities.yaml", "quarantine.yaml"];
/// A folder that holds this file is passed over when specs are searched for.
const SKIP_FILE: &str = ".touchstone-skip";

/// The reason why specs cannot be searched for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SearchError {
    /// A folder cannot be read.
    #[error("cannot read `{}`: {cause}", folder.display())]
    Folder {
        folder: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// A path has a pattern's characters, and is none.
    #[error("`{}` is no pattern: {}", path.display(), cause.kind())]
    Pattern {
        path: PathBuf,
        #[source]
        cause: globset::Error,
    },
    /// The folders of a pattern cannot be read.
    #[error("cannot search `{}`: {cause}", base.display())]
    Walk {
        base: PathBuf,
        #[source]
        cause: walkdir::Error,
    },
}

/// The specs of a folder: `spec.yaml` of each folder that has one, and every other YAML file outside such folders.
pub(crate) fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, SearchError> {
    if is_bundle(folder) {
        return Ok(vec![folder.join(SPEC_FILE)]);
    }
    let unreadable = |cause: io::Error| SearchError::Folder { folder: folder.to_owned(), cause };
    let mut entries: Vec<_> =
        fs::read_dir(folder).map_err(unreadable)?.collect::<Result<_, _>>().map_err(unreadable)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.path();
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_dir() && !is_passed_over(&path) {
            found.extend(in_folder(&path)?);
        } else if kind.is_file() && is_yaml(&path) && !is_of_suite(&path) {
            found.push(path);
        }
    }
    Ok(found)
}

/// Returns true if the folder is a spec with its files.
pub(crate) fn is_bundle(folder: &Path) -> bool {
    folder.join(SPEC_FILE).is_file()
}

fn is_passed_over(folder: &Path) -> bool {
    is_hidden(folder) || folder.join(SKIP_FILE).exists()
}

/// Whether a file is a suite, or belongs to the suite beside it.
fn is_of_suite(file: &Path) -> bool {
    let has_name = file.file_name().is_some_and(|name| SUITE_FILES.iter().any(|known| name == *known));
    has_name && file.with_file_name(SUITE_FILE).is_file()
}

/// Returns true if a name begins with a dot.
pub(crate) fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

/// Returns true if a name has the extension of a YAML file.
pub(crate) fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// A path with `*`, `?` or `[`, which the shell did not expand. `**` stands for any number of folders.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// The folder in front of the first step with such a character.
    base: PathBuf,
    matcher: GlobMatcher,
    /// Maximum number of steps from the base to a match.
    depth: usize,
    /// True if a step begins with a dot; otherwise hidden folders are skipped.
    names_hidden: bool,
}

impl Pattern {
    /// Reads a path as a pattern; `None` when it has no such character.
    pub(crate) fn new(path: &Path) -> Option<Result<Self, SearchError>> {
        let is_wild = |step: &Component<'_>| step.as_os_str().to_string_lossy().contains(['*', '?', '[']);
        let steps: Vec<_> = path.components().collect();
        let first = steps.iter().position(is_wild)?;
        let base: PathBuf = steps[..first].iter().collect();
        let wild: Vec<_> = steps[first..].iter().map(|step| step.as_os_str().to_string_lossy()).collect();
        let glob = GlobBuilder::new(&wild.join("/")).literal_separator(true).build();
        Some(glob.map_err(|cause| SearchError::Pattern { path: path.to_owned(), cause }).map(|glob| Self {
            base: if base.as_os_str().is_empty() { PathBuf::from(".") } else { base },
            matcher: glob.compile_matcher(),
            depth: if wild.iter().any(|step| step.contains("**")) { usize::MAX } else { wild.len() },
            names_hidden: wild.iter().any(|step| step.starts_with('.')),
        }))
    }

    /// The specs that match: files, and what is in folders that match.
    pub(crate) fn find(&self) -> Result<Vec<PathBuf>, SearchError> {
        let mut found = Vec::new();
        let walk = WalkDir::new(&self.base).min_depth(1).max_depth(self.depth).sort_by_file_name();
        for entry in walk.into_iter().filter_entry(|entry| entry.depth() == 0 || self.enters(entry)) {
            let entry = entry.map_err(|cause| SearchError::Walk { base: self.base.clone(), cause })?;
            let path = entry.path();
            if !self.matcher.is_match(path.strip_prefix(&self.base).unwrap_or(path)) {
                continue;
            }
            if path.is_dir() {
                found.extend(in_folder(path)?);
            } else if path.is_file() && is_yaml(path) && !is_of_suite(path) {
                found.push(path.to_owned());
            }
        }
        Ok(found)
    }

    /// Returns true if the search reads this entry, or enters it if it is a folder. The files of a spec are no specs.
    fn enters(&self, entry: &DirEntry) -> bool {
        let path = entry.path();
        let of_a_spec = entry.depth() > 1
            && path.file_name().is_some_and(|name| name != SPEC_FILE)
            && path.parent().is_some_and(is_bundle);
        let passed_over = path.is_dir() && (path.join(SKIP_FILE).exists() || (is_hidden(path) && !self.names_hidden));
        !of_a_spec && !passed_over
    }
}
