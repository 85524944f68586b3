//! The threshold with which a judge would agree best with people.

use serde::Serialize;

use crate::statistics::Confusion;

/// A range of thresholds that agree best. All of them give the same verdicts on these labels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BestThreshold {
    /// Thresholds are above this; the lowest range begins with 0 itself.
    pub above: f64,
    /// Thresholds are at most this.
    pub up_to: f64,
    /// The one to write: the present threshold when it is in the range, else the middle of the range.
    pub suggested: f64,
    /// The number of labels that agree.
    pub agreeing: usize,
}

/// The best range of all that differ on these pairs of a judge's score and what people say; `None` without a pair.
///
/// There is a range up to each score that was given, and one above the highest. Of those in which as many labels agree, the one
/// with the higher κ is taken, then the one nearest to the present threshold, then the stricter one.
pub(super) fn best(pairs: &[(f64, bool)], present: f64) -> Option<BestThreshold> {
    let mut scores: Vec<f64> = pairs.iter().map(|(score, _)| *score).collect();
    scores.sort_by(f64::total_cmp);
    scores.dedup();
    let highest = *scores.last()?;
    if highest < 1.0 {
        scores.push(1.0);
    }
    let lower = std::iter::once(None).chain(scores.iter().copied().map(Some));
    let candidates = lower.zip(&scores).map(|(above, up_to)| Candidate::new((above, *up_to), pairs, present));
    let best =
        candidates.max_by(|one, other| one.rank().partial_cmp(&other.rank()).unwrap_or(std::cmp::Ordering::Equal))?;
    Some(best.threshold)
}

struct Candidate {
    threshold: BestThreshold,
    kappa: f64,
    distance: f64,
}

impl Candidate {
    /// The candidate above a score, or from 0, up to a score.
    fn new((above, up_to): (Option<f64>, f64), pairs: &[(f64, bool)], present: f64) -> Self {
        let mut confusion = Confusion::default();
        pairs.iter().for_each(|(score, people)| confusion.add(*score >= up_to, *people));
        let is_in = above.is_none_or(|above| present > above) && present <= up_to;
        let above = above.unwrap_or(0.0);
        let suggested = if is_in { present } else { middle(above, up_to) };
        let threshold = BestThreshold { above, up_to, suggested, agreeing: confusion.agreeing() };
        Self { threshold, kappa: confusion.agreement().kappa.unwrap_or(0.0), distance: (suggested - present).abs() }
    }

    /// The better candidate has the greater rank.
    fn rank(&self) -> (usize, f64, f64, f64) {
        (self.threshold.agreeing, self.kappa, -self.distance, self.threshold.up_to)
    }
}

/// The middle of a range with two digits where such a number is in it.
fn middle(above: f64, up_to: f64) -> f64 {
    let middle = f64::midpoint(above, up_to);
    let rounded = (middle * 100.0).round() / 100.0;
    if rounded > above && rounded <= up_to { rounded } else { middle }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BestThreshold, best};

    #[test]
    fn the_best_range_is_found_and_ties_keep_what_is_there() {
        let pairs = [(0.2, false), (0.5, false), (0.6, false), (0.8, true), (0.9, true)];
        let found = best(&pairs, 0.5).expect("a range");
        assert_eq!(found, BestThreshold { above: 0.6, up_to: 0.8, suggested: 0.7, agreeing: 5 });
        assert_eq!(best(&pairs, 0.65).map(|found| found.suggested), Some(0.65), "the present one is as good as any");
        assert_eq!(best(&[], 0.5), None);
        let all_fail = best(&[(0.4, false), (0.9, false)], 0.5).expect("a range");
        assert_eq!((all_fail.above, all_fail.up_to, all_fail.agreeing), (0.9, 1.0, 2));
        // 1 passes with every threshold: no range can make it fail.
        assert_eq!(best(&[(1.0, false)], 0.5).map(|found| found.agreeing), Some(0));
        // Each threshold agrees with two of three; all have the same κ as words said by chance or worse but this one.
        let tied = best(&[(0.3, true), (0.6, false), (0.9, true)], 0.9).expect("a range");
        assert_eq!((tied.above, tied.up_to, tied.agreeing), (0.6, 0.9, 2));
    }

    proptest! {
        #[test]
        fn no_threshold_agrees_with_more(
            pairs in prop::collection::vec((0u8..=10, any::<bool>()), 1..20), present in 0u8..=10, other in 0u8..=10,
        ) {
            let pairs: Vec<_> = pairs.iter().map(|(score, people)| (f64::from(*score) / 10.0, *people)).collect();
            let agreeing = |threshold: f64| pairs.iter().filter(|(score, people)| (*score >= threshold) == *people).count();
            let found = best(&pairs, f64::from(present) / 10.0).expect("a range");
            prop_assert!(agreeing(f64::from(other) / 10.0) <= found.agreeing);
            prop_assert_eq!(agreeing(found.suggested), found.agreeing);
            prop_assert_eq!(agreeing(found.up_to), found.agreeing);
        }
    }
}
