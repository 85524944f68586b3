//! `touchstone tool-contracts judge`: what would have been decided over a recorded trace.

use std::path::PathBuf;

use clap::Args;
use scenario::{count_noun, untrusted};
use tool_contracts::options::{Fallback, Principal};
use tool_contracts::{Class, CompileOptions, TraceFinding, TraceReport, Verdict, judge_trace};

use super::files::{ContractFiles, compiled};
use super::trace::entries;
use crate::data_dir::StoreOption;
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
        let report = judge_trace(&set, &entries(&self.trace, &self.store)?);
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
    for found in report.findings.iter().filter(|found| !is_in_table(report, found)) {
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

/// True when the finding is a reason of a decision, which stands in the table.
fn is_in_table(report: &TraceReport, found: &TraceFinding) -> bool {
    let TraceFinding { seq, finding } = found;
    let is_reason = |reason: &tool_contracts::Reason| reason.code == finding.code && reason.rule == finding.rule;
    let of_call = |judged: &&tool_contracts::JudgedCall| Some(judged.seq) == *seq && judged.call.id == finding.call;
    report.calls.iter().filter(of_call).any(|judged| judged.decision.reasons.iter().any(is_reason))
}
