//! How often the whole gate is wrong, and how often it is right: pairs of runs, thousands of them, seeded.

use super::comparison::{Compared, unlikely};
use super::{SIGNIFICANT, Share};
use crate::statistics::replicas_to_tell;

/// Two runs of every cell, each so often. A cell has invariants of its own rates, and passes when all of them do.
struct Gate<'a> {
    cells: usize,
    replicas: (usize, usize),
    before: &'a [f64],
    now: &'a [f64],
}

impl Gate<'_> {
    /// How many of so many pairs of runs are called a regression.
    fn alarms(&self, pairs: usize, seed: u64) -> usize {
        let mut dice = Dice(seed);
        (0..pairs).filter(|_| unlikely(&self.compared(&mut dice)).contains(&true)).count()
    }

    fn compared(&self, dice: &mut Dice) -> Vec<Compared> {
        let mut compared = Vec::new();
        let (mut all_before, mut all_now) = (Share::default(), Share::default());
        for cell in 0..self.cells {
            let (before, now) = (dice.cell(self.before, self.replicas.0), dice.cell(self.now, self.replicas.1));
            (all_before, all_now) = (all_before.and(before.0), all_now.and(now.0));
            compared.push(Compared::cell("s", &cell.to_string(), (before.0, now.0), None));
            let invariants = before.1.iter().zip(&now.1).map(|(before, now)| (*before, *now));
            compared.extend(invariants.map(|shares| Compared::invariant("s", &cell.to_string(), "i", shares)));
        }
        compared.push(Compared::all_cells("s", (all_before, all_now)));
        compared
    }
}

/// Numbers that look like chance and are the same each time (`SplitMix64`).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        f64::from(u32::try_from((mixed ^ (mixed >> 31)) >> 32).expect("32 bits")) / f64::from(u32::MAX)
    }

    /// How many replicas passed, and how many met each invariant.
    fn cell(&mut self, rates: &[f64], replicas: usize) -> (Share, Vec<Share>) {
        let (mut scenarios, mut invariants) = (Share::default(), vec![Share::default(); rates.len()]);
        for _ in 0..replicas {
            let met: Vec<_> = rates.iter().map(|rate| self.roll() < *rate).collect();
            scenarios.add(met.iter().all(|met| *met));
            invariants.iter_mut().zip(met).for_each(|(share, met)| share.add(met));
        }
        (scenarios, invariants)
    }
}

#[test]
fn the_same_agent_is_called_worse_no_more_often_than_the_level_says() {
    const PAIRS: usize = 1000;
    for (cells, replicas, rates) in [
        (20, (5, 5), &[0.95][..]),
        (20, (5, 5), &[0.95, 0.95]),
        (8, (10, 10), &[0.5, 0.9]),
        (40, (3, 3), &[0.7]),
        (1, (30, 30), &[0.8]),
        (5, (20, 10), &[0.6, 0.8]),
        (12, (1, 1), &[0.5]),
    ] {
        let gate = Gate { cells, replicas, before: rates, now: rates };
        let alarms = gate.alarms(PAIRS, 7);
        assert!(
            alarms as f64 / PAIRS as f64 <= SIGNIFICANT,
            "{alarms} of {PAIRS}: {cells} cells, {replicas:?} replicas, {rates:?}"
        );
    }
}

#[test]
fn a_real_drop_is_found_with_as_many_replicas_as_were_said_to_be_enough() {
    const PAIRS: usize = 1000;
    let share = |rate: f64| Share { passed: (rate * 10.0).round() as usize, judged: 10 };
    for (before, now) in [(1.0, 0.8), (0.9, 0.6), (0.8, 0.3)] {
        // A cell and its only invariant are two comparisons.
        let needed = replicas_to_tell(share(before), share(now), SIGNIFICANT / 2.0).expect("a number");
        let mut dice = Dice(11);
        let found = (0..PAIRS).filter(|_| {
            let (before, now) = (dice.cell(&[before], needed), dice.cell(&[now], needed));
            let cell = Compared::cell("s", "c", (before.0, now.0), None);
            unlikely(&[cell, Compared::invariant("s", "c", "i", (before.1[0], now.1[0]))]).contains(&true)
        });
        let found = found.count();
        // Three standard deviations of a thousand throws at 80 %.
        assert!(found + 38 >= 800, "{found} of {PAIRS} with {needed} replicas, {before} → {now}");
    }
}

#[test]
fn one_broken_cell_of_many_is_found() {
    let mut dice = Dice(3);
    let mut compared = Gate { cells: 19, replicas: (5, 5), before: &[0.95], now: &[0.95] }.compared(&mut dice);
    compared.push(Compared::cell(
        "s",
        "broken",
        (Share { passed: 5, judged: 5 }, Share { passed: 0, judged: 5 }),
        None,
    ));
    assert_eq!(unlikely(&compared).last(), Some(&true));
}
