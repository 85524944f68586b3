//! A suite, its coverage and its forecast, for a terminal.

use std::fmt::Write as _;

use super::{ForecastOutcome, SuiteOutcome};
use crate::coverage::{CapabilityCoverage, CapabilityState, Coverage};
use crate::suite::SuiteScore;
use crate::untrusted;

/// How many capabilities, tags or floors are listed.
const MOST_LISTED: usize = 50;
/// How long a line may be.
const MOST_LINE: usize = 400;

/// What there is to tell, in lines.
pub(super) fn terminal(outcome: &SuiteOutcome) -> String {
    let mut text = String::new();
    outcome.suite.iter().for_each(|score| suite(&mut text, score));
    outcome.coverage.iter().for_each(|found| coverage(&mut text, found));
    match &outcome.forecast {
        None => {}
        Some(ForecastOutcome::Unavailable(reason)) => {
            let _ = writeln!(text, "forecast: {}", untrusted::line(reason, MOST_LINE));
        }
        Some(ForecastOutcome::Made(forecast)) => {
            for (index, line) in forecast.lines().into_iter().enumerate() {
                let lead = if index == 0 { "forecast:" } else { "         " };
                let _ = writeln!(text, "{lead} {line}");
            }
        }
    }
    text
}

fn suite(text: &mut String, score: &SuiteScore) {
    let _ = writeln!(text, "suite {}{}", score.summary(), per_success(score));
    for shortfall in score.shortfalls.iter().take(MOST_LISTED) {
        let _ = writeln!(text, "  BELOW {}", shortfall.message());
    }
}

/// `, 200 tokens and $0.0100 per success`; nothing where no model was seen.
pub(super) fn per_success(score: &SuiteScore) -> String {
    let pooled = &score.pooled;
    let money = pooled.cost_of_models().and(pooled.cost_per_success_usd);
    match (pooled.total_tokens, pooled.tokens_per_success, money) {
        (0, ..) => String::new(),
        (_, None, _) => format!(", {} tokens and no success", pooled.total_tokens),
        (_, Some(tokens), None) => format!(", {tokens:.0} tokens per success"),
        (_, Some(tokens), Some(money)) => format!(", {tokens:.0} tokens and ${money:.4} per success"),
    }
}

fn coverage(text: &mut String, coverage: &Coverage) {
    let _ = writeln!(text, "coverage {}", coverage.summary());
    let is_bad = |one: &&CapabilityCoverage| one.state != CapabilityState::Covered;
    for one in coverage.capabilities.iter().filter(is_bad).take(MOST_LISTED) {
        let line = format!("{}: {}", one.id, one.why());
        let _ = writeln!(text, "  uncovered {}", untrusted::line(&line, MOST_LINE));
    }
    if coverage.uncovered.len() > MOST_LISTED {
        let _ = writeln!(text, "  and {} more", coverage.uncovered.len() - MOST_LISTED);
    }
    for unknown in coverage.unknown_tags.iter().take(MOST_LISTED) {
        let _ = writeln!(text, "  unknown tag {}", unknown.message());
    }
}
