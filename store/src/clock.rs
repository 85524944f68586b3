//! The time, which is passed in so that a run can be reproduced.

use std::fmt::Debug;

use jiff::Timestamp;

/// Says what time it is.
pub trait Clock: Debug + Send + Sync {
    /// The time.
    fn now(&self) -> Timestamp;
}
