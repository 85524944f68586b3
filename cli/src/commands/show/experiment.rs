//! An experiment: what was run and how, its runs, and the report of one of them.

use scenario::count_noun_as;
use scenario::plan::parameter_text;
use scenario::score::ExperimentVerdict;
use scenario::untrusted;
use store::{Run, RunKind, Settings};

use super::{Shown, attempts};
use crate::output::{CommandError, Output};
use crate::report_format::ReportFormat;
use crate::run_status::Standing;
use crate::times::second;
use crate::verdict_lines::MOST_LINE;
use store::report;

/// Maximum number of attempts that are shown.
const SHOWN_ATTEMPTS: usize = 50;
/// Number of characters of a digest that are shown.
const SHOWN_DIGEST: usize = 12;

/// Prints an experiment.
pub(super) async fn print(shown: &Shown, format: ReportFormat, output: &mut Output) -> Result<(), CommandError> {
    let report = report(&shown.home.store, &shown.experiment, &shown.run).await?;
    if format != ReportFormat::Text {
        return output.document(&format.render(&report), format.form());
    }
    for line in head(shown).await? {
        output.line(line)?;
    }
    output.line("")?;
    output.line(format.render(&report))?;
    output.line(standing(shown))?;
    for line in remarkable_attempts(shown).await? {
        output.line(line)?;
    }
    Ok(())
}

async fn head(shown: &Shown) -> Result<Vec<String>, CommandError> {
    let experiment = &shown.experiment;
    let spec = &experiment.spec;
    let mut lines = vec![
        format!("experiment  {}", experiment.id),
        format!(
            "spec        {} v{} (digest {})",
            spec.spec_id,
            spec.version,
            untrusted::cut(&spec.digest, SHOWN_DIGEST)
        ),
        format!("source      {}", untrusted::line(&experiment.source, MOST_LINE)),
        format!("seed        {}", experiment.seed),
    ];
    let settings = settings(&experiment.settings);
    if !settings.is_empty() {
        lines.push(format!("settings    {}", untrusted::line(&settings.join(", "), MOST_LINE)));
    }
    lines.push(format!("started     {}", second(experiment.created_at)));
    for (index, run) in shown.home.store.runs(experiment.id).await?.iter().enumerate() {
        let title = if index == 0 { "runs" } else { "" };
        lines.push(format!("{title:<11} {}", run_line(shown, run)));
    }
    Ok(lines)
}

/// Describes the caller's changes to the spec.
fn settings(settings: &Settings) -> Vec<String> {
    let Settings { agent, backend, parameters, replicas, min_pass_rate, rerun_of, .. } = settings;
    let agent = agent.iter().map(|agent| format!("agent {agent}"));
    let backend = backend.iter().map(|backend| format!("backend {backend}"));
    let parameters = parameters.iter().map(|(name, value)| format!("param {name}={}", parameter_text(value)));
    let replicas = replicas.iter().map(|replicas| format!("replicas {replicas}"));
    let rate = min_pass_rate.iter().map(|rate| format!("min pass rate {rate}"));
    let rerun = rerun_of.iter().map(|scenario| format!("repeats {scenario}"));
    agent.chain(backend).chain(parameters).chain(replicas).chain(rate).chain(rerun).collect()
}

/// `#2 judged the evidence of #1 again, finished, FAIL, 2026-03-01T12:00:00Z`.
fn run_line(shown: &Shown, run: &Run) -> String {
    let kind = match run.kind {
        RunKind::Acted => "agents acted".to_owned(),
        RunKind::Rescored { of } => format!("the evidence of #{of} judged again"),
    };
    let standing = Standing::of(run, &shown.home.data_dir);
    let verdict = match run.verdict {
        Some(ExperimentVerdict::Pass) => ", pass",
        Some(ExperimentVerdict::Fail) => ", FAIL",
        Some(ExperimentVerdict::Error) => ", ERROR",
        Some(ExperimentVerdict::Pending) | None => "",
    };
    let reason = run.reason.iter().map(|reason| format!(" ({})", untrusted::line(reason, MOST_LINE)));
    let other = if run.digest == shown.experiment.spec.digest { "" } else { ", by another version of the spec" };
    let shown_below = if run.id == shown.run.id { "  <- shown below" } else { "" };
    let standing = reason.fold(standing.to_string(), |standing, reason| standing + &reason);
    format!("#{} {kind}{other}: {standing}{verdict}, {}{shown_below}", run.id.number, second(run.created_at))
}

/// One line that says how far the run is.
fn standing(shown: &Shown) -> String {
    let (total, ended) = (count_noun_as(shown.run.total, "scenario has", "scenarios have"), shown.run.ended);
    match Standing::of(&shown.run, &shown.home.data_dir) {
        Standing::Open => format!("open: {ended} of {total} ended so far"),
        Standing::Interrupted => format!(
            "interrupted: {ended} of {total} ended, and its process is gone; `touchstone cancel {}` ends it",
            shown.run_name()
        ),
        Standing::Finished => format!("more about a scenario: touchstone show {}/SCENARIO", shown.run_name()),
        Standing::Cancelled => "cancelled: not all scenarios were run".to_owned(),
    }
}

async fn remarkable_attempts(shown: &Shown) -> Result<Vec<String>, CommandError> {
    let all = attempts::of(&shown.home.store, &shown.run).await?;
    let remarkable: Vec<_> = all.iter().filter(|attempt| attempts::is_remarkable(attempt)).collect();
    if remarkable.is_empty() {
        return Ok(Vec::new());
    }
    let mut lines = vec![String::new(), "attempts that were not the first, or not judged:".to_owned()];
    lines.extend(
        remarkable
            .iter()
            .take(SHOWN_ATTEMPTS)
            .map(|attempt| format!("  {} {}", attempt.scenario, attempts::line(attempt))),
    );
    if remarkable.len() > SHOWN_ATTEMPTS {
        lines.push(format!("  and {} more", remarkable.len() - SHOWN_ATTEMPTS));
    }
    Ok(lines)
}
