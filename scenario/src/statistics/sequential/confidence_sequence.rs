//! The range of pass rates that the e-processes leave: it holds after every replica at once.

use super::e_process::{ln_stake_above, ln_stake_below};
use crate::statistics::{Interval, Share};

/// How often a range is halved: beyond the precision of a number near 1.
const HALVINGS: u32 = 60;

/// All rates against which there is not enough evidence: the low end errs with the chance `beta`, the high end with `alpha`.
pub(super) fn confidence_sequence(share: Share, alpha: f64, beta: f64) -> Interval {
    Interval {
        low: first(|rate| ln_stake_above(rate, share) < -beta.ln()),
        high: first(|rate| ln_stake_below(rate, share) >= -alpha.ln()),
    }
}

/// The first rate for which something holds that holds for all higher ones: evidence for "above" falls with the rate, and evidence
/// for "below" grows.
fn first(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    // Where halving came to an end of the scale, that end is meant.
    const END: f64 = 1e-15;
    if high < END {
        0.0
    } else if low > 1.0 - END {
        1.0
    } else {
        high
    }
}

#[cfg(test)]
mod tests {
    use super::confidence_sequence;
    use crate::statistics::Share;
    use crate::statistics::sequential::{Decision, Rule};

    #[test]
    fn it_narrows_with_every_replica() {
        let of = |passed, judged| confidence_sequence(Share { passed, judged }, 0.05, 0.05);
        let nothing = of(0, 0);
        assert!(nothing.low.abs() < 1e-12 && (nothing.high - 1.0).abs() < 1e-12, "{nothing:?}");
        let (few, many) = (of(8, 10), of(80, 100));
        assert!(few.low < many.low && many.low < 0.8 && 0.8 < many.high && many.high < few.high, "{few:?} {many:?}");
        let all = of(43, 43);
        assert!(all.low >= 0.9 && (all.high - 1.0).abs() < 1e-12, "{all:?}");
    }

    #[test]
    fn without_a_margin_it_is_what_decides() {
        let rule = Rule { bar: 0.85, margin: None, alpha: 0.05, beta: 0.02 };
        for judged in 0..40 {
            for passed in 0..=judged {
                let share = Share { passed, judged };
                let range = rule.confidence_sequence(share);
                let expected = if range.low >= rule.bar {
                    Some(Decision::Reached)
                } else if range.high <= rule.bar {
                    Some(Decision::Missed)
                } else {
                    None
                };
                assert_eq!(rule.decide(share), expected, "{share}: {range:?}");
            }
        }
    }
}
