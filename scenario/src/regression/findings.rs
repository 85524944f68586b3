//! How findings are made: pairs of reports, pairs of cells, pairs of invariants.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::comparison::{Compared, decide};
use super::gate::{Budget, Gate};
use super::measures::{CellValues, compare_measures, compare_resilience};
use super::metrics::compare_metrics;
use super::suite::{SpecShares, SuiteChange};
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
    values: CellValues,
}

/// Cells by their keys: ids are names for people, which another version may make differently.
type Cells = IndexMap<CellKey, CellShares>;

/// A spec of both sides.
struct SpecPair<'a> {
    spec: &'a str,
    cells: (Cells, Cells),
    resilience: Option<(f64, f64)>,
    worlds: Worlds,
}

pub(super) fn compare_reports(name: &str, baseline: &[Report], candidate: &[Report], gate: &Gate) -> RunComparison {
    let (before, now) = (numbered(baseline), numbered(candidate));
    let mut comparison = RunComparison {
        baseline: name.to_owned(),
        findings: Vec::new(),
        suite: None,
        measures: Vec::new(),
        gate: gate.clone(),
        cells: 0,
        removed: missing(&before, &now),
        removal: Removal::default(),
        worlds: Vec::new(),
        only_now: missing(&now, &before),
        metrics: BTreeMap::new(),
    };
    let mut pairs = Vec::new();
    for (key, report) in &now {
        let Some(earlier) = before.get(key) else { continue };
        let metrics = compare_metrics(&earlier.score, &report.score);
        let told = metrics.into_iter().filter(|metric| TOLD.contains(&metric.metric.name)).collect();
        comparison.metrics.insert(report.spec_id.clone(), told);
        let pair = SpecPair::of(&key.0, earlier, report);
        comparison.add_worlds(&pair.worlds);
        pairs.push(pair);
    }
    comparison.judge(&pairs);
    comparison
}

impl<'a> SpecPair<'a> {
    fn of(spec: &'a str, before: &Report, now: &Report) -> Self {
        let resilience =
            |report: &Report| report.score.contract.as_ref().and_then(|contract| contract.resilience_score);
        Self {
            spec,
            cells: (cells(before), cells(now)),
            resilience: resilience(before).zip(resilience(now)),
            worlds: Worlds::of(before, now),
        }
    }

    /// The cells of both sides.
    fn common(&self) -> impl Iterator<Item = (&CellShares, &CellShares)> {
        let (before, now) = &self.cells;
        now.iter().filter_map(|(key, cell)| Some((before.get(key)?, cell)))
    }

    fn shares(&self) -> SpecShares {
        SpecShares(self.common().map(|(before, now)| (before.scenarios, now.scenarios)).collect())
    }

    /// Each cell with its invariants after it.
    fn compared(&self) -> Vec<Compared> {
        let mut compared = Vec::new();
        for (before, now) in self.common() {
            let (id, verdicts) = (now.id.as_str(), Some((before.verdict, now.verdict)));
            compared.push(Compared::cell(self.spec, id, (before.scenarios, now.scenarios), verdicts));
            let both =
                now.invariants.iter().filter_map(|(name, now)| Some((name, (*before.invariants.get(name)?, *now))));
            compared.extend(both.map(|(name, shares)| Compared::invariant(self.spec, id, name, shares)));
        }
        compared
    }

    /// Cells and invariants that only the baseline has, and cells that only the candidate has.
    fn differences(&self) -> (Vec<String>, Vec<String>) {
        let (before, now) = &self.cells;
        let only = |here: &Cells, there: &Cells| -> Vec<String> {
            let missing = here.iter().filter(|(key, _)| !there.contains_key(*key));
            missing.map(|(_, cell)| format!("{}/{}", self.spec, cell.id)).collect()
        };
        let mut removed = only(before, now);
        for (before, now) in self.common() {
            removed.extend(before.removed_invariants(now).map(|name| format!("{}/{}: {name}", self.spec, now.id)));
        }
        (removed, only(now, before))
    }
}

impl RunComparison {
    fn add_worlds(&mut self, worlds: &Worlds) {
        for line in &worlds.differences {
            if !self.worlds.contains(line) {
                self.worlds.push(line.clone());
            }
        }
    }

    /// Judges everything that both sides have.
    fn judge(&mut self, pairs: &[SpecPair<'_>]) {
        // A difference between two worlds need not be the agent's, so it enters no sum.
        let alike: Vec<_> = pairs.iter().filter(|pair| pair.worlds.apart.is_none()).collect();
        let specs: Vec<_> = alike.iter().map(|pair| pair.shares()).collect();
        let all: Vec<_> = pairs.iter().map(SpecPair::shares).collect();
        let (sums, budget) = sums_and_budget(&all, &specs, &self.gate);
        self.findings = decide(self.compared(pairs, &sums), &budget);
        self.findings.sort_by_key(|finding| finding.change);
        self.suite = SuiteChange::of(&specs, budget.sums, &self.gate);
        let values: Vec<_> =
            alike.iter().flat_map(|pair| pair.common()).map(|(before, now)| (&before.values, &now.values)).collect();
        self.measures = compare_measures(&values, &self.gate, &budget);
        let scores: Vec<_> = alike.iter().filter_map(|pair| pair.resilience).collect();
        self.measures.extend(compare_resilience(&scores, &self.gate, &budget));
    }

    /// Everything that is compared: each cell, its invariants, and sums of cells.
    fn compared(&mut self, pairs: &[SpecPair<'_>], sums: &[Option<(Share, Share)>]) -> Vec<Compared> {
        let mut all = Vec::new();
        for (pair, sum) in pairs.iter().zip(sums) {
            let (removed, only_now) = pair.differences();
            self.removed.extend(removed);
            self.only_now.extend(only_now);
            self.cells += pair.common().count();
            let sum = sum.map(|shares| Compared::all_cells(pair.spec, shares));
            let compared = pair.compared().into_iter().chain(sum);
            all.extend(compared.map(|one| one.between(&pair.worlds)));
        }
        all
    }
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
        values: CellValues::default(),
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
            self.values.add(result);
        }
        for invariant in &result.invariants {
            let share = self.invariants.entry(invariant.name.clone()).or_default();
            if !matches!(invariant.verdict.outcome, Outcome::Errored(_)) {
                share.add(invariant.verdict.is_passed());
            }
        }
    }
}

/// The sums of cells that are compared, a place for each spec, and the levels of everything. Sums are those of each spec, or of the
/// suite of all specs in the same world when these are enough.
pub(super) fn sums_and_budget(
    specs: &[SpecShares],
    alike: &[SpecShares],
    gate: &Gate,
) -> (Vec<Option<(Share, Share)>>, Budget) {
    let has_suite = SuiteChange::can_tell(alike);
    let sums: Vec<_> = specs.iter().map(|spec| if has_suite { None } else { pooled(&spec.0) }).collect();
    let budget = Budget::of(has_suite || sums.iter().any(Option::is_some), gate);
    (sums, budget)
}

/// All cells together. When a cell has a larger part of one side than of the other, the sums differ also where no cell does, so
/// they are not compared.
pub(super) fn pooled(cells: &[(Share, Share)]) -> Option<(Share, Share)> {
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
