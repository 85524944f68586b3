//! Reports as people and machines want them: on standard output, and in files.

use std::borrow::Cow;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum as _};
use rustix::fs::{Access, access};
use scenario::forecast::ForecastOptions;
use scenario::report::{Reports, markdown_all};

use crate::exit_code::Exit;
use crate::forecast_args::ForecastArgs;
use crate::output::{CommandError, Output};
use crate::report_format::ReportFormat;

/// The variable in which GitHub Actions says where the summary of a step is.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";
/// Maximum width of a table in a file.
const PAGE: u16 = 120;

/// The reason why a document cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DocumentError {
    /// Its name says no format.
    #[error("`{}` says no format: end it with .json, .ndjson, .xml, .md or .txt, or write FORMAT:FILE", .0.display())]
    NoFormat(PathBuf),
    /// Its file cannot be written, as is known before anything is run.
    #[error("`{}` cannot be written: {reason}", path.display())]
    Unwritable {
        path: PathBuf,
        #[source]
        reason: Unwritable,
    },
    /// Its file was not written.
    #[error("cannot write `{}`: {cause}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// The summary of a step was not written.
    #[error("cannot write `{}` of {STEP_SUMMARY}: {cause}", path.display())]
    Summary {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

/// The reason why a file cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unwritable {
    /// It has no name.
    #[error("it has no name")]
    NoName,
    /// It is meant to be standard output.
    #[error("standard output is what `--format` is for")]
    StandardOutput,
    /// It is a folder.
    #[error("it is a folder")]
    Folder,
    /// It is a link to nothing.
    #[error("it is a link that leads nowhere")]
    LeadsNowhere,
    /// Its folder is not there.
    #[error("there is no folder `{}`", .0.display())]
    NoFolder(PathBuf),
    /// The machine does not allow it.
    #[error(transparent)]
    Refused(io::Error),
}

/// Which documents are wanted.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DocumentOptions {
    /// How to show the result.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// Write the result to a file, too: .json, .ndjson, .xml (JUnit), .md or .txt, or FORMAT:FILE for any other name. Can be
    /// given several times.
    #[arg(long, short, value_name = "FILE")]
    output: Vec<PathBuf>,
    #[command(flatten)]
    forecast: ForecastArgs,
}

/// Documents that can be written.
#[derive(Debug, Clone)]
pub(crate) struct Documents {
    format: ReportFormat,
    files: Vec<(PathBuf, ReportFormat)>,
    forecast: Option<ForecastOptions>,
}

impl DocumentOptions {
    /// Checks before the run that the files can be written, and switches the output to a stream for NDJSON.
    pub(crate) fn check(&self, output: &mut Output) -> Result<Documents, CommandError> {
        if self.format == ReportFormat::Ndjson {
            output.stream();
        }
        let files = self.output.iter().map(|path| document(path)).collect::<Result<Vec<_>, _>>();
        let files = files.map_err(CommandError::usage)?;
        if let Some((path, _)) = files
            .iter()
            .enumerate()
            .find_map(|(index, file)| files[..index].iter().find(|(before, _)| *before == file.0))
        {
            let path = path.display();
            return Err(CommandError::Usage(format!("`{path}` is asked for twice: one would replace the other")));
        }
        Ok(Documents { format: self.format, files, forecast: self.forecast.options() })
    }
}

impl Documents {
    /// Returns true if standard output consists of annotations for a CI system, without text for people.
    pub(crate) fn are_annotations(&self) -> bool {
        self.format == ReportFormat::Github
    }

    /// Returns true if this file is one of them.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.files.iter().any(|(file, _)| file == path)
    }

    /// Returns these documents without the one whose file must stay as it is.
    pub(crate) fn without(&self, spared: Option<&Path>) -> Self {
        let same = |path: &Path| spared.is_some_and(|spared| is_same(path, spared));
        let files = self.files.iter().filter(|(path, _)| !same(path)).cloned().collect();
        Self { format: self.format, files, forecast: self.forecast }
    }

    /// Writes to all files that nothing was run, and why. Otherwise the output of an earlier run would be taken for the
    /// result of this one.
    pub(crate) fn excuse(&self, reports: &Reports, output: &mut Output) {
        for problem in self.write_files(reports) {
            output.problem(&CommandError::Infrastructure(problem.to_string()));
        }
    }

    /// Writes the reports to all files, and shows them. A write error is reported, and hides no verdict: the exit code
    /// stays unless everything passed.
    pub(crate) fn publish(&self, reports: &Reports, exit: Exit, output: &mut Output) -> Result<Exit, CommandError> {
        match self.write(&with_forecast(reports, self.forecast), output) {
            Err(error) if exit != Exit::Passed => {
                output.problem(&error);
                Ok(exit)
            }
            written => written.map(|()| exit),
        }
    }

    /// Writes the reports to all files, and shows nothing.
    pub(crate) fn write_quietly(&self, reports: &Reports) -> Result<(), CommandError> {
        let failed: Vec<_> = self.write_files(reports).iter().map(ToString::to_string).collect();
        if failed.is_empty() { Ok(()) } else { Err(CommandError::Infrastructure(failed.join("; "))) }
    }

    fn write(&self, reports: &Reports, output: &mut Output) -> Result<(), CommandError> {
        let written = self.write_quietly(reports);
        let text = self.format.render_all(reports, output.width());
        let shown = match self.format {
            ReportFormat::Text => output.report(text.trim_end()),
            format => output.document(text.trim_end(), format.form()),
        };
        written.and(shown)
    }

    /// Writes all files; what could not be written.
    fn write_files(&self, reports: &Reports) -> Vec<DocumentError> {
        let mut failed = Vec::new();
        for (path, format) in &self.files {
            if let Err(cause) = fs::write(path, format.render_all(reports, PAGE)) {
                failed.push(DocumentError::Write { path: path.clone(), cause });
            }
        }
        if self.format == ReportFormat::Github {
            failed.extend(summarise_step(reports).err());
        }
        failed
    }
}

/// The reports with the forecast that was asked for.
pub(crate) fn with_forecast(reports: &Reports, asked: Option<ForecastOptions>) -> Cow<'_, Reports> {
    match asked {
        None => Cow::Borrowed(reports),
        Some(options) => {
            let outcome = reports.outcome.clone().with_forecast(options, &reports.reports);
            Cow::Owned(Reports { outcome, ..reports.clone() })
        }
    }
}

/// Returns true if two paths name the same file.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other || fs::canonicalize(one).is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
}

/// Adds the report to the summary of a step of GitHub Actions, where there is one.
fn summarise_step(reports: &Reports) -> Result<(), DocumentError> {
    let Some(path) = env::var_os(STEP_SUMMARY).filter(|path| !path.is_empty()).map(PathBuf::from) else {
        return Ok(());
    };
    let failed = |cause: io::Error| DocumentError::Summary { path: path.clone(), cause };
    let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?;
    file.write_all(markdown_all(reports).as_bytes()).map_err(failed)
}

/// The file and the format that are asked for, when the file can be written.
fn document(given: &Path) -> Result<(PathBuf, ReportFormat), DocumentError> {
    let text = given.to_str().unwrap_or_default();
    let named = text.split_once(':').and_then(|(word, file)| Some((ReportFormat::from_str(word, false).ok()?, file)));
    let (path, format) = match named {
        Some((format, file)) => (PathBuf::from(file), format),
        None => (given.to_owned(), format_of(given)?),
    };
    require_writable(&path)?;
    Ok((path, format))
}

/// The format that a file's name asks for.
fn format_of(path: &Path) -> Result<ReportFormat, DocumentError> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.and_then(ReportFormat::of_extension).ok_or_else(|| DocumentError::NoFormat(path.to_owned()))
}

/// Refuses a file that cannot be written, before anything is run.
pub(crate) fn require_writable(path: &Path) -> Result<(), DocumentError> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let place = if path.exists() { path } else { folder };
    let leads_nowhere = !path.exists() && path.is_symlink();
    let reason = match access(place, Access::WRITE_OK) {
        _ if path.as_os_str().is_empty() => Unwritable::NoName,
        _ if path.as_os_str() == "-" => Unwritable::StandardOutput,
        _ if path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/") => Unwritable::Folder,
        _ if leads_nowhere => Unwritable::LeadsNowhere,
        _ if !folder.is_dir() => Unwritable::NoFolder(folder.to_owned()),
        Err(error) => Unwritable::Refused(error.into()),
        Ok(()) => return Ok(()),
    };
    Err(DocumentError::Unwritable { path: path.to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::document;
    use crate::report_format::ReportFormat;

    #[test]
    fn a_file_says_its_format_by_its_ending_or_in_front_of_it() {
        let read = |text: &str| document(Path::new(text)).ok();
        let is = |file: &str, format| Some((PathBuf::from(file), format));
        assert_eq!(read("out.xml"), is("out.xml", ReportFormat::Junit));
        assert_eq!(read("out.jsonl"), is("out.jsonl", ReportFormat::Ndjson));
        assert_eq!(read("junit:results"), is("results", ReportFormat::Junit));
        assert_eq!(read("github:/dev/null"), is("/dev/null", ReportFormat::Github));
        assert_eq!(read("a:b.md"), is("a:b.md", ReportFormat::Markdown), "a colon may be part of a name");
        for wrong in ["out.pdf", "results", "junit:", "nowhere/out.json", "pdf:out", "out.json/", "json:-"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
