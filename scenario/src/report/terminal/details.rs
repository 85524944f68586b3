//! Details of one scenario that did not pass: every invariant with the expected and observed value, the reason of the
//! score, the end of the agent's output, and the command that repeats it.
//!
//! Foreign text stands behind a bar. It never begins a line, where a CI system might take it for a command.

use std::fmt::Write as _;

use super::super::{Report, Row};
use crate::count_noun;
use crate::format_duration;
use crate::result::{InvariantResult, ScenarioError, ScenarioResult};
use crate::untrusted;
use crate::verdict::{ErrorKind, Outcome};

/// Maximum length of one line.
const MOST_LINE: usize = 200;
/// Maximum length of a line of a finding: a problem of a machine is shown with its fix.
const MOST_FOUND_LINE: usize = 800;
/// Maximum number of lines of a finding that are shown.
const MOST_FOUND: usize = 20;
/// Maximum number of lines that are shown of each of the agent's two output streams.
const MOST_PRINTED: usize = 8;

/// All about the scenario.
pub(super) fn text(report: &Report, row: &Row) -> String {
    let result = &row.result;
    let mut text = format!(
        "{} {}/{}: score {:.3}, {}{}\n",
        row.word().to_uppercase(),
        report.spec_id,
        result.scenario.id,
        result.composite,
        format_duration(result.wall_ms),
        spent(result)
    );
    for invariant in &result.invariants {
        text.push_str(&invariant_text(invariant));
    }
    text.extend(others(result).iter().map(|(what, found)| finding("FAIL", what, found)));
    text.extend(result.error.as_ref().map(error_text));
    text.extend(tolerance(report, row).map(|why| format!("  {why}\n")));
    text.extend(result.caveats.iter().map(|caveat| format!("  caveat: {}\n", caveat.message())));
    text.extend(why_zero(result).map(|why| format!("  {why}\n")));
    text.extend(bad_end(result).map(|end| format!("  {end}\n")));
    text.push_str(&printed("printed", &result.agent_output));
    text.push_str(&printed("printed as errors", &result.agent_stderr));
    let _ = writeln!(text, "  again: {}", untrusted::line(&report.reproducer(row), MOST_LINE * 10));
    text
}

/// Describes why a failed scenario keeps nothing from passing.
fn tolerance(report: &Report, row: &Row) -> Option<String> {
    let mutations = report.score.mutations.as_ref().filter(|_| row.result.scenario.purpose.mutation().is_some());
    match mutations {
        _ if row.quarantined => Some("it is in quarantine, so it fails nothing".to_owned()),
        _ if !row.tolerated => None,
        Some(mutations) => Some(format!("it lowers the robustness, and that is enough: {}", mutations.why())),
        None => Some(format!("its cell passed all the same: {}", cell(report, row))),
    }
}

/// Describes how many replicas of a scenario's cell passed.
fn cell(report: &Report, row: &Row) -> String {
    let cell = report.score.cells.iter().find(|cell| cell.id == row.result.scenario.cell);
    cell.map(|cell| format!("{} of {} replicas passed", cell.passed, cell.planned)).unwrap_or_default()
}

/// Tokens and cost, when a model was asked.
fn spent(result: &ScenarioResult) -> String {
    let usage = &result.usage;
    match usage.cost() {
        _ if usage.calls == 0 => String::new(),
        Some(cost) => format!(", {}, ${cost:.4}", count_noun(usage.tokens(), "token")),
        None => format!(", {}, no price", count_noun(usage.tokens(), "token")),
    }
}

fn invariant_text(invariant: &InvariantResult) -> String {
    let gate = if invariant.gate { ", gate" } else { "" };
    let score = invariant.verdict.score;
    let what = format!("{} ({score:.2}, weight {}{gate})", invariant.name, invariant.weight);
    let word = match invariant.verdict.outcome {
        // What was met in part is told with its reason: that may be all that keeps a scenario from passing.
        Outcome::Passed if score < 1.0 => return finding("pass", &what, &invariant.verdict.reason),
        Outcome::Passed => return format!("  pass  {}\n", untrusted::line(&what, MOST_LINE)),
        Outcome::Failed => "FAIL",
        Outcome::Errored(_) => "ERROR",
    };
    finding(word, &what, &invariant.verdict.message)
}

/// Describes why the scenario could not be judged.
fn error_text(error: &ScenarioError) -> String {
    match error.kind {
        ErrorKind::Inconclusive => finding("ERROR", &error.kind.to_string(), &error.message),
        kind => finding("ERROR", &format!("{kind} error"), &error.message),
    }
}

/// Lists the reasons other than invariants for which the scenario fails.
fn others(result: &ScenarioResult) -> Vec<(String, String)> {
    let limits = result.limits.iter().map(|fired| (format!("limit {}", fired.limit), fired.detail.clone()));
    let rules = result.forbidden.iter().filter(|rule| rule.violated);
    let rules = rules.map(|rule| (format!("forbidden {}", rule.rule), rule.details.clone()));
    let offences = result.offences.iter().map(|offence| ("offence".to_owned(), offence.clone()));
    let score = result.shortfall().map(|why| ("score".to_owned(), why));
    limits.chain(rules).chain(offences).chain(score).collect()
}

fn finding(word: &str, what: &str, found: &str) -> String {
    let mut text = format!("  {word:<5} {}\n", untrusted::line(what, MOST_LINE));
    let shown = untrusted::visible(found);
    let lines: Vec<_> = shown.lines().collect();
    for line in lines.iter().take(MOST_FOUND) {
        let _ = writeln!(text, "        | {}", untrusted::cut(line, MOST_FOUND_LINE));
    }
    if lines.len() > MOST_FOUND {
        let _ = writeln!(text, "        | and {}", count_noun(lines.len() - MOST_FOUND, "more line"));
    }
    text
}

/// Describes why the score is 0, when a gate or a rule made it so.
fn why_zero(result: &ScenarioResult) -> Option<String> {
    if result.composite > 0.0 {
        return None;
    }
    if result.forbidden.iter().any(|rule| rule.violated) {
        return Some("the score is 0 because a `forbidden` rule was broken".to_owned());
    }
    let missed = |invariant: &&InvariantResult| {
        invariant.gate && (!invariant.verdict.is_passed() || invariant.verdict.score < 1.0)
    };
    let gate = result.invariants.iter().find(missed)?;
    let weights: f64 = result.invariants.iter().map(|invariant| invariant.weight).sum();
    let scores: f64 = result.invariants.iter().map(|invariant| invariant.weight * invariant.verdict.score).sum();
    let without = if weights > 0.0 { scores / weights } else { 0.0 };
    let name = untrusted::line(&gate.name, MOST_LINE);
    let otherwise = if without > 0.0 { format!("; without gates it would be {without:.3}") } else { String::new() };
    Some(format!("the score is 0 because the gate `{name}` was not met{otherwise}"))
}

/// Describes the agent's exit, if it was a failure. For an agent that a limit stopped, the limit describes it.
fn bad_end(result: &ScenarioResult) -> Option<String> {
    let code = result.exit_code.filter(|code| *code != 0 && result.limits.is_empty())?;
    let meaning = match code {
        126 => ": a file cannot be run".to_owned(),
        127 => ": a command was not found".to_owned(),
        129..=192 => format!(", as after signal {}", signal(code - 128)),
        _ => String::new(),
    };
    Some(format!("the agent ended with exit code {code}{meaning}"))
}

/// A signal's number, and the name of those that people meet.
fn signal(number: i32) -> String {
    let name = match number {
        1 => "HUP",
        2 => "INT",
        6 => "ABRT",
        9 => "KILL",
        11 => "SEGV",
        13 => "PIPE",
        15 => "TERM",
        _ => return number.to_string(),
    };
    format!("{number} ({name})")
}

/// Returns the last lines of the agent's output.
fn printed(how: &str, output: &str) -> String {
    let shown = untrusted::visible(output.trim_end());
    let lines: Vec<_> = shown.lines().collect();
    if lines.is_empty() {
        return String::new();
    }
    let first = lines.len().saturating_sub(MOST_PRINTED);
    let last = if first > 0 { format!(" (the last {MOST_PRINTED} of {} lines)", lines.len()) } else { String::new() };
    let mut text = format!("  the agent {how}{last}:\n");
    for line in &lines[first..] {
        let _ = writeln!(text, "        | {}", untrusted::cut(line, MOST_LINE));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::bad_end;
    use crate::evidence::{Fired, Limit};
    use crate::report::tests::report;

    #[test]
    fn a_bad_end_of_the_agent_is_said() {
        let mut result = report().rows[0].result.clone();
        let mut said = |code| {
            result.exit_code = code;
            bad_end(&result)
        };
        assert_eq!((said(None), said(Some(0))), (None, None));
        for (code, words) in [
            (3, "the agent ended with exit code 3"),
            (127, "the agent ended with exit code 127: a command was not found"),
            (137, "the agent ended with exit code 137, as after signal 9 (KILL)"),
            (160, "the agent ended with exit code 160, as after signal 32"),
        ] {
            assert_eq!(said(Some(code)).as_deref(), Some(words));
        }
        result.limits = vec![Fired { limit: Limit::AgentTimeout, detail: "too long".to_owned() }];
        assert_eq!(bad_end(&result), None, "a limit says it");
    }
}
