//! `touchstone validate`: everything that is wrong with a spec.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use scenario::plan::{PlanOptions, expand};
use scenario::spec::code::Code;
use scenario::spec::diagnostic::{Diagnostic, Severity};
use scenario::spec::{Loaded, render};
use scenario::untrusted;
use scenario::{count_noun, count_noun_as};

use crate::ci_commands::Form;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::source::{Source, has_error, same_id, sources};
use crate::suite_files::{self, Finding, SuiteFile, SuiteFiles};

/// Maximum number of places of one recommendation that are shown.
const SHOWN_PLACES: usize = 5;

/// Check specs without running anything, and show everything that is wrong with them.
#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// Spec files, folders to search for specs, patterns such as `specs/check-*`, `-` for standard input, or suites.
    #[arg(required = true)]
    pub(super) paths: Vec<PathBuf>,
    /// How to show what was found.
    #[arg(long, value_enum, default_value_t = ValidateFormat::Text)]
    format: ValidateFormat,
    /// Exit with 3 for warnings too.
    #[arg(long)]
    deny_warnings: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ValidateFormat {
    /// For people: with excerpts.
    Text,
    /// One JSON array.
    Json,
    /// Annotations for GitHub Actions.
    Github,
}

impl Validate {
    /// Checks one spec, for people.
    pub(super) fn of(path: &Path) -> Self {
        Self { paths: vec![path.to_owned()], format: ValidateFormat::Text, deny_warnings: false }
    }

    /// True when what is shown is for people.
    pub(super) fn is_text(&self) -> bool {
        self.format == ValidateFormat::Text
    }

    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let suites = suite_files::read(&self.paths)?;
        let (sources, readable) = sources(&suites.paths);
        let exit = self.check_all(&suites, &sources, readable, output)?;
        Ok(if suites.are_valid() { exit } else { Exit::InvalidSpec })
    }

    /// Shows what is wrong with suites; where that is one JSON array, it is [`Self::check`]'s.
    fn show_suites(&self, suites: &SuiteFiles, output: &mut Output) -> Result<(), CommandError> {
        match self.format {
            ValidateFormat::Json => {}
            ValidateFormat::Github => {
                for finding in &suites.findings {
                    output.document(&render::github(&finding.diagnostic, &finding.name), Form::Commands)?;
                }
            }
            ValidateFormat::Text => {
                suites.show(output)?;
                for suite in suites.suites.iter().filter(|_| suites.are_valid()) {
                    output.line(suite_line(suite))?;
                }
            }
        }
        Ok(())
    }

    /// Checks specs that were read, as far as they could be.
    pub(super) fn check(
        &self,
        sources: &[Source],
        readable: Result<(), CommandError>,
        output: &mut Output,
    ) -> Result<Exit, CommandError> {
        self.check_all(&SuiteFiles::default(), sources, readable, output)
    }

    /// The same for specs and the suites that they belong to.
    fn check_all(
        &self,
        suites: &SuiteFiles,
        sources: &[Source],
        readable: Result<(), CommandError>,
        output: &mut Output,
    ) -> Result<Exit, CommandError> {
        self.show_suites(suites, output)?;
        let results: Vec<(&Source, Loaded)> = sources.iter().map(|source| (source, source.load())).collect();
        match self.format {
            ValidateFormat::Text if results.is_empty() => {}
            ValidateFormat::Text => text(&results, output)?,
            ValidateFormat::Json => json(&results, &suites.findings, output)?,
            ValidateFormat::Github => github(&results, output)?,
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

/// `suites/robustness/suite.yaml: ok, a suite with 6 capabilities`.
fn suite_line(SuiteFile { name, matrix, .. }: &SuiteFile) -> String {
    let listed = matrix.as_ref().map_or(0, |matrix| matrix.capabilities.len());
    let listed = match listed {
        0 => String::new(),
        some => format!(" with {}", count_noun_as(some, "capability", "capabilities")),
    };
    format!("{}: ok, a suite{listed}", untrusted::line(name, 500))
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
                count_noun_as(loaded.left_out, "more finding is", "more findings are")
            ))?;
        }
        if let Some(spec) = &loaded.spec {
            let scenarios = expand(spec, PlanOptions::default()).map_or(0, |plan| plan.scenarios.len());
            output.line(format!("{name}: ok, {}", count_noun(scenarios, "scenario")))?;
            for line in advice(&loaded.advice) {
                output.line(format!("{name}: {line}"))?;
            }
        }
    }
    let valid = results.iter().filter(|(_, loaded)| loaded.spec.is_some()).count();
    let all: Vec<&Diagnostic> = results.iter().flat_map(|(_, loaded)| &loaded.diagnostics).collect();
    let of = |severity| all.iter().filter(|diagnostic| diagnostic.severity() == severity).count();
    output.line(format!(
        "{}: {valid} valid, {} invalid; {}, {}",
        count_noun(results.len(), "spec"),
        results.len() - valid,
        count_noun(of(Severity::Error), "error"),
        count_noun(of(Severity::Warning), "warning")
    ))
}

/// Formats the recommendations, one line for each kind: all its places, and the fix.
fn advice(recommended: &[Diagnostic]) -> Vec<String> {
    let mut places: BTreeMap<Code, Vec<&Diagnostic>> = BTreeMap::new();
    for diagnostic in recommended {
        places.entry(diagnostic.code).or_default().push(diagnostic);
    }
    let line = |(code, found): (Code, Vec<&Diagnostic>)| {
        let named: Vec<_> = found.iter().take(SHOWN_PLACES).map(|one| format!("`{}`", one.path)).collect();
        let more = if found.len() > named.len() { ", …" } else { "" };
        let help = found.first().and_then(|first| first.help.as_deref()).unwrap_or_default();
        format!("advice ({code}) for {}{more}: {help}", untrusted::line(&named.join(", "), 400))
    };
    places.into_iter().map(line).collect()
}

fn json(results: &[(&Source, Loaded)], of_suites: &[Finding], output: &mut Output) -> Result<(), CommandError> {
    let of_suites = of_suites.iter().map(|finding| render::json(&finding.diagnostic, &finding.name));
    let of_specs = results.iter().flat_map(|(source, loaded)| {
        let all = loaded.diagnostics.iter().chain(&loaded.advice);
        all.map(|diagnostic| render::json(diagnostic, &source.name))
    });
    let findings: serde_json::Value = of_suites.chain(of_specs).collect();
    output.json(&findings)
}

fn github(results: &[(&Source, Loaded)], output: &mut Output) -> Result<(), CommandError> {
    for (source, loaded) in results {
        for diagnostic in loaded.diagnostics.iter().chain(&loaded.advice) {
            output.document(&render::github(diagnostic, &source.name), Form::Commands)?;
        }
    }
    Ok(())
}
