//! `touchstone tool-contracts judge`: what would have been decided over a recorded trace.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use scenario::{count_noun, untrusted};
use serde_json::Value as Json;
use tokio::runtime::Runtime;
use tool_contracts::options::{Fallback, Principal};
use tool_contracts::{Class, CompileOptions, TraceEntry, TraceReport, Verdict, judge_trace};

use super::files::{ContractFiles, compiled};
use crate::data_dir::StoreOption;
use crate::evidence_of::EvidenceHere;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::table::table;

/// Judge the tool calls of a scenario, or of a JSON file, by a directory of tool contracts.
///
/// Nothing is run again: the table shows what would have been decided on each call. The exit code is 1 when a call would have been blocked or the session breaks another rule.
#[derive(Debug, Args)]
pub(crate) struct Judge {
    /// The directory.
    dir: PathBuf,
    /// EXPERIMENT/SCENARIO of the history, or a file with a list of calls.
    #[arg(long, value_name = "SCENARIO|FILE")]
    trace: String,
    /// The principal that policies are about, as JSON.
    #[arg(long, value_name = "JSON")]
    principal: Option<String>,
    /// Let tools pass that have no contract.
    #[arg(long)]
    allow_unmatched: bool,
    #[command(flatten)]
    store: StoreOption,
}

impl Judge {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let files = ContractFiles::read(&self.dir)?;
        let set = match compiled(&files, &self.options()?, output)? {
            Ok(set) => set,
            Err(exit) => return Ok(exit),
        };
        let report = judge_trace(&set, &self.entries()?);
        show(&report, output)?;
        let fails = report.findings.iter().filter(|found| found.class() == Class::Fail).count();
        Ok(if fails > 0 { Exit::Failed } else { Exit::Passed })
    }

    fn options(&self) -> Result<CompileOptions, CommandError> {
        let mut options = CompileOptions { principal: Principal::Missing, ..CompileOptions::default() };
        if let Some(text) = &self.principal {
            let principal = serde_json::from_str(text);
            let wrong = |error| CommandError::usage(format!("--principal is not JSON: {error}"));
            options.principal = Principal::Given(principal.map_err(wrong)?);
        }
        if self.allow_unmatched {
            options.run.unmatched = Fallback::Allow;
        }
        Ok(options)
    }

    fn entries(&self) -> Result<Vec<TraceEntry>, CommandError> {
        let path = Path::new(&self.trace);
        let trace = if path.is_file() { read_file(path)? } else { self.stored()? };
        let wrong =
            |error| CommandError::usage(format!("{} is no call trace: {error}", untrusted::line(&self.trace, 200)));
        serde_json::from_value(trace).map_err(wrong)
    }

    fn stored(&self) -> Result<Json, CommandError> {
        let reference = self.trace.parse().map_err(CommandError::usage)?;
        let found = Runtime::new()?.block_on(EvidenceHere::find(&self.store, &reference))?;
        serde_json::to_value(&found.evidence.call_trace).map_err(CommandError::usage)
    }
}

/// A trace as a list, or under `call_trace`.
fn read_file(path: &Path) -> Result<Json, CommandError> {
    let cannot =
        |cause: &dyn std::fmt::Display| CommandError::usage(format!("{} cannot be read: {cause}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| cannot(&error))?;
    let value: Json = serde_json::from_str(&text).map_err(|error| cannot(&error))?;
    Ok(value.get("call_trace").cloned().unwrap_or(value))
}

fn show(report: &TraceReport, output: &mut Output) -> Result<(), CommandError> {
    let mut table = table(["call", "step", "phase", "tool", "decision", "reason"]);
    for judged in &report.calls {
        let verdict = match judged.decision.verdict {
            Verdict::Allow => "allow",
            Verdict::Block => "would have been blocked",
            Verdict::Hold => "would have been held",
        };
        let reasons: Vec<_> = judged.decision.reasons.iter().map(tool_contracts::Reason::explain).collect();
        table.add_row([
            judged.seq.to_string(),
            judged.step.to_string(),
            untrusted::line(judged.phase.as_deref().unwrap_or("-"), 60),
            untrusted::line(&judged.call.tool, 60),
            verdict.to_owned(),
            untrusted::line(&reasons.join("; "), 400),
        ]);
    }
    output.line(table.to_string())?;
    let of_session = report
        .findings
        .iter()
        .filter(|found| !report.calls.iter().any(|judged| judged.decision.codes().contains(&found.finding.code)));
    for found in of_session {
        let finding = &found.finding;
        output.line(format!(
            "{} {}: {}",
            found.class().name(),
            finding.code,
            untrusted::line(&finding.message, 300)
        ))?;
    }
    let fails = report.findings.iter().filter(|found| found.class() == Class::Fail).count();
    let phase =
        report.final_phase.as_deref().map(|phase| format!("; the last phase is {}", untrusted::line(phase, 60)));
    output.line(format!(
        "{}, {}{}",
        count_noun(report.calls.len(), "call"),
        count_noun(fails, "violation"),
        phase.unwrap_or_default()
    ))
}
