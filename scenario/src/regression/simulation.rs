//! How often the whole gate is wrong, and how often it is right: pairs of runs, thousands of them, seeded.
//!
//! `just simulate` runs more pairs and prints the table of docs/scoring.md.

use super::comparison::{Chances, Compared, unlikely};
use super::findings::sums_and_budget;
use super::suite::{SpecShares, SuiteChange};
use super::{Gate, SIGNIFICANT, Share, level_of_cell};
use crate::plan::{Chance, Seed};
use crate::statistics::replicas_for_drop;

/// How many pairs of runs are made of each design, when nothing else is asked for.
const PAIRS: usize = 200;

/// How many pairs of runs are made of so many specs. Many specs take longer, and are looked at closely when that is asked for.
fn pairs(specs: usize) -> usize {
    // The domain reads no variable while it runs, so this one is read when the test is compiled.
    let asked = option_env!("TOUCHSTONE_SIMULATED_PAIRS").and_then(|pairs| pairs.parse().ok());
    asked.unwrap_or(if specs > 16 { PAIRS / 10 } else { PAIRS })
}

/// Two runs of a suite. A cell has invariants of their own rates, and passes when all of them do.
#[derive(Clone, Copy)]
struct Suite<'a> {
    specs: usize,
    /// How many cells each spec has.
    cells: usize,
    replicas: (usize, usize),
    before: &'a [f64],
    now: &'a [f64],
}

/// How often something was called worse.
#[derive(Default)]
struct Alarms {
    any: usize,
    suite: usize,
}

impl Suite<'_> {
    /// Makes so many pairs of runs and judges each.
    fn alarms(&self, pairs: usize, seed: u64) -> Alarms {
        let (mut dice, mut chances, mut alarms) =
            (Dice(Chance::new(Seed::new(seed))), Chances::default(), Alarms::default());
        for _ in 0..pairs {
            let (mut compared, mut specs) = (Vec::new(), Vec::new());
            for spec in 0..self.specs {
                specs.push(self.spec(&spec.to_string(), &mut dice, &mut compared));
            }
            let (sums, budget) = sums_and_budget(&specs, &specs, &Gate::default());
            let sums = sums
                .into_iter()
                .enumerate()
                .filter_map(|(spec, sum)| Some(Compared::all_cells(&spec.to_string(), sum?)));
            compared.extend(sums);
            let suite = SuiteChange::of(&specs, budget.sums, &Gate::default()).is_some_and(|suite| suite.regressed());
            alarms.any += usize::from(suite || unlikely(&compared, &budget, &mut chances).contains(&true));
            alarms.suite += usize::from(suite);
        }
        alarms
    }

    fn spec(&self, spec: &str, dice: &mut Dice, compared: &mut Vec<Compared>) -> SpecShares {
        let mut shares = Vec::new();
        for cell in 0..self.cells {
            let cell = cell.to_string();
            let (before, now) = (dice.cell(self.before, self.replicas.0), dice.cell(self.now, self.replicas.1));
            shares.push((before.0, now.0));
            compared.push(Compared::cell(spec, &cell, (before.0, now.0), None));
            let invariants = before.1.iter().zip(&now.1).map(|(before, now)| (*before, *now));
            compared.extend(invariants.map(|shares| Compared::invariant(spec, &cell, "i", shares)));
        }
        SpecShares(shares)
    }

    fn name(&self) -> String {
        let Self { specs, cells, replicas: (before, now), .. } = self;
        format!("{specs} specs × {cells} cells, {before} and {now} replicas, rates {:?} → {:?}", self.before, self.now)
    }
}

/// Replicas that pass or fail by chance, the same each time.
struct Dice(Chance);

impl Dice {
    fn passes(&mut self, rate: f64) -> bool {
        const SIDES: u32 = 1 << 30;
        (self.0.below(SIDES as usize) as f64) < rate * f64::from(SIDES)
    }

    /// How many replicas passed, and how many met each invariant.
    fn cell(&mut self, rates: &[f64], replicas: usize) -> (Share, Vec<Share>) {
        let (mut scenarios, mut invariants) = (Share::default(), vec![Share::default(); rates.len()]);
        for _ in 0..replicas {
            let met: Vec<_> = rates.iter().map(|rate| self.passes(*rate)).collect();
            scenarios.add(met.iter().all(|met| *met));
            invariants.iter_mut().zip(met).for_each(|(share, met)| share.add(met));
        }
        (scenarios, invariants)
    }
}

/// Nothing changed in these.
const UNCHANGED: [Suite<'_>; 14] = [
    unchanged(1, 1, (30, 30), &[0.8]),
    unchanged(1, 1, (10, 10), &[0.95, 0.95]),
    unchanged(1, 5, (10, 10), &[0.9]),
    unchanged(1, 5, (20, 10), &[0.6, 0.8]),
    unchanged(1, 20, (5, 5), &[0.95]),
    unchanged(1, 20, (10, 10), &[0.99]),
    unchanged(1, 20, (3, 3), &[0.7]),
    unchanged(8, 1, (10, 10), &[0.5, 0.9]),
    unchanged(8, 1, (20, 5), &[0.9]),
    unchanged(20, 1, (10, 10), &[0.95]),
    unchanged(20, 1, (3, 3), &[0.9]),
    unchanged(12, 1, (1, 1), &[0.5]),
    unchanged(5, 4, (10, 10), &[0.9]),
    unchanged(40, 1, (20, 20), &[0.997]),
];

const fn unchanged(specs: usize, cells: usize, replicas: (usize, usize), rates: &'static [f64]) -> Suite<'static> {
    Suite { specs, cells, replicas, before: rates, now: rates }
}

#[test]
fn the_same_agent_is_called_worse_no_more_often_than_the_level_says() {
    for (suite, seed) in UNCHANGED.into_iter().zip(1..) {
        let pairs = pairs(suite.specs);
        let Alarms { any, .. } = suite.alarms(pairs, seed);
        let rate = any as f64 / pairs as f64;
        println!("false regressions {:5.2} %  {}", rate * 100.0, suite.name());
        // Two standard deviations of so many throws at the level.
        let most = SIGNIFICANT + 2.0 * (SIGNIFICANT * (1.0 - SIGNIFICANT) / pairs as f64).sqrt();
        assert!(rate <= most, "{any} of {pairs}: {}", suite.name());
    }
}

#[test]
fn a_real_drop_is_found_with_as_many_replicas_as_were_said_to_be_enough() {
    let pairs = pairs(1);
    for (cells, before, now) in [(1, 0.9, 0.5), (1, 0.95, 0.75), (5, 0.9, 0.5), (20, 0.9, 0.5)] {
        let needed = replicas_for_drop(before, now, level_of_cell(cells)).expect("a number");
        let (mut dice, mut chances) = (Dice(Chance::new(Seed::new(11))), Chances::default());
        let found = (0..pairs).filter(|_| {
            let dropped = Suite { specs: 1, cells: 1, replicas: (needed, needed), before: &[before], now: &[now] };
            let steady = Suite { cells: cells - 1, now: &[before], ..dropped };
            let (mut compared, mut specs) = (Vec::new(), Vec::new());
            for part in [dropped, steady] {
                specs.extend(part.spec("s", &mut dice, &mut compared).0);
            }
            let specs = [SpecShares(specs)];
            let (_, budget) = sums_and_budget(&specs, &specs, &Gate::default());
            unlikely(&compared, &budget, &mut chances)[0]
        });
        let found = found.count();
        println!(
            "power {:5.1} %  1 of {cells} cells drops {before} → {now}, {needed} replicas",
            found as f64 / pairs as f64 * 100.0
        );
        // Three standard deviations of so many throws at 80 %.
        let least = 0.8 - 3.0 * (0.16 / pairs as f64).sqrt();
        assert!(found as f64 / pairs as f64 >= least, "{found} of {pairs} with {needed} replicas, {before} → {now}");
    }
}

#[test]
fn a_small_drop_of_many_specs_is_found_by_the_suite() {
    for (specs, replicas, now) in [(20, 5, 0.75), (10, 10, 0.75)] {
        let pairs = pairs(specs);
        let suite = Suite { specs, cells: 1, replicas: (replicas, replicas), before: &[0.95], now: &[now] };
        let found = suite.alarms(pairs, 5).suite as f64 / pairs as f64;
        println!("power {:5.1} %  of the suite: {}", found * 100.0, suite.name());
        assert!(found > 0.8, "{found}: {}", suite.name());
    }
}

#[test]
fn one_broken_cell_of_many_is_found() {
    let (mut compared, share) = (Vec::new(), |passed| Share { passed, judged: 5 });
    unchanged(1, 19, (5, 5), &[0.95]).spec("s", &mut Dice(Chance::new(Seed::new(3))), &mut compared);
    compared.push(Compared::cell("s", "broken", (share(5), share(0)), None));
    let specs = [SpecShares(vec![(share(5), share(5)); 20])];
    let (_, budget) = sums_and_budget(&specs, &specs, &Gate::default());
    assert_eq!(unlikely(&compared, &budget, &mut Chances::default()).last(), Some(&true));
}
