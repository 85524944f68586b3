//! Specs from files, folders and standard input.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use scenario::spec::code::Code;
use scenario::spec::diagnostic::{Diagnostic, Severity};
use scenario::spec::yaml::Span;
use scenario::spec::{Bundle, Loaded, MAX_BUNDLE_FILES, load, path};
use walkdir::WalkDir;

use crate::output::CommandError;

/// The name of a spec inside its folder.
const SPEC_FILE: &str = "spec.yaml";
/// A folder that holds this file is passed over when specs are searched for.
const SKIP_FILE: &str = ".touchstone-skip";
/// How much of a file is read: one byte more than a spec may have, so that the loader sees that it is too large.
const MOST_BYTES: u64 = 1024 * 1024 + 1;

/// A spec's text and the files beside it.
#[derive(Debug)]
pub(crate) struct Source {
    /// What messages call it.
    pub(crate) name: String,
    /// The text.
    pub(crate) text: String,
    bundle: Option<Bundle>,
    /// The folder whose files belong to the spec.
    pub(crate) folder: Option<PathBuf>,
    /// What was wrong before the text could be read.
    problem: Option<(Code, String)>,
}

impl Source {
    /// Reads the spec.
    pub(crate) fn load(&self) -> Loaded {
        if let Some((code, message)) = &self.problem {
            let span = Span { line: 1, column: 1, ..Span::default() };
            let diagnostic =
                Diagnostic { code: *code, message: message.clone(), help: None, path: path::Path::default(), span };
            return Loaded { spec: None, diagnostics: vec![diagnostic], left_out: 0 };
        }
        load(&self.text, self.bundle.as_ref())
    }
}

/// Whether there is an error among the findings.
pub(crate) fn has_error(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|diagnostic| diagnostic.severity() == Severity::Error)
}

/// The specs that the paths name: files, folders (searched for specs), and `-` for standard input. A path that cannot
/// be read does not keep the others from being read.
pub(crate) fn sources(paths: &[PathBuf]) -> (Vec<Source>, Result<(), CommandError>) {
    let mut sources = Vec::new();
    let mut problems = Vec::new();
    for path in paths {
        match at(path) {
            Ok(found) => sources.extend(found),
            Err(problem) => problems.push(problem),
        }
    }
    let result = if problems.is_empty() { Ok(()) } else { Err(CommandError::Usage(problems.join("; "))) };
    (sources, result)
}

fn at(path: &Path) -> Result<Vec<Source>, String> {
    if path.as_os_str() == "-" {
        return from_stdin().map(|source| vec![source]);
    }
    if !path.is_dir() {
        return from_file(path).map(|source| vec![source]);
    }
    let found = search(path)?;
    if found.is_empty() {
        return Err(format!("there is no spec in `{}`: no `{SPEC_FILE}` and no other `.yaml` file", path.display()));
    }
    found.iter().map(|file| from_file(file)).collect()
}

fn from_stdin() -> Result<Source, String> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(MOST_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot read standard input: {error}"))?;
    Ok(from_bytes("<stdin>".to_owned(), bytes, None))
}

fn from_file(path: &Path) -> Result<Source, String> {
    let unreadable = |error: io::Error| format!("cannot read `{}`: {error}", path.display());
    let mut bytes = Vec::new();
    fs::File::open(path).map_err(unreadable)?.take(MOST_BYTES).read_to_end(&mut bytes).map_err(unreadable)?;
    let is_bundle = path.file_name().is_some_and(|name| name == SPEC_FILE);
    let folder = path.parent().map_or_else(
        || PathBuf::from("."),
        |parent| if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent.to_owned() },
    );
    let bundle = is_bundle.then(|| bundle(&folder));
    let name = path.strip_prefix(".").unwrap_or(path).display().to_string();
    let source = from_bytes(name, bytes, bundle);
    Ok(Source { folder: is_bundle.then_some(folder), ..source })
}

fn from_bytes(name: String, bytes: Vec<u8>, bundle: Option<Result<Bundle, String>>) -> Source {
    if bytes.len() as u64 >= MOST_BYTES {
        let problem = Some((Code::YamlTooLarge, format!("the spec is longer than {} bytes", MOST_BYTES - 1)));
        return Source { name, text: String::new(), bundle: None, folder: None, problem };
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
        Some(Err(problem)) => (None, Some((Code::InvalidBundle, problem))),
        None => (None, None),
    };
    Source { name, text, bundle, folder: None, problem: not_text.or(too_large) }
}

/// The files beside a spec; the message when they cannot be taken.
fn bundle(folder: &Path) -> Result<Bundle, String> {
    let mut files = Vec::new();
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.map_err(|error| format!("the spec's folder cannot be read: {error}"))?;
        let name = entry.path().strip_prefix(folder).unwrap_or(entry.path()).to_string_lossy().into_owned();
        if entry.file_type().is_symlink() {
            return Err(format!("`{name}` in the spec's folder is a link; only files are taken"));
        }
        if entry.file_type().is_file() {
            let size = entry.metadata().map_err(|error| format!("`{name}` cannot be read: {error}"))?.len();
            files.push((name, size));
        }
        if files.len() > MAX_BUNDLE_FILES {
            break;
        }
    }
    Bundle::new(files)
}

/// The specs of a folder: `spec.yaml` of each folder that has one, and every other YAML file outside such folders.
fn search(folder: &Path) -> Result<Vec<PathBuf>, String> {
    if folder.join(SPEC_FILE).is_file() {
        return Ok(vec![folder.join(SPEC_FILE)]);
    }
    let unreadable = |error: io::Error| format!("cannot read `{}`: {error}", folder.display());
    let mut entries: Vec<_> =
        fs::read_dir(folder).map_err(unreadable)?.collect::<Result<_, _>>().map_err(unreadable)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_dir() && !hidden && !path.join(SKIP_FILE).exists() {
            found.extend(search(&path)?);
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
        {
            found.push(path);
        }
    }
    Ok(found)
}
