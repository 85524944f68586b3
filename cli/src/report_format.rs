//! The renderings of a report.

use clap::ValueEnum;
use scenario::report::{self, Report, Reports};

use crate::ci_commands::Form;

/// Maximum width of a table.
const WIDTH: u16 = 120;

/// How a report is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people: a table, and what went wrong.
    #[default]
    Text,
    /// For programs: one JSON object.
    Json,
    /// For programs: a line of JSON for each scenario, each experiment, and the end.
    Ndjson,
    /// JUnit XML: one test case for each scenario.
    Junit,
    /// For a comment on a pull request.
    Markdown,
    /// Annotations for GitHub Actions, and a summary of the step where it wants one.
    Github,
}

impl ReportFormat {
    /// The report in this format, without a line break at its end.
    pub(crate) fn render(self, report: &Report) -> String {
        let text = match self {
            Self::Text => report::terminal(report, WIDTH),
            Self::Json => report::json(report),
            Self::Ndjson => report::ndjson(report),
            Self::Junit => report::junit(report),
            Self::Markdown => report::markdown(report),
            Self::Github => report::github(report),
        };
        text.trim_end_matches('\n').to_owned()
    }

    /// Several reports in this format.
    pub(crate) fn render_all(self, reports: &Reports, width: u16) -> String {
        match self {
            Self::Text => report::terminal_all(reports, width),
            Self::Json => report::json_all(reports),
            Self::Ndjson => report::ndjson_all(reports),
            Self::Junit => report::junit_all(reports),
            Self::Markdown => report::markdown_all(reports),
            Self::Github => report::github_all(reports),
        }
    }

    /// Returns the output format of a report in this format.
    pub(crate) fn form(self) -> Form {
        match self {
            Self::Text | Self::Markdown => Form::Text,
            Self::Json | Self::Ndjson => Form::Json,
            Self::Junit => Form::Xml,
            Self::Github => Form::Commands,
        }
    }

    /// The format that a file's ending asks for.
    pub(crate) fn of_extension(extension: &str) -> Option<Self> {
        match extension {
            "json" => Some(Self::Json),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "xml" => Some(Self::Junit),
            "md" => Some(Self::Markdown),
            "txt" => Some(Self::Text),
            _ => None,
        }
    }
}
