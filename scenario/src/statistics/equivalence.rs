//! A difference against a margin: worse, better, the same within the margin, or nobody can tell.

use std::fmt;

use serde::Serialize;

use super::Interval;

/// The word for a difference, by its interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MarginVerdict {
    /// The interval is below zero, and not within the margin.
    Worse,
    /// The interval is above zero, and not within the margin.
    Better,
    /// The interval is within the margin on both sides of zero.
    Equivalent,
    /// The interval has room for more than one of these.
    Inconclusive,
}

impl MarginVerdict {
    /// The verdict on a difference of which more is better.
    #[must_use]
    pub fn of(interval: Interval, margin: f64) -> Self {
        let Interval { low, high } = interval;
        if -margin <= low && high <= margin {
            Self::Equivalent
        } else if high < 0.0 {
            Self::Worse
        } else if low > 0.0 {
            Self::Better
        } else {
            Self::Inconclusive
        }
    }

    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Equivalent => "equivalent",
            Self::Inconclusive => "inconclusive",
        }
    }
}

impl fmt::Display for MarginVerdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::{Interval, MarginVerdict};

    #[test]
    fn each_verdict_follows_from_the_interval_and_the_margin() {
        let verdict = |low, high| MarginVerdict::of(Interval { low, high }, 0.05);
        assert_eq!(verdict(-0.2, -0.01), MarginVerdict::Worse);
        assert_eq!(verdict(-0.04, -0.01), MarginVerdict::Equivalent, "a drop that is smaller than what counts");
        assert_eq!(verdict(-0.05, 0.05), MarginVerdict::Equivalent);
        assert_eq!(verdict(-0.06, 0.02), MarginVerdict::Inconclusive);
        assert_eq!(verdict(0.01, 0.3), MarginVerdict::Better);
        assert_eq!(MarginVerdict::of(Interval { low: -0.01, high: 0.01 }, 0.0), MarginVerdict::Inconclusive);
    }
}
