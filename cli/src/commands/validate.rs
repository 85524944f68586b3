//! `touchstone validate`: everything that is wrong with a spec.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use scenario::plan::{PlanOptions, expand};
use scenario::spec::diagnostic::{Diagnostic, Severity};
use scenario::spec::{Loaded, render};
use scenario::{counted, counted_as};

use crate::ci_commands::Form;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::source::{Source, has_error, same_id, sources};

/// Check specs without running anything, and show everything that is wrong with them.
#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// Spec files, folders to search for specs, patterns such as `specs/check-*`, or `-` for standard input.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// How to show what was found.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Exit with 3 for warnings too.
    #[arg(long)]
    deny_warnings: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people: with excerpts.
    Text,
    /// One JSON array.
    Json,
    /// Annotations for GitHub Actions.
    Github,
}

impl Validate {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let (sources, readable) = sources(&self.paths);
        let results: Vec<(&Source, Loaded)> = sources.iter().map(|source| (source, source.load())).collect();
        match self.format {
            Format::Text if results.is_empty() => {}
            Format::Text => text(&results, output)?,
            Format::Json => json(&results, output)?,
            Format::Github => github(&results, output)?,
        }
        readable?;
        let specs = results.iter().filter_map(|(source, loaded)| Some((*source, loaded.spec.as_ref()?)));
        if let Some(problem) = same_id(specs) {
            output.notice(&format!("{problem}; they cannot be run together"));
        }
        let invalid = results.iter().any(|(_, loaded)| {
            has_error(&loaded.diagnostics) || (self.deny_warnings && !loaded.diagnostics.is_empty())
        });
        Ok(if invalid { Exit::InvalidSpec } else { Exit::Passed })
    }
}

fn text(results: &[(&Source, Loaded)], output: &mut Output) -> Result<(), CommandError> {
    for (source, loaded) in results {
        for diagnostic in &loaded.diagnostics {
            let shown = render::text(diagnostic, &source.name, &source.text, output.style());
            output.line(format!("{shown}\n"))?;
        }
        let name = source.shown();
        if loaded.left_out > 0 {
            output.line(format!(
                "{name}: {} not shown\n",
                counted_as(loaded.left_out, "more finding is", "more findings are")
            ))?;
        }
        if let Some(spec) = &loaded.spec {
            let scenarios = expand(spec, PlanOptions::default()).map_or(0, |plan| plan.scenarios.len());
            output.line(format!("{name}: ok, {}", counted(scenarios, "scenario")))?;
        }
    }
    let valid = results.iter().filter(|(_, loaded)| loaded.spec.is_some()).count();
    let all: Vec<&Diagnostic> = results.iter().flat_map(|(_, loaded)| &loaded.diagnostics).collect();
    let of = |severity| all.iter().filter(|diagnostic| diagnostic.severity() == severity).count();
    output.line(format!(
        "{}: {valid} valid, {} invalid; {}, {}",
        counted(results.len(), "spec"),
        results.len() - valid,
        counted(of(Severity::Error), "error"),
        counted(of(Severity::Warning), "warning")
    ))
}

fn json(results: &[(&Source, Loaded)], output: &mut Output) -> Result<(), CommandError> {
    let findings: serde_json::Value = results
        .iter()
        .flat_map(|(source, loaded)| loaded.diagnostics.iter().map(|diagnostic| render::json(diagnostic, &source.name)))
        .collect();
    output.json(&findings)
}

fn github(results: &[(&Source, Loaded)], output: &mut Output) -> Result<(), CommandError> {
    for (source, loaded) in results {
        for diagnostic in &loaded.diagnostics {
            output.document(&render::github(diagnostic, &source.name), Form::Commands)?;
        }
    }
    Ok(())
}
