//! Many comparisons at once: who compares a hundred cells finds five drops by chance.
//!
//! Holm's rule asks more of each comparison, the more there are, so that the chance of a single false alarm among all of them stays
//! below the level, however the comparisons depend on each other.

use super::boschloo::is_below;
use super::logarithms::count;

/// Says of each p-value whether chance is an unlikely reason for it, among all of them.
pub(crate) fn holm(chances: &[f64], level: f64) -> Vec<bool> {
    let mut order: Vec<_> = (0..chances.len()).collect();
    order.sort_by(|one, other| chances[*one].total_cmp(&chances[*other]));
    let mut found = vec![false; chances.len()];
    for (place, index) in order.into_iter().enumerate() {
        if !is_below(chances[index], level / count(chances.len() - place)) {
            break;
        }
        found[index] = true;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::holm;

    #[test]
    fn each_of_many_needs_more_than_one_alone() {
        assert_eq!(holm(&[0.04], 0.05), [true]);
        assert_eq!(holm(&[0.04, 0.9], 0.05), [false, false], "those without a drop count as well");
        assert_eq!(holm(&[0.04, 0.02], 0.05), [true, true], "step by step");
        assert_eq!(holm(&[0.03, 0.026], 0.05), [false, false]);
        assert_eq!(holm(&[], 0.05), [false; 0]);
    }
}
