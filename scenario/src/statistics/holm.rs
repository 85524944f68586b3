//! Many comparisons at once: who compares a hundred cells finds five drops by chance.
//!
//! Holm's rule asks more of each comparison, the more there are, so that the chance of a single false alarm among all of them stays
//! below the level. All comparisons count, also those in which nothing dropped. Only those do not of which it was certain
//! beforehand that they could not say anything, because too few passed or too few failed on both sides together (Tarone's rule):
//! whether they count is known without looking at which side the passes are on, so the level still holds.

use super::fisher::is_below;
use super::logarithms::count;

/// A comparison in a family.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    /// How likely chance alone explains what was found.
    pub(crate) chance: f64,
    /// How likely it would explain the largest drop that was possible.
    pub(crate) least_chance: f64,
}

/// Says of each member whether chance is an unlikely reason for it, among all of them.
pub(crate) fn holm(members: &[Member], level: f64) -> Vec<bool> {
    let mut telling = telling(members, level);
    telling.sort_by(|one, other| members[*one].chance.total_cmp(&members[*other].chance));
    let mut found = vec![false; members.len()];
    for (place, index) in telling.iter().enumerate() {
        if !is_below(members[*index].chance, level / count(telling.len() - place)) {
            break;
        }
        found[*index] = true;
    }
    found
}

/// The members that could say something: the most for which each can still reach its part of the level.
fn telling(members: &[Member], level: f64) -> Vec<usize> {
    let able = |parts: usize| -> Vec<usize> {
        let can = |index: &usize| is_below(members[*index].least_chance, level / count(parts));
        (0..members.len()).filter(can).collect()
    };
    let parts = (1..=members.len()).find(|parts| able(*parts).len() <= *parts).unwrap_or(1);
    able(parts)
}

#[cfg(test)]
mod tests {
    use super::{Member, holm};

    fn member(chance: f64, least_chance: f64) -> Member {
        Member { chance, least_chance }
    }

    #[test]
    fn each_of_many_needs_more_than_one_alone() {
        let telling = |chance| member(chance, 1e-6);
        assert_eq!(holm(&[telling(0.04)], 0.05), [true]);
        assert_eq!(holm(&[telling(0.04), telling(0.9)], 0.05), [false, false], "those without a drop count as well");
        assert_eq!(holm(&[telling(0.04), telling(0.02)], 0.05), [true, true], "step by step");
        assert_eq!(holm(&[telling(0.03), telling(0.026)], 0.05), [false, false]);
        assert_eq!(holm(&[], 0.05), [false; 0]);
    }

    #[test]
    fn what_could_not_say_anything_costs_nothing() {
        let mut members = vec![member(1.0, 1.0); 100];
        members.push(member(0.02, 0.004));
        assert_eq!(holm(&members, 0.05).last(), Some(&true));
        let mut able = vec![member(0.9, 0.004); 11];
        able.push(member(0.0045, 0.004));
        assert_eq!(holm(&able, 0.05).last(), Some(&false), "the same, where the others could have said something");
    }
}
