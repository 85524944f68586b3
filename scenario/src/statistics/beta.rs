//! The regularised incomplete beta function and its inverse, from which exact bounds of a share are computed.
//!
//! The continued fraction is evaluated with Lentz's method on the side where it converges quickly; the other side is its
//! complement. Everything is computed from logarithms, so that tails far below the smallest number stay exact.

/// Steps after which a continued fraction has converged for any count that occurs; the method needs about the square root of the
/// larger parameter.
const MOST_STEPS: u32 = 10_000;
/// How often the range of a quantile is halved: beyond the precision of a number.
const HALVINGS: u32 = 90;

/// The logarithm of the beta function.
pub(crate) fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

/// The share of a beta distribution that lies below `x`.
pub(crate) fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    ln_incomplete_beta(a, b, x).exp()
}

/// The logarithm of the share of a beta distribution that lies below `x`.
pub(crate) fn ln_incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if x >= 1.0 {
        return 0.0;
    }
    if x < (a + 1.0) / (a + b + 2.0) {
        ln_tail(a, b, x)
    } else {
        // The complement is the small one here, so nothing is lost.
        (-ln_tail(b, a, 1.0 - x).exp()).ln_1p()
    }
}

/// The `x` below which this share of a beta distribution lies.
pub(crate) fn beta_quantile(a: f64, b: f64, share: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if incomplete_beta(a, b, middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The logarithm of the share below `x`, where the continued fraction converges.
fn ln_tail(a: f64, b: f64, x: f64) -> f64 {
    a * x.ln() + b * (-x).ln_1p() - ln_beta(a, b) - a.ln() + continued_fraction(a, b, x).ln()
}

fn continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let keep_apart_from_zero = |number: f64| if number.abs() < TINY { TINY } else { number };
    let mut numerators = 1.0;
    let mut denominators = 1.0 / keep_apart_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = denominators;
    for step in 1..=MOST_STEPS {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            denominators = 1.0 / keep_apart_from_zero(1.0 + term * denominators);
            numerators = keep_apart_from_zero(1.0 + term / numerators);
            change = denominators * numerators;
            fraction *= change;
        }
        if (change - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    fraction
}

/// The logarithm of the gamma function for positive numbers: Stirling's series, far enough out that its terms vanish.
fn ln_gamma(x: f64) -> f64 {
    const FAR_ENOUGH: f64 = 12.0;
    let (mut far, mut product) = (x, 1.0);
    while far < FAR_ENOUGH {
        product *= far;
        far += 1.0;
    }
    let square = far * far;
    let series = (1.0 / 12.0
        - (1.0 / 360.0
            - (1.0 / 1260.0 - (1.0 / 1680.0 - (1.0 / 1188.0 - 691.0 / 360_360.0 / square) / square) / square)
                / square)
            / square)
        / far;
    (far - 0.5) * far.ln() - far + 0.5 * std::f64::consts::TAU.ln() + series - product.ln()
}

#[cfg(test)]
mod tests {
    use super::{beta_quantile, incomplete_beta, ln_gamma, ln_incomplete_beta};
    use crate::statistics::logarithms::{Factorials, count};

    fn whole(number: u32) -> f64 {
        f64::from(number)
    }

    #[test]
    fn gamma_of_whole_numbers_is_a_factorial() {
        let mut factorial = 0.0;
        for number in 1..200_u32 {
            assert!((ln_gamma(whole(number)) - factorial).abs() < 1e-11, "{number}");
            factorial += whole(number).ln();
        }
        assert!((ln_gamma(0.5) - 0.5 * std::f64::consts::PI.ln()).abs() < 1e-13);
    }

    #[test]
    fn it_is_the_tail_of_a_binomial_distribution() {
        // At least k of n with chance x has the probability I_x(k, n - k + 1).
        for trials in [1, 2, 3, 8, 30, 60, 200_usize] {
            let factorials = Factorials::to(trials);
            for chance in [0.01, 0.2, 0.5, 0.83, 0.999_f64] {
                let exactly = |k: usize| {
                    let ways = factorials.choose(trials, k);
                    (ways + count(k) * chance.ln() + count(trials - k) * (-chance).ln_1p()).exp()
                };
                for least in 1..=trials {
                    let sum: f64 = (least..=trials).map(exactly).sum();
                    let found = incomplete_beta(count(least), count(trials - least + 1), chance);
                    assert!((found - sum).abs() < 1e-11, "{least} of {trials} at {chance}: {found} and {sum}");
                }
            }
        }
    }

    #[test]
    fn far_tails_keep_their_logarithm() {
        // I_x(n, 1) = x^n.
        let found = ln_incomplete_beta(5000.0, 1.0, 0.5);
        assert!((found - 5000.0 * 0.5_f64.ln()).abs() < 1e-8, "{found}");
    }

    #[test]
    fn the_quantile_is_the_inverse() {
        for (a, b) in [(1.0, 1.0), (3.0, 8.0), (30.0, 1.0), (1.0, 88.0), (500.0, 500.0), (0.5, 0.5), (9000.0, 1001.0)] {
            for share in [0.001, 0.025, 0.5, 0.95, 0.999] {
                let found = incomplete_beta(a, b, beta_quantile(a, b, share));
                assert!((found - share).abs() < 1e-10, "{a}, {b}: {found} and {share}");
            }
        }
        assert!((beta_quantile(30.0, 1.0, 0.05) - 0.05_f64.powf(1.0 / 30.0)).abs() < 1e-14);
    }
}
