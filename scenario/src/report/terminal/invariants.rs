//! Number of scenarios that met each invariant.

use std::fmt::Write as _;

use indexmap::IndexMap;

use super::super::{Report, Row};
use crate::count_noun;
use crate::score::JudgeScore;
use crate::untrusted;
use crate::verdict::Outcome;

/// Maximum number of invariants that are shown.
const MOST: usize = 40;
/// Maximum length of a name.
const MOST_NAME: usize = 60;

/// The results of one invariant in all scenarios.
#[derive(Default)]
struct Tally {
    gate: bool,
    weight: f64,
    met: usize,
    errored: usize,
    total: usize,
}

/// A line for each invariant: how many scenarios met it. Nothing when there is one scenario, whose own line says as much.
pub(super) fn text(report: &Report) -> String {
    // Mutations have a table of their own.
    let rows: Vec<_> = report.rows.iter().filter(|row| row.result.scenario.purpose.mutation().is_none()).collect();
    if rows.len() < 2 {
        return String::new();
    }
    let tallies = tallies(&rows);
    let widest = tallies.keys().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, tally) in tallies.iter().take(MOST) {
        let Tally { met, total, weight, .. } = tally;
        let gate = if tally.gate { ", gate" } else { "" };
        let errored = if tally.errored > 0 { format!(", {} not judged", tally.errored) } else { String::new() };
        let _ = writeln!(text, "  {name:<widest$}  met by {met} of {total} (weight {weight}{gate}){errored}");
    }
    if tallies.len() > MOST {
        let _ = writeln!(text, "  and {}", count_noun(tallies.len() - MOST, "more invariant"));
    }
    text
}

/// A line for each invariant that models judge: their scores, how far they agree, and what they cost.
pub(super) fn judges(report: &Report) -> String {
    let line =
        |judge: &JudgeScore| format!("  judge {}: {}\n", untrusted::line(&judge.invariant, MOST_NAME), judge.words());
    report.score.judges.iter().take(MOST).map(line).collect()
}

fn tallies(rows: &[&Row]) -> IndexMap<String, Tally> {
    let mut tallies: IndexMap<String, Tally> = IndexMap::new();
    for invariant in rows.iter().flat_map(|row| &row.result.invariants) {
        let tally = tallies.entry(untrusted::line(&invariant.name, MOST_NAME)).or_default();
        (tally.gate, tally.weight) = (invariant.gate, invariant.weight);
        tally.total += 1;
        tally.met += usize::from(invariant.verdict.is_passed());
        tally.errored += usize::from(matches!(invariant.verdict.outcome, Outcome::Errored(_)));
    }
    tallies
}
