//! Times as they are kept: milliseconds since 1970.

use jiff::Timestamp;

use crate::error::StoreError;

/// A time as it is kept.
pub(crate) fn millis(time: Timestamp) -> i64 {
    time.as_millisecond()
}

/// A time that was kept.
pub(crate) fn timestamp(millis: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_millisecond(millis).map_err(StoreError::damaged)
}
