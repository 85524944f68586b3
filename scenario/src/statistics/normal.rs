//! The normal distribution.

/// Up to here a series is summed; above, a continued fraction converges faster.
const SERIES: f64 = 3.0;
/// How many terms are enough for all digits on either side of [`SERIES`].
const TERMS: u32 = 100;

/// How likely a standard normal number is at least this large.
pub(super) fn upper_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - upper_tail(-z);
    }
    if z < SERIES { 0.5 - density(z) * series(z) } else { density(z) / fraction(z) }
}

/// The number that is exceeded with this likelihood.
pub(super) fn upper_quantile(likelihood: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if upper_tail(middle) > likelihood { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// z + z³/3 + z⁵/(3·5) + …
fn series(z: f64) -> f64 {
    let (mut term, mut sum) = (z, z);
    for step in 1..TERMS {
        term *= z * z / f64::from(2 * step + 1);
        sum += term;
    }
    sum
}

/// z + 1/(z + 2/(z + 3/(z + …)))
fn fraction(z: f64) -> f64 {
    (1..TERMS).rev().fold(z, |rest, step| z + f64::from(step) / rest)
}

#[cfg(test)]
mod tests {
    use super::{upper_quantile, upper_tail};

    #[test]
    fn the_tails_are_those_of_the_tables() {
        for (z, expected) in [
            (0.0, 0.5),
            (1.0, 0.158_655_253_931_457),
            (-1.0, 0.841_344_746_068_543),
            (1.959_963_984_540_054, 0.025),
            (3.0, 0.001_349_898_031_630_1),
            (6.0, 9.865_876_450_377e-10),
        ] {
            let found = upper_tail(z);
            assert!((found - expected).abs() < expected * 1e-9, "{z}: {found}");
        }
        assert!((upper_quantile(0.025) - 1.959_963_984_540_054).abs() < 1e-9);
    }
}
