//! How often a rule errs at a true pass rate, and how many replicas it takes: exactly, from the distribution of its counts.

use super::{Decision, Rule};
use crate::statistics::{Share, count};

/// What comes of a rule when the true pass rate is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Characteristics {
    /// The chance that the bar is called reached.
    pub reached: f64,
    /// The chance that it is called missed.
    pub missed: f64,
    /// The chance that nothing is decided.
    pub undecided: f64,
    /// The mean number of replicas.
    pub mean_replicas: f64,
}

impl Characteristics {
    /// Of a rule with at most so many replicas, all of which are judged and pass with the chance `truth`.
    #[must_use]
    pub fn of(rule: &Rule, at_most: usize, truth: f64) -> Self {
        let mut found = Self { reached: 0.0, missed: 0.0, undecided: 0.0, mean_replicas: 0.0 };
        // The chance to be undecided with so many passes.
        let mut chances = vec![1.0];
        for judged in 1..=at_most {
            let mut next = vec![0.0; judged + 1];
            for (passed, chance) in chances.iter().enumerate() {
                next[passed + 1] += chance * truth;
                next[passed] += chance * (1.0 - truth);
            }
            for (passed, chance) in next.iter_mut().enumerate().filter(|(_, chance)| **chance > 0.0) {
                let decided = match rule.decide(Share { passed, judged }) {
                    Some(Decision::Reached) => &mut found.reached,
                    Some(Decision::Missed) => &mut found.missed,
                    None => continue,
                };
                *decided += *chance;
                found.mean_replicas += count(judged) * *chance;
                *chance = 0.0;
            }
            chances = next;
        }
        found.undecided = chances.iter().sum();
        found.mean_replicas += count(at_most) * found.undecided;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::{Characteristics, Rule};

    fn sprt(bar: f64, margin: f64) -> Rule {
        Rule { bar, margin: Some(margin), alpha: 0.05, beta: 0.05 }
    }

    fn e_process(bar: f64) -> Rule {
        Rule { bar, margin: None, alpha: 0.05, beta: 0.05 }
    }

    #[test]
    fn the_ratio_test_takes_as_many_replicas_as_the_tables_say() {
        let mean = |truth| Characteristics::of(&sprt(0.9, 0.2), 60, truth).mean_replicas.round();
        assert_eq!([0.9, 0.5, 0.0].map(mean), [24.0, 8.0, 3.0]);
    }

    #[test]
    fn the_table_of_the_documentation_is_right() {
        let documentation = include_str!("../../../../docs/scoring.md");
        let percent = |chance: f64| format!("{:.1} %", chance * 100.0);
        for truth in [0.95, 0.9, 0.8, 0.7] {
            let found = Characteristics::of(&sprt(0.9, 0.2), 60, truth);
            let chances = [found.reached, found.missed, found.undecided].map(percent).join(" | ");
            let row = format!("| {truth} | {:.1} | {chances} |", found.mean_replicas);
            assert!(documentation.contains(&row), "{row}");
        }
    }

    #[test]
    fn the_ratio_test_keeps_its_error_rates() {
        for (bar, margin) in [(0.9, 0.2), (0.95, 0.2), (0.8, 0.3), (0.7, 0.15), (0.5, 0.25)] {
            let rule = sprt(bar, margin);
            let (good, bad) = (Characteristics::of(&rule, 600, bar), Characteristics::of(&rule, 600, bar - margin));
            // Wald's bounds: neither error is above its rate by more than a factor of 1 / (1 - the other).
            assert!(good.missed <= 0.05 / 0.95 && bad.reached <= 0.05 / 0.95, "{bar}: {good:?} {bad:?}");
            assert!(good.missed + bad.reached <= 0.1, "{bar}: {good:?} {bad:?}");
            assert!(good.undecided < 1e-6 && bad.undecided < 1e-6, "it always ends");
        }
    }

    #[test]
    fn the_e_process_takes_as_many_replicas_as_the_tables_say() {
        let fewest = [0.8, 0.9, 0.95].map(|bar| e_process(bar).fewest(200));
        assert_eq!(fewest.map(|(passes, _)| passes), [Some(20), Some(43), Some(88)]);
        assert_eq!([fewest[0].1, fewest[1].1], [Some(3), Some(2)]);
        assert_eq!(e_process(0.95).fewest(60).0, None);
    }

    #[test]
    fn the_e_process_never_errs_more_often_than_it_says_however_long_it_is_watched() {
        for bar in [0.5, 0.8, 0.9, 0.95] {
            // At the bar, both statements are wrong; below it, only one is.
            let at_the_bar = Characteristics::of(&e_process(bar), 300, bar);
            assert!(at_the_bar.reached <= 0.05 && at_the_bar.missed <= 0.05, "{bar}: {at_the_bar:?}");
            for below in [0.02, 0.1, 0.3] {
                let found = Characteristics::of(&e_process(bar), 300, bar - below).reached;
                assert!(found <= at_the_bar.reached, "{bar} less {below}: {found}");
            }
            for above in [0.02, 0.04] {
                let found = Characteristics::of(&e_process(bar), 300, bar + above).missed;
                assert!(found <= at_the_bar.missed, "{bar} and {above}: {found}");
            }
        }
    }

    #[test]
    fn chances_add_up() {
        let found = Characteristics::of(&sprt(0.9, 0.2), 20, 0.85);
        assert!((found.reached + found.missed + found.undecided - 1.0).abs() < 1e-12, "{found:?}");
    }
}
