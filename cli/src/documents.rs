//! Reports as people and machines want them: on standard output, and in files.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use scenario::report::Reports;

use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::report_format::ReportFormat;

/// Which documents are wanted.
#[derive(Debug, Clone, Args)]
pub(crate) struct DocumentOptions {
    /// How to show the result.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// Write the result to a file, too: .json, .xml (JUnit), .md or .txt. Can be given several times.
    #[arg(long, short, value_name = "FILE")]
    output: Vec<PathBuf>,
}

/// Documents that can be written.
#[derive(Debug, Clone)]
pub(crate) struct Documents {
    format: ReportFormat,
    files: Vec<(PathBuf, ReportFormat)>,
}

impl DocumentOptions {
    /// Finds out whether the files can be written, before anything is run.
    pub(crate) fn check(&self) -> Result<Documents, CommandError> {
        let files = self.output.iter().map(|path| Ok((path.clone(), format_of(path)?))).collect::<Result<_, _>>();
        Ok(Documents { format: self.format, files: files.map_err(CommandError::Usage)? })
    }
}

impl Documents {
    /// Writes the reports to all files, and shows them. What could not be written is said, and hides no verdict: the
    /// exit code stays unless everything passed.
    pub(crate) fn publish(&self, reports: &Reports, exit: Exit, output: &mut Output) -> Result<Exit, CommandError> {
        match self.write(reports, output) {
            Err(error) if exit != Exit::Passed => {
                output.problem(&error);
                Ok(exit)
            }
            written => written.map(|()| exit),
        }
    }

    fn write(&self, reports: &Reports, output: &mut Output) -> Result<(), CommandError> {
        const PAGE: u16 = 120;
        let mut failed = Vec::new();
        for (path, format) in &self.files {
            if let Err(error) = fs::write(path, format.render_all(reports, PAGE)) {
                failed.push(format!("cannot write `{}`: {error}", path.display()));
            }
        }
        let shown = output.line(self.format.render_all(reports, output.width()).trim_end());
        if failed.is_empty() { shown } else { Err(CommandError::Infrastructure(failed.join("; "))) }
    }
}

/// The format that a file's name asks for, when the file can be written.
fn format_of(path: &Path) -> Result<ReportFormat, String> {
    let format = match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => ReportFormat::Json,
        Some("xml") => ReportFormat::Junit,
        Some("md") => ReportFormat::Markdown,
        Some("txt") => ReportFormat::Text,
        _ => return Err(format!("`{}` says no format: end it with .json, .xml, .md or .txt", path.display())),
    };
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() || !folder.is_dir() {
        return Err(format!("`{}` cannot be written: there is no such folder, or it is one", path.display()));
    }
    Ok(format)
}
