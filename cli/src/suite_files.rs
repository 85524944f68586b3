//! Suites as commands take them: the file, its specs, and its list of capabilities.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use scenario::coverage::CapabilityMatrix;
use scenario::forecast::ForecastOptions;
use scenario::report::{Report, SuiteOutcome};
use scenario::spec::diagnostic::{Diagnostic, Severity};
use scenario::spec::{Spec, render};
use scenario::suite::{Suite, SuitePath};

use crate::output::{CommandError, Output};
use crate::search::SUITE_FILE;
use crate::source::{Source, sources};

/// How long a suite's file, or its list of capabilities, may be.
const MOST_BYTES: u64 = 1024 * 1024;

/// What paths on the command line name, with suites replaced by their specs.
#[derive(Debug, Default)]
pub(crate) struct SuiteFiles {
    /// Files, folders and patterns of specs.
    pub(crate) paths: Vec<PathBuf>,
    /// The suites among them that can be used.
    pub(crate) suites: Vec<SuiteFile>,
    /// What is wrong with suites and their lists of capabilities.
    pub(crate) findings: Vec<Finding>,
    /// How many of the paths are suites.
    named: usize,
}

/// A suite that can be used.
#[derive(Debug)]
pub(crate) struct SuiteFile {
    /// The file.
    pub(crate) name: String,
    /// What it says.
    pub(crate) suite: Suite,
    /// Its list of capabilities.
    pub(crate) matrix: Option<CapabilityMatrix>,
    folder: PathBuf,
}

/// Something that is wrong with a file.
#[derive(Debug)]
pub(crate) struct Finding {
    /// The file.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
    /// What is wrong.
    pub(crate) diagnostic: Diagnostic,
}

/// Looks for suites among paths, and reads them.
pub(crate) fn read(paths: &[PathBuf]) -> Result<SuiteFiles, CommandError> {
    let mut files = SuiteFiles::default();
    for path in paths {
        match suite_text(path)? {
            None => files.paths.push(path.clone()),
            Some((file, text)) => files.add(&file, text)?,
        }
    }
    Ok(files)
}

/// The suite that a path names, with its text: a file that is one, or a folder that has one.
fn suite_text(path: &Path) -> Result<Option<(PathBuf, String)>, CommandError> {
    let named = path.join(SUITE_FILE);
    if path.as_os_str() != "-" && path.is_dir() {
        return if named.is_file() { Ok(Some((named.clone(), text_of(&named)?))) } else { Ok(None) };
    }
    let is_readable = path.is_file() && fs::metadata(path).is_ok_and(|file| file.len() <= MOST_BYTES);
    let Some(text) = is_readable.then(|| fs::read_to_string(path).ok()).flatten() else { return Ok(None) };
    let is_suite = path.file_name().is_some_and(|name| name == SUITE_FILE) || Suite::is_suite(&text);
    Ok(is_suite.then(|| (path.to_owned(), text)))
}

fn text_of(path: &Path) -> Result<String, CommandError> {
    let mut text = String::new();
    let read = fs::File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text));
    let read =
        read.and_then(|size| if size as u64 > MOST_BYTES { Err(io::Error::other("it is too large")) } else { Ok(()) });
    read.map_err(|error| CommandError::Usage(format!("cannot read `{}`: {error}", path.display())))?;
    Ok(text)
}

impl SuiteFiles {
    fn add(&mut self, file: &Path, text: String) -> Result<(), CommandError> {
        self.named += 1;
        let folder = file.parent().map(Path::to_owned).unwrap_or_default();
        let read = Suite::load(&text);
        self.find(file, &text, read.diagnostics);
        let Some(suite) = read.value else { return Ok(()) };
        let matrix = match &suite.capabilities {
            Some(path) => self.matrix(&folder.join(path.as_str()))?,
            None => None,
        };
        if suite.capabilities.is_none() || matrix.is_some() {
            self.find(file, &text, suite.check_coverage(&text, matrix.as_ref()));
        }
        let paths: Vec<_> = suite.specs.iter().map(|path| folder.join(path.as_str())).collect();
        self.check_specs(file, &text, &suite, &paths);
        self.paths.extend(paths);
        let read = SuiteFile { name: shown(file), suite, matrix, folder };
        if read.suite.strict_tags {
            self.findings.extend(read.unknown_tags());
        }
        self.suites.push(read);
        Ok(())
    }

    fn matrix(&mut self, file: &Path) -> Result<Option<CapabilityMatrix>, CommandError> {
        let text = text_of(file)?;
        let read = CapabilityMatrix::load(&text);
        self.find(file, &text, read.diagnostics);
        Ok(read.value)
    }

    /// Compares the suite with its specs, unless one of them cannot be read: that is said where they are.
    fn check_specs(&mut self, file: &Path, text: &str, suite: &Suite, paths: &[PathBuf]) {
        let (sources, readable) = sources(paths);
        let loaded: Option<Vec<Spec>> = sources.iter().map(|source| source.load().spec).collect();
        let (Ok(()), Some(specs)) = (readable, loaded) else { return };
        let ids: Vec<_> = specs.iter().map(|spec| spec.id.as_str()).collect();
        self.find(file, text, suite.check(text, &ids));
    }

    fn find(&mut self, file: &Path, text: &str, diagnostics: Vec<Diagnostic>) {
        let finding = |diagnostic| Finding { name: shown(file), text: text.to_owned(), diagnostic };
        self.findings.extend(diagnostics.into_iter().map(finding));
    }

    /// Makes tags that a list does not have errors, whatever the suites say.
    pub(crate) fn be_strict(&mut self) {
        let strict: Vec<_> =
            self.suites.iter().filter(|file| !file.suite.strict_tags).map(SuiteFile::unknown_tags).collect();
        self.findings.extend(strict.into_iter().flatten());
    }

    /// Whether nothing that was found is an error.
    pub(crate) fn are_valid(&self) -> bool {
        self.findings.iter().all(|finding| finding.diagnostic.severity() != Severity::Error)
    }

    /// Shows people what was found.
    pub(crate) fn show(&self, output: &mut Output) -> Result<(), CommandError> {
        for Finding { name, text, diagnostic } in &self.findings {
            output.line(format!("{}\n", render::text(diagnostic, name, text, output.style())))?;
        }
        Ok(())
    }

    /// The only suite, which is run by itself: the numbers of several, or of a suite and other specs, would be nobody's.
    pub(crate) fn only(self) -> Result<Option<SuiteFile>, CommandError> {
        if self.named > 1 || (self.named == 1 && self.suites.is_empty()) {
            return Err(CommandError::Usage("a suite is run by itself: name one suite".to_owned()));
        }
        let of_suite = self.suites.first().map_or(0, |file| file.suite.specs.len());
        if self.named == 1 && self.paths.len() > of_suite {
            let message = "a suite is run by itself: list the other specs in its file, or run them separately";
            return Err(CommandError::Usage(message.to_owned()));
        }
        Ok(self.suites.into_iter().next())
    }
}

impl SuiteFile {
    /// What the experiments come to as this suite.
    pub(crate) fn outcome(&self, reports: &[Report]) -> SuiteOutcome {
        let outcome = SuiteOutcome::of_suite(&self.suite, self.matrix.as_ref(), reports);
        let Some(settings) = &self.suite.forecast else { return outcome };
        let options = ForecastOptions {
            runs_per_day: settings.runs_per_day.get().unsigned_abs(),
            price_per_mtok_usd: settings.price_per_mtok.map(|price| price.get()),
        };
        outcome.with_forecast(options, reports)
    }

    /// A path of the suite's file, from here.
    pub(crate) fn path(&self, path: &SuitePath) -> PathBuf {
        self.folder.join(path.as_str())
    }

    /// The file of its quarantine.
    pub(crate) fn quarantine(&self) -> Option<PathBuf> {
        self.suite.quarantine.as_ref().map(|path| self.path(path))
    }

    /// What it is compared with: a file beside it, or else a name as it was written.
    pub(crate) fn baseline(&self) -> Option<String> {
        let written = self.suite.baseline.as_ref()?;
        let file = self.path(written);
        let is_file = file.is_file() || file.extension().is_some_and(|extension| extension == "json");
        Some(if is_file { file.display().to_string() } else { written.as_str().to_owned() })
    }

    /// Its specs.
    pub(crate) fn specs(&self) -> Vec<PathBuf> {
        self.suite.specs.iter().map(|path| self.path(path)).collect()
    }

    /// Tags of its specs that its list of capabilities does not have.
    fn unknown_tags(&self) -> Vec<Finding> {
        let Some(matrix) = &self.matrix else { return Vec::new() };
        let (sources, _) = sources(&self.specs());
        let of = |source: Source| {
            let found = source.load().spec.map(|spec| matrix.unknown_tags(&spec, &source.text)).unwrap_or_default();
            let finding =
                move |diagnostic| Finding { name: source.name.clone(), text: source.text.clone(), diagnostic };
            found.into_iter().map(finding).collect::<Vec<_>>()
        };
        sources.into_iter().flat_map(of).collect()
    }
}

fn shown(file: &Path) -> String {
    file.strip_prefix(".").unwrap_or(file).display().to_string()
}
