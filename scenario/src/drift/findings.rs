//! How findings are made: pairs of reports, pairs of cells, pairs of invariants.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::fisher::is_unlikely;
use super::{Change, Drift, Finding, SIGNIFICANT, Share, chance_of_drop, replicas_to_tell};
use crate::report::Report;
use crate::result::{RowStatus, ScenarioResult};
use crate::score::{CellVerdict, Comparison};
use crate::verdict::Outcome;

/// The metrics that are told besides.
const TOLD: [&str; 4] = ["mean_wall_ms", "p95_wall_ms", "mean_tokens", "total_cost_usd"];

/// What is known of one cell.
#[derive(Debug, Default)]
struct CellShares {
    verdict: Option<CellVerdict>,
    scenarios: Share,
    invariants: IndexMap<String, Share>,
}

type Cells = IndexMap<String, CellShares>;

pub(super) fn drift(name: &str, baseline: &[Report], candidate: &[Report]) -> Drift {
    let (before, now) = (numbered(baseline), numbered(candidate));
    let mut drift = Drift {
        baseline: name.to_owned(),
        findings: Vec::new(),
        cells: 0,
        only_before: missing(&before, &now),
        only_now: missing(&now, &before),
        metrics: BTreeMap::new(),
    };
    let mut tested = Vec::new();
    for (key, report) in &now {
        let Some(earlier) = before.get(key) else { continue };
        let compared = Comparison::of(&earlier.score, &report.score);
        let told = compared.metrics.into_iter().filter(|metric| TOLD.contains(&metric.name)).collect();
        drift.metrics.insert(report.spec_id.clone(), told);
        compare(&key.0, &cells(earlier), &cells(report), &mut drift, &mut tested);
    }
    correct(&mut tested);
    drift.findings.extend(tested);
    drift.findings.sort_by_key(|finding| finding.change);
    drift
}

/// Reports by spec; of several of one spec, by their place among them.
fn numbered(reports: &[Report]) -> IndexMap<(String, usize), &Report> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut numbered = IndexMap::new();
    for report in reports {
        let number = seen.entry(report.spec_id.as_str()).or_default();
        numbered.insert((report.spec_id.clone(), *number), report);
        *number += 1;
    }
    numbered
}

fn missing(here: &IndexMap<(String, usize), &Report>, there: &IndexMap<(String, usize), &Report>) -> Vec<String> {
    here.keys().filter(|key| !there.contains_key(*key)).map(|(spec, _)| spec.clone()).collect()
}

fn cells(report: &Report) -> Cells {
    let mut cells: Cells = IndexMap::new();
    for cell in &report.score.cells {
        cells.insert(cell.id.to_string(), CellShares { verdict: Some(cell.verdict), ..CellShares::default() });
    }
    for row in &report.rows {
        if let Some(cell) = cells.get_mut(row.result.scenario.cell.as_str()) {
            cell.add(&row.result);
        }
    }
    cells
}

impl CellShares {
    fn add(&mut self, result: &ScenarioResult) {
        if result.status != RowStatus::Error {
            self.scenarios.add(result.status == RowStatus::Pass);
        }
        for invariant in &result.invariants {
            let share = self.invariants.entry(invariant.name.clone()).or_default();
            if !matches!(invariant.verdict.outcome, Outcome::Errored(_)) {
                share.add(invariant.verdict.is_passed());
            }
        }
    }
}

/// Compares the cells of two reports. What was tested for chance is gathered apart.
fn compare(spec: &str, before: &Cells, now: &Cells, drift: &mut Drift, tested: &mut Vec<Finding>) {
    let only = |here: &Cells, there: &Cells| -> Vec<String> {
        here.keys().filter(|cell| !there.contains_key(*cell)).map(|cell| format!("{spec}/{cell}")).collect()
    };
    drift.only_before.extend(only(before, now));
    drift.only_now.extend(only(now, before));
    let common: Vec<_> = now.iter().filter_map(|(id, cell)| Some((id, before.get(id)?, cell))).collect();
    let (mut all_before, mut all_now) = (Share::default(), Share::default());
    for (id, before, now) in &common {
        all_before = all_before.and(before.scenarios);
        all_now = all_now.and(now.scenarios);
        match cell(before, now) {
            Some(found) => drift.findings.push(found.at(spec, Some(id), None)),
            None => tested.extend(dropped(before.scenarios, now.scenarios).map(|found| found.at(spec, Some(id), None))),
        }
        for (name, share) in &now.invariants {
            let Some(earlier) = before.invariants.get(name) else { continue };
            match invariant(*earlier, *share) {
                Some(found) => drift.findings.push(found.at(spec, Some(id), Some(name))),
                None => tested.extend(dropped(*earlier, *share).map(|found| found.at(spec, Some(id), Some(name)))),
            }
        }
    }
    drift.cells += common.len();
    if common.len() > 1 {
        tested.extend(dropped(all_before, all_now).map(|found| found.at(spec, None, None)));
    }
}

/// What was found, before it is said of what.
struct Found {
    change: Change,
    before: Share,
    now: Share,
    chance: Option<f64>,
    why: String,
}

impl Found {
    /// Something that a bar or all replicas say. Whether chance could have done it is told all the same.
    fn certain(change: Change, before: Share, now: Share, why: &str) -> Self {
        let chance = chance_of_drop(before, now);
        let may_be_chance = change == Change::Regressed && !chance.is_some_and(is_unlikely);
        let doubt = if may_be_chance { "; with so few replicas, that may be chance" } else { "" };
        Self { change, before, now, chance, why: format!("{why}{doubt}") }
    }

    fn at(self, spec: &str, cell: Option<&str>, invariant: Option<&str>) -> Finding {
        let Self { change, before, now, chance, why } = self;
        let (cell, invariant) = (cell.map(ToOwned::to_owned), invariant.map(ToOwned::to_owned));
        Finding { change, spec_id: spec.to_owned(), cell, invariant, before, now, chance, why }
    }
}

/// What is certain about a cell, because its own bar says so.
fn cell(before: &CellShares, now: &CellShares) -> Option<Found> {
    let found = |change, why: &str| Some(Found::certain(change, before.scenarios, now.scenarios, why));
    match (before.verdict, now.verdict) {
        (Some(CellVerdict::Pass), Some(CellVerdict::Fail)) => {
            found(Change::Regressed, "it reached its bar, and does not any more")
        }
        (Some(CellVerdict::Fail), Some(CellVerdict::Pass)) => found(Change::Improved, "it reaches its bar now"),
        (Some(CellVerdict::Pass), Some(CellVerdict::Error | CellVerdict::Pending)) => {
            found(Change::InsufficientEvidence, "it reached its bar, and could not be judged now")
        }
        _ => None,
    }
}

/// What is certain about an invariant, whatever chance does.
fn invariant(before: Share, now: Share) -> Option<Found> {
    let found = |change, why: &str| Some(Found::certain(change, before, now, why));
    if before.is_all() && now.is_none() {
        return found(Change::Regressed, "every replica met it, and none does now");
    }
    if before.is_none() && now.is_all() {
        return found(Change::Improved, "no replica met it, and every one does now");
    }
    None
}

/// A drop of a pass rate, and whether chance could be its reason.
fn dropped(before: Share, now: Share) -> Option<Found> {
    let chance = chance_of_drop(before, now)?;
    if !now.is_below(before) {
        return None;
    }
    let (change, why) = if is_unlikely(chance) {
        (Change::Regressed, format!("chance alone would do this in {} of 100 comparisons", hundredths(chance)))
    } else {
        (Change::InsufficientEvidence, unclear(before, now, chance))
    };
    Some(Found { change, before, now, chance: Some(chance), why })
}

fn unclear(before: Share, now: Share, chance: f64) -> String {
    let needed = replicas_to_tell(before, now).map_or_else(
        || "more replicas are needed to tell".to_owned(),
        |replicas| format!("about {replicas} replicas on either side would tell"),
    );
    format!("chance alone would do this in {} of 100 comparisons; {needed}", hundredths(chance))
}

fn hundredths(chance: f64) -> String {
    let hundredths = chance * 100.0;
    if hundredths < 1.0 { "less than 1".to_owned() } else { format!("{hundredths:.0}") }
}

/// Who compares a hundred cells finds five drops by chance. Holm's rule asks more of each, the more there are; what does not
/// reach it is not certain.
fn correct(tested: &mut [Finding]) {
    tested.sort_by(|one, other| one.chance.unwrap_or(1.0).total_cmp(&other.chance.unwrap_or(1.0)));
    let total = tested.len();
    let mut reached = true;
    for (place, finding) in tested.iter_mut().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "a number of findings is small")]
        let bar = SIGNIFICANT / (total - place) as f64;
        reached &= finding.chance.unwrap_or(1.0) < bar;
        if !reached && finding.change == Change::Regressed {
            finding.change = Change::InsufficientEvidence;
            finding.why = format!("{}, and {total} were made", finding.why);
        }
    }
}
