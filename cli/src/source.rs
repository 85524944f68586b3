//! Specs from files, folders and standard input.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use indexmap::map::Entry;
use scenario::spec::code::Code;
use scenario::spec::diagnostic::{Diagnostic, Severity};
use scenario::spec::yaml::Span;
use scenario::spec::{Bundle, Loaded, Spec, load, path};
use scenario::untrusted;
use store::SpecContent;

use crate::bundle_files::{self, BundleFilesError};
use crate::output::CommandError;
use crate::search::{self, Pattern, SPEC_FILE, SearchError};
use crate::suggest_path::suggest_path;

/// Maximum number of bytes read from a file: one more than a spec may have, so that the loader notices files that are
/// too large.
const MOST_BYTES: u64 = 1024 * 1024 + 1;

/// Maximum length of a name that is shown.
const MOST_NAME: usize = 500;

/// A spec's text and the files beside it.
#[derive(Debug)]
pub(crate) struct Source {
    /// Its name in messages.
    pub(crate) name: String,
    /// The text.
    pub(crate) text: String,
    bundle: Option<Bundle>,
    /// The folder whose files belong to the spec.
    pub(crate) folder: Option<PathBuf>,
    /// The way in which it was found.
    pub(crate) found: FoundBy,
    /// The problem that kept the text from being read.
    problem: Option<(Code, String)>,
}

/// The reason why a path names no spec.
#[derive(Debug, thiserror::Error)]
enum SourceError {
    #[error(transparent)]
    Search(#[from] SearchError),
    #[error("there is no spec in `{}`: no `{SPEC_FILE}` and no other `.yaml` file", .0.display())]
    EmptyFolder(PathBuf),
    #[error("no spec matches `{}`", .0.display())]
    NoMatch(PathBuf),
    #[error("cannot read standard input: {0}")]
    Stdin(#[source] io::Error),
    #[error("cannot read `{}`: there is no such file or folder{}", .0.display(), suggestion(.0))]
    Nowhere(PathBuf),
    #[error("cannot read `{}`: {cause}", path.display())]
    File {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

/// The way in which a spec was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FoundBy {
    /// It was named: its file, its folder, or standard input.
    Named,
    /// It was in a folder that was searched, or matched a pattern.
    Searched,
}

impl Source {
    /// Returns the name, made safe to show: it is untrusted, because whoever makes a file chooses it.
    pub(crate) fn shown(&self) -> String {
        untrusted::line(&self.name, MOST_NAME)
    }

    /// Reads the spec.
    pub(crate) fn load(&self) -> Loaded {
        if let Some((code, message)) = &self.problem {
            let span = Span { line: 1, column: 1, ..Span::default() };
            let diagnostic =
                Diagnostic { code: *code, message: message.clone(), help: None, path: path::Path::default(), span };
            return Loaded { spec: None, diagnostics: vec![diagnostic], left_out: 0, advice: Vec::new() };
        }
        load(&self.text, self.bundle.as_ref())
    }
}

/// Returns an error if two specs have the same id: reports, baselines and the history tell specs apart by it.
pub(crate) fn same_id<'a>(specs: impl IntoIterator<Item = (&'a Source, &'a Spec)>) -> Option<String> {
    let mut first: HashMap<&str, &Source> = HashMap::new();
    specs.into_iter().find_map(|(source, spec)| {
        let other = first.insert(spec.id.as_str(), source)?;
        let (id, one, two) = (spec.id.as_str(), other.shown(), source.shown());
        Some(format!("`{id}` is the id of `{one}` and of `{two}`: give one of them another"))
    })
}

/// Returns the content of a spec to be stored: its text, and the files beside it, sorted by path.
pub(crate) fn content(source: &Source) -> Result<SpecContent, CommandError> {
    let folder = source.folder.as_deref();
    let mut files = folder.map_or_else(|| Ok(Vec::new()), bundle_files::files).map_err(|problem| {
        CommandError::Usage(format!("the files beside `{}` cannot be read: {problem}", source.name))
    })?;
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(SpecContent { text: source.text.clone(), files })
}

/// Returns true if the findings contain an error.
pub(crate) fn has_error(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|diagnostic| diagnostic.severity() == Severity::Error)
}

/// The specs that the paths name: files, folders (searched for specs), patterns that the shell did not expand, and `-`
/// for standard input. A file that is named twice is taken once. A path that cannot be read does not keep the others
/// from being read.
pub(crate) fn sources(paths: &[PathBuf]) -> (Vec<Source>, Result<(), CommandError>) {
    let mut sources: IndexMap<PathBuf, Source> = IndexMap::new();
    let mut problems = Vec::new();
    for path in paths {
        let (files, found) = match files(path) {
            Ok(files) => files,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        for file in files {
            match sources.entry(identity(&file)) {
                Entry::Occupied(mut known) if found == FoundBy::Named => known.get_mut().found = FoundBy::Named,
                Entry::Occupied(_) => {}
                Entry::Vacant(new) => match read(&file) {
                    Ok(source) => drop(new.insert(Source { found, ..source })),
                    Err(problem) => problems.push(problem),
                },
            }
        }
    }
    let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
    let result = if problems.is_empty() { Ok(()) } else { Err(CommandError::Usage(problems.join("; "))) };
    (sources.into_values().collect(), result)
}

/// The files that a path names.
fn files(path: &Path) -> Result<(Vec<PathBuf>, FoundBy), SourceError> {
    if !is_stdin(path) && path.is_dir() {
        let found = search::in_folder(path)?;
        if found.is_empty() {
            return Err(SourceError::EmptyFolder(path.to_owned()));
        }
        return Ok((found, if search::is_bundle(path) { FoundBy::Named } else { FoundBy::Searched }));
    }
    let pattern = if path.symlink_metadata().is_ok() { None } else { Pattern::new(path) };
    let Some(pattern) = pattern else { return Ok((vec![path.to_owned()], FoundBy::Named)) };
    let found = pattern?.find()?;
    if found.is_empty() {
        return Err(SourceError::NoMatch(path.to_owned()));
    }
    Ok((found, FoundBy::Searched))
}

/// Returns a path that identifies a file, however its folder is written.
fn identity(file: &Path) -> PathBuf {
    match (file.file_name(), folder_of(file).canonicalize()) {
        (Some(name), Ok(folder)) if !is_stdin(file) => folder.join(name),
        _ => file.to_owned(),
    }
}

fn folder_of(file: &Path) -> PathBuf {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.map_or_else(|| PathBuf::from("."), Path::to_owned)
}

fn read(file: &Path) -> Result<Source, SourceError> {
    if is_stdin(file) { from_stdin() } else { from_file(file) }
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn from_stdin() -> Result<Source, SourceError> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(MOST_BYTES).read_to_end(&mut bytes).map_err(SourceError::Stdin)?;
    Ok(from_bytes("<stdin>".to_owned(), bytes, None))
}

fn from_file(path: &Path) -> Result<Source, SourceError> {
    let unreadable = |cause: io::Error| match cause.kind() {
        io::ErrorKind::NotFound => SourceError::Nowhere(path.to_owned()),
        _ => SourceError::File { path: path.to_owned(), cause },
    };
    let mut bytes = Vec::new();
    fs::File::open(path).map_err(unreadable)?.take(MOST_BYTES).read_to_end(&mut bytes).map_err(unreadable)?;
    let is_bundle = path.file_name().is_some_and(|name| name == SPEC_FILE);
    let folder = folder_of(path);
    let bundle = is_bundle.then(|| bundle_files::bundle(&folder));
    let name = path.strip_prefix(".").unwrap_or(path).display().to_string();
    let source = from_bytes(name, bytes, bundle);
    Ok(Source { folder: is_bundle.then_some(folder), ..source })
}

/// Suggests a path for one that does not exist.
fn suggestion(path: &Path) -> String {
    suggest_path(path).map(|near| format!("; did you mean `{}`?", near.display())).unwrap_or_default()
}

fn from_bytes(name: String, bytes: Vec<u8>, bundle: Option<Result<Bundle, BundleFilesError>>) -> Source {
    if bytes.len() as u64 >= MOST_BYTES {
        let problem = Some((Code::YamlTooLarge, format!("the spec is longer than {} bytes", MOST_BYTES - 1)));
        return Source { name, text: String::new(), bundle: None, folder: None, found: FoundBy::Named, problem };
    }
    let (text, not_text) = match String::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => (
            String::new(),
            Some((
                Code::YamlSyntax,
                format!("the text is not UTF-8: byte {} is wrong", error.utf8_error().valid_up_to()),
            )),
        ),
    };
    let (bundle, too_large) = match bundle {
        Some(Ok(bundle)) => (Some(bundle), None),
        Some(Err(error)) => (None, Some((Code::InvalidBundle, error.to_string()))),
        None => (None, None),
    };
    Source { name, text, bundle, folder: None, found: FoundBy::Named, problem: not_text.or(too_large) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{FoundBy, sources};

    /// A tree with a spec of its own folder, one in a folder that is passed over, and one that stands alone.
    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for file in ["a/spec.yaml", "a/data/more.yaml", "a/other.yaml", "b.yaml", "b.txt", "skip/c.yaml", ".git/d.yaml"]
        {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, "x: 1").expect("written");
        }
        fs::write(folder.path().join("skip/.touchstone-skip"), "").expect("written");
        folder
    }

    fn found(folder: &Path, paths: &[&str]) -> (Vec<(String, FoundBy)>, String) {
        let paths: Vec<PathBuf> = paths.iter().map(|path| folder.join(path)).collect();
        let (sources, result) = sources(&paths);
        let name = |name: &str| {
            let path = Path::new(name);
            path.strip_prefix(folder).unwrap_or(path).display().to_string()
        };
        let found = sources.iter().map(|source| (name(&source.name), source.found)).collect();
        (found, result.err().map(|error| error.to_string()).unwrap_or_default())
    }

    #[track_caller]
    fn check(paths: &[&str], expected: &[(&str, FoundBy)]) {
        let tree = tree();
        let (found, problem) = found(tree.path(), paths);
        let expected: Vec<_> = expected.iter().map(|(name, found)| ((*name).to_owned(), *found)).collect();
        assert_eq!((found, problem.as_str()), (expected, ""), "{paths:?}");
    }

    #[test]
    fn what_is_named_is_told_from_what_is_found() {
        use FoundBy::{Named, Searched};
        check(&["a/spec.yaml"], &[("a/spec.yaml", Named)]);
        check(&["a"], &[("a/spec.yaml", Named)]);
        check(&["b.txt"], &[("b.txt", Named)]);
        check(&["skip"], &[("skip/c.yaml", Searched)]);
        check(&[""], &[("a/spec.yaml", Searched), ("b.yaml", Searched)]);
    }

    #[test]
    fn patterns_match_specs_and_folders_of_specs() {
        use FoundBy::Searched;
        check(&["*"], &[("a/spec.yaml", Searched), ("b.yaml", Searched)]);
        check(&["**"], &[("a/spec.yaml", Searched), ("b.yaml", Searched)]);
        check(&["**/*.yaml"], &[("a/spec.yaml", Searched), ("b.yaml", Searched)]);
        check(&["[a]"], &[("a/spec.yaml", Searched)]);
        check(&["?/spec.yaml"], &[("a/spec.yaml", Searched)]);
        check(&["skip/*.yaml"], &[("skip/c.yaml", Searched)]);
        check(&["a/*.yaml"], &[("a/other.yaml", Searched), ("a/spec.yaml", Searched)]);
        check(&[".g*/*"], &[(".git/d.yaml", Searched)]);
    }

    #[test]
    fn a_file_is_taken_once_and_being_named_counts() {
        use FoundBy::{Named, Searched};
        check(&["*", "a/../a/spec.yaml", "a"], &[("a/spec.yaml", Named), ("b.yaml", Searched)]);
        check(&["b.yaml", "*.yaml", "./b.yaml"], &[("b.yaml", Named)]);
    }

    #[test]
    fn a_file_whose_name_looks_like_a_pattern_is_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("[x]*.yaml"), "x: 1").expect("written");
        assert_eq!(found(folder.path(), &["[x]*.yaml"]).0, [("[x]*.yaml".to_owned(), FoundBy::Named)]);
    }

    #[test]
    fn a_pattern_without_a_match_does_not_hide_the_others() {
        let tree = tree();
        let (found, problem) = found(tree.path(), &["z*", "*.txt", "a", "[", "nowhere/*"]);
        assert_eq!(found, [("a/spec.yaml".to_owned(), FoundBy::Named)]);
        for wanted in ["no spec matches `", "/z*`", "/*.txt`", "[` is no pattern: ", "cannot search `"] {
            assert!(problem.contains(wanted), "{wanted}: {problem}");
        }
    }
}
