//! Numbers as they are kept: 64 bits with a sign.

use crate::error::StoreError;

/// A number as it is kept; one that is too large becomes the largest.
pub(crate) fn kept(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// A limit of how many rows are read; one that is too large becomes the largest.
pub(crate) fn limit(most: u64) -> u64 {
    most.min(i64::MAX as u64)
}

/// A number with a fraction as it is kept. Databases have no place for what is no number, which becomes 0.
pub(crate) fn fraction(number: f64) -> f64 {
    if number.is_nan() { 0.0 } else { number }
}

/// A number that was kept.
pub(crate) fn read<T: TryFrom<i64>>(number: i64) -> Result<T, StoreError> {
    T::try_from(number).map_err(|_| StoreError::Damaged(format!("the number {number} is out of range")))
}
