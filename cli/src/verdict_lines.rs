//! The outcome of a scenario, in lines for people.

use scenario::format_duration;
use scenario::result::{RowStatus, ScenarioResult};
use scenario::score::Status;
use scenario::untrusted;
use scenario::verdict::Outcome;

/// Maximum length of a line of untrusted text.
pub(crate) const MOST_LINE: usize = 2000;
/// Maximum number of lines of the agent's errors that are shown.
const SHOWN_LINES: usize = 5;

/// The result for a person: every invariant, what else counts against it, and the verdict.
pub(crate) fn lines(result: &ScenarioResult, status: Status) -> Vec<String> {
    let mut lines = Vec::new();
    for invariant in &result.invariants {
        let word = match invariant.verdict.outcome {
            Outcome::Passed => "pass ",
            Outcome::Failed => "FAIL ",
            Outcome::Errored(_) => "ERROR",
        };
        let gate = if invariant.gate { ", gate" } else { "" };
        let name = &invariant.name;
        lines.push(format!("{word} {name} ({:.2}, weight {}{gate})", invariant.verdict.score, invariant.weight));
        let partly = invariant.verdict.is_passed() && invariant.verdict.score < 1.0;
        let said = if partly { &invariant.verdict.reason } else { &invariant.verdict.message };
        let message = untrusted::visible(&untrusted::cut(said, MOST_LINE * 4));
        // Behind a bar, no foreign line is a command of a CI system, which reads lines from their first sign.
        lines.extend(message.lines().map(|line| format!("      | {line}")));
    }
    lines.extend(result.caveats.iter().map(|caveat| format!("caveat: {}", caveat.message())));
    lines.extend(last_words(result));
    let broken = result.forbidden.iter().filter(|rule| rule.violated);
    lines.extend(
        broken.map(|rule| format!("FAIL  forbidden {}: {}", rule.rule, untrusted::line(&rule.details, MOST_LINE))),
    );
    lines.extend(result.limits.iter().map(|fired| format!("FAIL  limit {}: {}", fired.limit, fired.detail)));
    lines.extend(result.offences.iter().map(|offence| format!("FAIL  {}", untrusted::line(offence, MOST_LINE))));
    lines.extend(result.shortfall().map(|why| format!("FAIL  score: {why}")));
    lines.extend(
        result
            .error
            .iter()
            .map(|error| format!("ERROR {}", untrusted::visible(&untrusted::cut(&error.to_string(), MOST_LINE * 4)))),
    );
    let status = match status {
        Status::Pass => "passed",
        Status::Fail => "FAILED",
        Status::Flaky => "FLAKY",
        Status::Error if result.is_inconclusive() => "is inconclusive",
        Status::Error => "could not be judged",
    };
    let time = format_duration(result.wall_ms);
    lines.push(format!("{} {status}, score {:.3}, {time}", result.scenario.id, result.composite));
    lines
}

/// Returns the end of the agent's error output, when it ended badly and did not pass.
fn last_words(result: &ScenarioResult) -> Vec<String> {
    let ended_badly = result.exit_code.is_some_and(|code| code != 0) && result.status != RowStatus::Pass;
    let said: Vec<_> = result.agent_stderr.lines().rev().take(SHOWN_LINES).collect();
    if !ended_badly || said.is_empty() {
        return Vec::new();
    }
    let lines = said.iter().rev().map(|line| format!("      | {}", untrusted::line(line, MOST_LINE)));
    std::iter::once("the agent's last words:".to_owned()).chain(lines).collect()
}

/// The status of a scenario that stands for itself.
pub(crate) const fn own_status(result: &ScenarioResult) -> Status {
    match result.status {
        RowStatus::Pass => Status::Pass,
        RowStatus::Fail => Status::Fail,
        RowStatus::Error => Status::Error,
    }
}
