//! Logarithms of factorials, with which numbers of ways are counted without overflow.

/// ln 0!, ln 1!, … ln n!
#[derive(Debug)]
pub(super) struct Factorials(Vec<f64>);

impl Factorials {
    pub(super) fn to(most: usize) -> Self {
        let mut logarithms = vec![0.0; most + 1];
        for number in 1..=most {
            logarithms[number] = logarithms[number - 1] + count(number).ln();
        }
        Self(logarithms)
    }

    /// The logarithm of the number of ways to choose `k` of `n`.
    pub(super) fn choose(&self, n: usize, k: usize) -> f64 {
        self.0[n] - self.0[k] - self.0[n - k]
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
/// A count as a number to compute with.
pub(crate) fn count(number: usize) -> f64 {
    number as f64
}
