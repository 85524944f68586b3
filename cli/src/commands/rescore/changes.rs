//! Changes that a rescore made.

use std::fmt;

use scenario::count_noun;
use scenario::result::{InvariantResult, RowStatus, ScenarioResult};
use scenario::verdict::Outcome;
use store::Rescored;

/// Maximum number of changes that are named.
const NAMED: usize = 10;

/// Changes that a rescore made.
#[derive(Debug, Default)]
pub(super) struct Changes {
    scenarios: usize,
    /// Scenarios of which anything at all is different.
    changed: usize,
    /// Scenarios without evidence, whose results stay.
    unjudged: usize,
    /// Each change of a verdict, in words.
    verdicts: Vec<String>,
}

impl Changes {
    /// The changes of each scenario, in the order of the plan.
    pub(super) fn between(before: &[Option<ScenarioResult>], now: &[Rescored]) -> Self {
        let mut changes = Self { scenarios: now.len(), ..Self::default() };
        for (before, one) in before.iter().zip(now) {
            if one.source.is_none() {
                changes.unjudged += 1;
            }
            if let (Some(before), Some(now)) = (before, &one.result)
                && bytes(before) != bytes(now)
            {
                changes.changed += 1;
                changes.verdicts.extend(verdicts(before, now));
            }
        }
        changes
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let judged = count_noun(self.scenarios - self.unjudged, "scenario");
        match (self.changed, self.verdicts.len()) {
            (0, _) => write!(formatter, "nothing changed: {judged} judged again")?,
            (changed, 0) => {
                write!(formatter, "no verdict changed, but what is said about {}", count_noun(changed, "scenario"))?
            }
            (changed, verdicts) => {
                let named: Vec<_> = self.verdicts.iter().take(NAMED).map(String::as_str).collect();
                write!(formatter, "{} changed", count_noun(verdicts, "verdict"))?;
                write!(formatter, " in {changed} of {}: {}", count_noun(self.scenarios, "scenario"), named.join("; "))?;
                if verdicts > NAMED {
                    write!(formatter, "; and {} more", verdicts - NAMED)?;
                }
            }
        }
        match self.unjudged {
            0 => Ok(()),
            unjudged => write!(formatter, "; as before, for want of evidence: {}", count_noun(unjudged, "scenario")),
        }
    }
}

/// A result as it is kept and shown.
fn bytes(result: &ScenarioResult) -> String {
    serde_json::to_string(result).unwrap_or_default()
}

/// `scenario: invariant passed → failed`, for each verdict that changed, and for the scenario's own.
fn verdicts(before: &ScenarioResult, now: &ScenarioResult) -> Vec<String> {
    let id = &now.scenario.id;
    let mut changed = Vec::new();
    for invariant in &now.invariants {
        let was = find(before, &invariant.name).map_or_else(|| "not there".to_owned(), described);
        let is = described(invariant);
        if was != is {
            changed.push(format!("{id}: {} {was} → {is}", invariant.name));
        }
    }
    for gone in before.invariants.iter().filter(|invariant| find(now, &invariant.name).is_none()) {
        changed.push(format!("{id}: {} {} → not there", gone.name, described(gone)));
    }
    // What no invariant explains: a rule, a weight, the threshold.
    if changed.is_empty() && before.status != now.status {
        changed.push(format!("{id} {} → {}", status(before), status(now)));
    }
    changed
}

fn find<'a>(result: &'a ScenarioResult, name: &str) -> Option<&'a InvariantResult> {
    result.invariants.iter().find(|invariant| invariant.name == name)
}

/// `passed`, `failed`, `errored`; with its score when that says more.
fn described(invariant: &InvariantResult) -> String {
    let word = match invariant.verdict.outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "failed",
        Outcome::Errored(_) => "errored",
    };
    match invariant.verdict.score {
        score if score == 0.0 || score == 1.0 => word.to_owned(),
        score => format!("{word} ({score:.3})"),
    }
}

fn status(result: &ScenarioResult) -> &'static str {
    match result.status {
        RowStatus::Pass => "passed",
        RowStatus::Fail => "failed",
        RowStatus::Error if result.is_inconclusive() => "inconclusive",
        RowStatus::Error => "could not be judged",
    }
}
