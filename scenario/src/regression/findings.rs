//! How findings are made: pairs of reports, pairs of cells, pairs of invariants.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::comparison::{Compared, decide};
use super::metrics::compare_metrics;
use super::worlds::Worlds;
use super::{Removal, RunComparison, Share};
use crate::plan::{CellId, CellKey};
use crate::report::Report;
use crate::result::{RowStatus, ScenarioResult};
use crate::score::{Cell, CellVerdict};
use crate::verdict::Outcome;

/// The metrics that are told besides.
const TOLD: [&str; 4] = ["mean_wall_ms", "p95_wall_ms", "mean_tokens", "total_cost_usd"];

/// What is known of one cell.
#[derive(Debug)]
struct CellShares {
    id: CellId,
    verdict: CellVerdict,
    scenarios: Share,
    invariants: IndexMap<String, Share>,
}

/// Cells by their keys: ids are names for people, which another version may make differently.
type Cells = IndexMap<CellKey, CellShares>;

pub(super) fn compare_reports(name: &str, baseline: &[Report], candidate: &[Report]) -> RunComparison {
    let (before, now) = (numbered(baseline), numbered(candidate));
    let mut comparison = RunComparison {
        baseline: name.to_owned(),
        findings: Vec::new(),
        cells: 0,
        removed: missing(&before, &now),
        removal: Removal::default(),
        worlds: Vec::new(),
        only_now: missing(&now, &before),
        metrics: BTreeMap::new(),
    };
    let mut compared = Vec::new();
    for (key, report) in &now {
        let Some(earlier) = before.get(key) else { continue };
        let metrics = compare_metrics(&earlier.score, &report.score);
        let told = metrics.into_iter().filter(|metric| TOLD.contains(&metric.metric.name)).collect();
        comparison.metrics.insert(report.spec_id.clone(), told);
        let worlds = Worlds::of(earlier, report);
        comparison.worlds.extend(
            worlds.differences.iter().filter(|line| !comparison.worlds.contains(line)).cloned().collect::<Vec<_>>(),
        );
        compare_cells(&key.0, (&cells(earlier), &cells(report)), &worlds, &mut comparison, &mut compared);
    }
    comparison.findings = decide(compared);
    comparison.findings.sort_by_key(|finding| finding.change);
    comparison
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
    let shares = |cell: &Cell| CellShares {
        id: cell.id.clone(),
        verdict: cell.verdict,
        scenarios: Share::default(),
        invariants: IndexMap::new(),
    };
    let mut cells: Cells = report.score.cells.iter().map(|cell| (cell.key.clone(), shares(cell))).collect();
    for row in &report.rows {
        if let Some(cell) = cells.get_mut(&row.result.scenario.key()) {
            cell.add(&row.result);
        }
    }
    cells
}

impl CellShares {
    /// Invariants that are not there any more, in a cell of which anything was judged.
    fn removed_invariants<'a>(&'a self, now: &'a Self) -> impl Iterator<Item = &'a String> {
        let was_judged = now.scenarios.judged > 0 && !now.invariants.is_empty();
        self.invariants.keys().filter(move |name| was_judged && !now.invariants.contains_key(*name))
    }

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

/// Compares the cells of two reports: each, each of its invariants, and all of them together.
fn compare_cells(
    spec: &str,
    (before, now): (&Cells, &Cells),
    worlds: &Worlds,
    comparison: &mut RunComparison,
    compared: &mut Vec<Compared>,
) {
    let only = |here: &Cells, there: &Cells| -> Vec<String> {
        let missing = here.iter().filter(|(key, _)| !there.contains_key(*key));
        missing.map(|(_, cell)| format!("{spec}/{}", cell.id)).collect()
    };
    comparison.removed.extend(only(before, now));
    comparison.only_now.extend(only(now, before));
    let common: Vec<_> = now.iter().filter_map(|(key, cell)| Some((before.get(key)?, cell))).collect();
    let first = compared.len();
    for (before, now) in &common {
        let id = now.id.as_str();
        comparison.removed.extend(before.removed_invariants(now).map(|name| format!("{spec}/{id}: {name}")));
        let verdicts = Some((before.verdict, now.verdict));
        compared.push(Compared::cell(spec, id, (before.scenarios, now.scenarios), verdicts));
        for (name, share) in &now.invariants {
            let Some(earlier) = before.invariants.get(name) else { continue };
            compared.push(Compared::invariant(spec, id, name, (*earlier, *share)));
        }
    }
    comparison.cells += common.len();
    let shares: Vec<_> = common.iter().map(|(before, now)| (before.scenarios, now.scenarios)).collect();
    compared.extend(pooled(&shares).map(|shares| Compared::all_cells(spec, shares)));
    compared[first..].iter_mut().for_each(|one| one.worlds.clone_from(&worlds.apart));
}

/// All cells together. When a cell has a larger part of one side than of the other, the sums differ also where no cell does, so
/// they are not compared.
fn pooled(cells: &[(Share, Share)]) -> Option<(Share, Share)> {
    let sum = |(before, now): (Share, Share), (one, other): &(Share, Share)| (before.and(*one), now.and(*other));
    let all = cells.iter().fold((Share::default(), Share::default()), sum);
    let has_same_part = |(before, now): &(Share, Share)| before.judged * all.1.judged == now.judged * all.0.judged;
    (cells.len() > 1 && cells.iter().all(has_same_part)).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::{Share, pooled};

    #[test]
    fn cells_that_weigh_differently_are_not_added_up() {
        let share = |passed, judged| Share { passed, judged };
        let same = [(share(5, 5), share(5, 5)), (share(0, 5), share(0, 5))];
        assert_eq!(pooled(&same), Some((share(5, 10), share(5, 10))));
        assert_eq!(pooled(&[(share(4, 4), share(2, 2)), (share(0, 2), share(0, 1))]), Some((share(4, 6), share(2, 3))));
        // One cell always passes and the other never does: nothing dropped, and yet 5 of 6 would become 1 of 6.
        assert_eq!(pooled(&[(share(5, 5), share(1, 1)), (share(0, 1), share(0, 5))]), None);
        assert_eq!(pooled(&same[..1]), None, "one cell stands for itself");
    }
}
