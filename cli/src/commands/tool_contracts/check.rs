//! `touchstone tool-contracts check`: everything that is wrong with a set.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use scenario::{count_noun, untrusted};
use serde_json::{Value as Json, json};
use tool_contracts::{Class, Diagnostic};

use super::files::{CompiledFiles, ContractFiles, options, show};
use crate::ci_commands::Form;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Compile a directory of tool contracts, and show everything that is wrong with it.
///
/// The exit code is 3 when it does not compile. Rules that cannot work together, such as a tool that no run can call, are warnings.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The directory with session.yaml and a file for each tool, or with workflow.yaml.
    dir: PathBuf,
    /// How to show what was found.
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    format: CheckFormat,
    /// Require all ten fields of a tool file.
    #[arg(long)]
    strict: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CheckFormat {
    /// For people.
    Text,
    /// One JSON object.
    Json,
    /// Annotations for GitHub Actions.
    Github,
}

impl Check {
    /// The check of a directory, shown to people.
    pub(super) fn of(dir: PathBuf) -> Self {
        Self { dir, format: CheckFormat::Text, strict: false }
    }

    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let files = ContractFiles::read(&self.dir)?;
        let result = files.compile(&options(self.strict));
        match self.format {
            CheckFormat::Text => text(&files, &result, output)?,
            CheckFormat::Json => output.json(&json(&files, &result))?,
            CheckFormat::Github => {
                for found in &result.diagnostics {
                    output.document(&annotation(&files, found), Form::Commands)?;
                }
            }
        }
        Ok(if result.diagnostics.iter().any(Diagnostic::is_error) { Exit::InvalidSpec } else { Exit::Passed })
    }
}

fn text(files: &ContractFiles, result: &CompiledFiles, output: &mut Output) -> Result<(), CommandError> {
    show(files, &result.diagnostics, output)?;
    let of = |class| result.diagnostics.iter().filter(|found| found.class() == class).count();
    let counted = format!("{}, {}", count_noun(of(Class::Error), "error"), count_noun(of(Class::Warning), "warning"));
    let folder = files.folder().display();
    match &result.compiled {
        Some(set) => {
            let tools = count_noun(set.tool_names().count(), "tool");
            output.line(format!("{folder}: ok, {tools}; {counted}; {}", set.hash))
        }
        None => output.line(format!("{folder}: does not compile; {counted}")),
    }
}

fn json(files: &ContractFiles, result: &CompiledFiles) -> Json {
    let one = |found: &Diagnostic| {
        json!({
            "file": files.folder().join(&found.place.file),
            "line": found.place.span.line,
            "column": found.place.span.column,
            "path": found.place.path.to_string(),
            "code": found.code,
            "severity": found.class(),
            "subject": found.subject,
            "message": found.message,
            "help": found.help,
        })
    };
    let of =
        |is_error| result.diagnostics.iter().filter(|found| found.is_error() == is_error).map(one).collect::<Json>();
    json!({
        "ok": result.compiled.is_some(),
        "hash": result.compiled.as_ref().map(|set| &set.hash),
        "errors": of(true),
        "warnings": of(false),
    })
}

fn annotation(files: &ContractFiles, found: &Diagnostic) -> String {
    let escaped = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| escaped(text).replace(':', "%3A").replace(',', "%2C");
    let file = files.folder().join(&found.place.file).display().to_string();
    let help = found.help.as_ref().map(|help| format!(": {help}")).unwrap_or_default();
    let message = untrusted::line(&format!("{}{help}", found.message), 600);
    let span = &found.place.span;
    format!(
        "::{} file={},line={},col={},title={}::{}",
        found.class().name(),
        property(&untrusted::line(&file, 300)),
        span.line,
        span.column,
        property(found.code.name()),
        escaped(&message)
    )
}
